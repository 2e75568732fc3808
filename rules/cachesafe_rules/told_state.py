"""Text that tells how a thing stands at the moment: the points of a player, the open comments of a ticket, the latest
readings of a sensor.

Seen are a field of a parameter that is called like a state, in the text itself or counted with `len`, and a call whose
name says that it reads what is so now. Names and helpers of the file are followed.
"""

from __future__ import annotations

from collections.abc import Mapping

from cachesafe_rules.blocks import given_to
from cachesafe_rules.expressions import is_constant_name, last_part, name_words, walk
from cachesafe_rules.model import Call, Expr
from cachesafe_rules.shape import Shape

__all__ = ["told_state"]

# Fields that are another thing some turns later.
_STATES = frozenset(
    {"status", "state", "stage", "phase", "progress", "score", "points", "hp", "health", "mana", "energy", "stamina",
     "gold", "coins", "money", "balance", "position", "tile", "remaining", "left",
     "pending", "unread", "comments", "temperature", "temp", "pulse", "speed", "battery", "weather", "mood", "turn",
     "round", "step", "steps", "stock", "queue", "queued", "eta", "updated", "elapsed", "lives", "ammo", "spent",
     "used", "load", "occupancy", "altitude", "heading", "odds", "waiting", "available", "vitals", "readings"}
)  # fmt: skip
# What is called like a state by a word of another thing: `max_steps`, `status_url`, `score_card`.
_FIXED = frozenset(
    {"max", "min", "limit", "url", "path", "dir", "name", "names", "id", "key", "type", "template", "prompt", "format",
     "guide", "rules", "instructions", "description", "schema", "card", "class", "title", "default", "label", "labels"}
)  # fmt: skip
# Who is set up once, with all that is read off it.
_SET_UP = frozenset(
    {"self", "cls", "config", "cfg", "conf", "settings", "options", "opts", "args", "env", "persona", "bot", "brand",
     "theme", "locale", "model", "client", "tenant", "company", "org", "plan", "schema", "spec", "template", "tool"}
)  # fmt: skip
# Calls that read what is so now, and what of that is no state.
_READS = frozenset({"latest", "current", "live", "realtime", "readings", "telemetry", "sensors", "weather"})
_NO_STATE = frozenset(
    {"version", "versions", "model", "release", "config", "user", "account", "app", "tenant", "locale", "language",
     "date", "day", "today", "dir", "directory", "path", "thread", "task", "session", "loop", "frame", "settings",
     "schema", "prompt", "org", "project", "branch", "commit", "id", "name", "process", "context", "agent", "tools",
     "request", "span", "tool", "instructions", "rules", "template", "message", "messages", "chat"}
)  # fmt: skip
_DEPTH = 5
_MOST = 200


def told_state(shape: Shape, function: str, text: Expr) -> str | None:
    """The field or the call that a text tells such a state by, as it is spelt; None where it tells of none."""
    stack = [(text, function, _DEPTH)]
    seen: set[tuple[str, str]] = set()
    for _ in range(_MOST):
        if not stack:
            break
        expr, where, depth = stack.pop()
        for part in walk(expr):
            if is_constant_name(part):
                continue
            if part.call is not None:
                local = shape.local_function(part.call, where)
                if not local and _reads_now(part.call):
                    return f"{part.call.name}()"
                if local and depth and (local, "") not in seen:
                    seen.add((local, ""))
                    results = [item.value for item in shape.returns(local) if item.value is not None]
                    if _reads_now(part.call) and any(value.kind != "constant" for value in results):
                        return f"{part.call.name}()"
                    stack += [(value, local, depth - 1) for value in results]
                    if found := _handed(shape, where, part.call, local):
                        return found
                continue
            if found := _field(shape, where, part):
                return found
            if part.kind == "name" and depth and (where, part.name or "") not in seen:
                seen.add((where, part.name or ""))
                stack += [(value, where, depth - 1) for value in _values(shape, where, part)]
    return None


def _values(shape: Shape, function: str, name: Expr) -> list[Expr]:
    """What a name of the function is made of there; what its lists get appended is a part of them."""
    bound = [b.value for b in shape.bindings(function, name) if b.value is not None and b.function == function]
    return bound + [arg for call in shape.mutations(function, name) if call.function == function for arg in call.args]


def _field(shape: Shape, function: str, part: Expr) -> str | None:
    """`player.hp`, `ticket["status"]`, of what the function is given."""
    name = part.name or "" if part.kind == "attribute" else _item(part)
    root, dot, rest = name.partition(".")
    if not dot or not root or not _is_state(rest):
        return None
    whole = Expr("name", part.span, name=root)
    if not _SET_UP.isdisjoint(name_words(root)):
        return None
    # Of what is read there by an id it is not known whether it moves while the chat lasts.
    return name if shape.is_parameter(function, whole) and not shape.bindings(function, whole) else None


def _item(part: Expr) -> str:
    """`ticket["status"]` as `ticket.status`."""
    if part.kind != "subscript" or part.items[0].kind not in ("name", "attribute"):
        return ""
    key = part.items[1].value
    return f"{part.items[0].name}.{key}" if isinstance(key, str) and key.isidentifier() else ""


def _is_state(fields: str) -> bool:
    words = name_words(last_part(fields))
    return not words.isdisjoint(_STATES) and words.isdisjoint(_FIXED) and _SET_UP.isdisjoint(name_words(fields))


def _reads_now(call: Call) -> bool:
    words = name_words(last_part(call.name))
    return not words.isdisjoint(_READS) and words.isdisjoint(_NO_STATE) and not call.name[:1].isupper()


def _handed(shape: Shape, function: str, call: Call, local: str) -> str | None:
    """What a helper is given that tells a state itself: `render(player.hp)`."""
    given: Mapping[str, tuple[Expr, str]] = given_to(shape, local, call, function)
    return next((found for value, _ in given.values() if (found := _field(shape, function, value))), None)
