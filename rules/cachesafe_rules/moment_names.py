"""What a text of an excerpt holds that is not the same for each request, as far as names and labels say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from cachesafe_rules.excerpts import OF_MESSAGE, ends_before_request, is_excerpt
from cachesafe_rules.expressions import is_constant_name, is_history, last_part, name_words, walk
from cachesafe_rules.model import Expr
from cachesafe_rules.patterns import lazy_pattern

if TYPE_CHECKING:
    from cachesafe_rules.shape import Shape

__all__ = ["labelled_in_excerpt", "live_in_excerpt", "varies_in_excerpt"]

# Names of texts that stay as they are, and what makes another thing of a name.
_LASTS = frozenset(
    {"system", "prompt", "instructions", "instruction", "persona", "base", "rules", "template", "policy", "preamble",
     "default", "static", "name", "language", "locale", "config", "settings", "tools", "schema", "dummy", "style",
     "greeting", "intro", "brand", "product", "tenant", "role", "fixed", "examples", "shots", "task", "goal", "agent"}
)  # fmt: skip
# What a request tells of the moment: another text in the next one.
_LIVE = frozenset(
    {"live", "recent", "snapshot", "todo", "todos", "state", "status", "metrics", "ledger", "scratchpad", "selection",
     "cursor", "usage", "progress", "pending", "latest", "diff", "unread", "active", "open", "summary", "telemetry",
     "clipboard", "screen", "entries", "activity", "score", "inventory", "sensors", "readings"}
)  # fmt: skip
_RECALLED = frozenset({"memory", "memories", "recalled"})
# An object of which only what is read from it tells something.
_OBJECTS = frozenset({"state", "self.state", "status", "screen"})
# What a text says in front of something that another request finds changed.
_LABEL = lazy_pattern(
    r"\b(?:current(?!ly (?:in|on|using))|now|present|live|latest|recent|open|so far|left|remaining|unread|pending|"
    r"active|state|status|progress|todos?|snapshot|readings?|scratchpad|score|tokens|used)\b[\w \-']{0,30}[:=>]\s*$",
    re.IGNORECASE,
)
_BEGINS = frozenset({"init", "start", "reset", "new", "create", "begin", "open", "setup", "initial", "make", "ensure"})


def varies_in_excerpt(shape: Shape, function: str, content: Expr, but: frozenset[str] = frozenset()) -> str | None:
    """What in a text of an excerpt is not the same for each request, as far as names say: a parameter, an attribute, or
    what a call gives back; None for constants, for what is named like a text of the program, and for words of `but`."""
    if not ends_before_request(shape) or not name_words(last_part(function)).isdisjoint(_BEGINS):
        return None
    seen: set[str] = set()
    stack = [content]
    while stack:
        for part in walk(stack.pop()):
            name = part.name or ""
            if part.kind not in ("name", "attribute") or not name or name in seen or is_constant_name(part):
                continue
            seen.add(name)
            if not (_LASTS | but).isdisjoint(name_words(last_part(name))) or part.name in ("self", "cls"):
                continue
            if is_history(part) or last_part(name) in OF_MESSAGE:
                # Its own text once more.
                continue
            bound = [b for b in shape.bindings(function, part) if b.value is not None]
            if part.kind == "attribute":
                if _is_only_constructed(shape, function, part):
                    continue
                return name
            if shape.is_parameter(function, part):
                return name
            # A name of the module is what it is for the whole process.
            stack += [b.value for b in bound if b.function and b.value is not None]
    return None


def live_in_excerpt(shape: Shape, function: str, content: Expr) -> str | None:
    """What in a text of an excerpt is called like something of the moment (`metrics.snapshot()`, `todo`), as spelt."""
    if not is_excerpt(shape.view):
        return None
    seen: set[str] = set()
    stack = [content]
    while stack:
        for part in walk(stack.pop()):
            name = part.call.name if part.call is not None else part.name or ""
            if part.kind not in ("name", "attribute", "call") or not name or name in seen or is_constant_name(part):
                continue
            seen.add(name)
            bound = [b.value for b in shape.bindings(function, part) if b.function and b.value is not None]
            if name in _OBJECTS:
                continue
            recalled = part.kind == "name" and not _RECALLED.isdisjoint(name_words(name)) and bool(bound)
            if recalled:
                return name
            if not _LIVE.isdisjoint(name_words(last_part(name))) and _LASTS.isdisjoint(name_words(last_part(name))):
                held = shape.is_parameter(function, part) or part.kind == "attribute"
                called = part.call is not None and part.call.receiver is not None
                if (held and not _is_only_constructed(shape, function, part)) or called:
                    return f"{name}()" if part.call is not None else name
            stack += bound
    return None


def labelled_in_excerpt(shape: Shape, function: str, pieces: Sequence[Expr]) -> str | None:
    """What a text calls the present state right in front of it: `Current page: {state.url}`."""
    if not is_excerpt(shape.view):
        return None
    for before, piece in pairwise(pieces):
        if before.kind != "constant" or not isinstance(before.value, str) or not _LABEL.search(before.value):
            continue
        if piece.kind == "constant" or is_constant_name(piece):
            continue
        root = (piece.name or "").partition(".")[0] if piece.kind in ("name", "attribute") else ""
        known = shape.view.functions.get(function)
        given = known is not None and root in known.parameters and root not in ("self", "cls", "config", "settings")
        called = piece.call is not None
        if given or called or (root == "self" and not _is_only_constructed(shape, function, piece)):
            return piece.name or (f"{piece.call.name}()" if piece.call is not None else None)
    return None


def _is_only_constructed(shape: Shape, function: str, part: Expr) -> bool:
    """Whether an attribute of the object itself gets its value in the constructor or the class alone, and holds no
    object that may change."""
    if not (part.name or "").startswith(("self.", "cls.")):
        return False
    if (part.name or "").count(".") > 1:
        return False
    bound = shape.bindings(function, part)
    return bool(bound) and all(not b.function or last_part(b.function) in ("__init__", "__post_init__") for b in bound)
