"""Markers that a loop sets on each one of a list, or on all messages of a role."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.blocks import is_marker
from cachesafe_rules.excerpts import is_excerpt
from cachesafe_rules.expressions import is_history, last_part, walk
from cachesafe_rules.lengths import known_length
from cachesafe_rules.markers import takes_away
from cachesafe_rules.model import Binding, Condition, Expr, Span
from cachesafe_rules.shape import Part, Shape

__all__ = ["marks_in_loops", "marks_of_roles"]

_LIMIT = 4
_DEPTH = 8
_LISTS = frozenset({"tools", "tool_list", "blocks", "system_blocks"})
# Roles of which a chat has one message for each turn or more.
_GROWING = frozenset({"user", "assistant", "tool", "human", "ai", "function"})


def marks_in_loops(shape: Shape) -> Iterator[tuple[Span, bool]]:
    """Markers on all of a list that is sent, and whether the file shows that it is: the function that marks sends it
    itself or hands it back to one that does."""
    sending = {request.function for request in shape.requests}
    for binding in shape.view.bindings:
        target = binding.target
        if (
            target is not None
            and target.kind == "subscript"
            and target.items[1].value == "cache_control"
            and binding.value is not None
            and not (binding.value.kind == "constant" and binding.value.value is None)
            and _each_message(shape, binding)
        ):
            sent = binding.function in sending or any(c.function in sending for c in shape.callers(binding.function))
            if sent or is_excerpt(shape.view):
                yield binding.span, sent
    for binding in shape.view.bindings:
        if _marks_known(shape, binding) and (
            binding.function in {"", *sending}
            or any(call.function in sending for call in shape.callers(binding.function))
        ):
            yield binding.span, True
    handed = []
    if is_excerpt(shape.view):
        every = shape.view.bindings
        handed = [
            Part(b.value, b.function, b.span, ()) for b in every if b.value is not None and b.operator == "return"
        ]
    for part in () if takes_away(shape) else [*shape.parts, *handed]:
        if part.expr.kind == "comprehension" and not any(g.tests for g in part.expr.generators):
            over = part.expr.generators[0].iterable
            listed = is_history(over) or last_part(over.name) in _LISTS
            if listed and (span := _marked_in(shape, part.function, part.expr.items[-1])) is not None:
                yield span, part in shape.parts
        elif part.element and (span := _appended(shape, part)) is not None:
            yield span, True


def _marked_in(shape: Shape, function: str, message: Expr, depth: int = _DEPTH) -> Span | None:
    """The place of a marker that a message has each time, or that a helper sets which makes it or a block of it."""
    if depth < 1:
        return None
    call = message.call
    fields = call.keywords if call is not None else message.entries
    marker = fields.get("cache_control") or fields.get("cachePoint")
    if marker is not None:
        return marker.span if is_marker(marker) else None
    if message.kind == "name" and not shape.is_parameter(function, message):
        value = shape.resolve(function, message, 1)
        return _marked_in(shape, function, value, depth - 1) if value is not message else None
    local = shape.local_function(call, function) if call is not None else ""
    if local:
        # In each of its results: `if last: return marked` marks one.
        spans = [
            _marked_in(shape, local, item.value, depth - 1) for item in shape.returns(local) if item.value is not None
        ]
        return None if None in spans else next(iter(spans), None)
    if message.kind in ("dict", "list", "tuple", "star") or call is not None:
        below = [*message.items, *fields.values(), *(call.args if call is not None else ())]
        found = (_marked_in(shape, function, part, depth - 1) for part in below)
        return next((span for span in found if span is not None), None)
    return None


def _appended(shape: Shape, part: Part) -> Span | None:
    """The marker of a message that a loop over the whole chat appends to what is sent."""
    loops = [n for n, condition in enumerate(part.conditions) if condition.kind == "for"]
    if not loops or any(condition.kind != "for" for condition in part.conditions[loops[0] :]):
        return None
    loop = part.conditions[loops[0]]
    if not _all_of(shape, part.function, loop) or _counts_up(shape, loop):
        return None
    return _marked_in(shape, part.function, part.expr)


def marks_of_roles(shape: Shape) -> Iterator[Span]:
    """Markers on all messages of a role, in a loop over the chat that hands back what it marks."""
    places = [(b.span, b.function, b.conditions) for b in shape.view.bindings
              if b.target is not None and b.target.kind == "subscript" and b.target.items[1].value == "cache_control"
              and is_marker(b.value)]  # fmt: skip
    places += [(d.expr.span, d.function, d.conditions) for d in shape.view.dicts
               if is_marker(d.expr.entries.get("cache_control"))]  # fmt: skip
    for call in shape.view.calls:
        local = shape.local_function(call, call.function)
        made = [item.value for item in shape.returns(local) if item.value is not None] if local else []
        if made and all(is_marker(value.entries.get("cache_control")) for value in made):
            places.append((call.span, call.function, call.conditions))
    for span, function, conditions in places:
        at = next((n for n, c in enumerate(conditions) if c.kind == "for" and _all_of(shape, function, c)), None)
        if at is None or (conditions[at].test is not None and not is_history(_whole(conditions[at].test))):
            continue
        tests = [c for c in conditions[at + 1 :] if c.kind != "for"]
        if tests and all(_names_roles(c) or _is_setting(shape, function, c) for c in tests):
            yield span


def _whole(expr: Expr | None) -> Expr | None:
    while expr is not None and expr.call is not None and expr.call.args:
        expr = expr.call.args[0]
    return expr


def _names_roles(condition: Condition) -> bool:
    """`if m["role"] == "user":`, `if m.role in ("system", "tool"):`"""
    test = condition.test
    if condition.kind != "if" or condition.negated or test is None or test.kind != "operation":
        return False
    if test.name not in ("==", "in") or len(test.items) != 2:
        return False
    left = test.items[0]
    of_role = (left.kind == "subscript" and left.items[1].value == "role") or last_part(left.name) == "role"
    return of_role and any(part.value in _GROWING for part in walk(test.items[1]) if part.kind == "constant")


def _marks_known(shape: Shape, binding: Binding) -> bool:
    """`for block in BLOCKS: block["cache_control"] = …`, of more blocks than a request may mark."""
    target, loops = binding.target, binding.conditions
    if target is None or target.kind != "subscript" or target.items[1].value != "cache_control":
        return False
    if len(loops) != 1 or loops[0].kind != "for" or loops[0].test is None or not is_marker(binding.value):
        return False
    named = target.items[0].name is not None and any(
        part.name == target.items[0].name for part in walk(loops[0].target or target)
    )
    length = known_length(shape, binding.function, loops[0].test) if named else None
    return length is not None and length > _LIMIT and not takes_away(shape)


def _each_message(shape: Shape, binding: Binding) -> bool:
    loops = [condition for condition in binding.conditions if condition.kind == "for"]
    if not loops:
        return False
    behind = binding.conditions[binding.conditions.index(loops[0]) + 1 :]
    if _counts_up(shape, loops[0]):
        return False
    return _all_of(shape, binding.function, loops[0]) and not any(
        item.kind in ("if", "while") and not _is_setting(shape, binding.function, item) for item in behind
    )


def _is_setting(shape: Shape, function: str, condition: Condition) -> bool:
    """`if use_cache:`: what the function is told holds for all of the list."""
    test = condition.test
    return condition.kind == "if" and test is not None and shape.is_parameter(function, test)


def _counts_up(shape: Shape, loop: Condition) -> bool:
    """Whether a loop counts what it marks, to stop in time."""
    return any(
        other.operator == "+=" and loop in other.conditions and other.value is not None and other.value.kind != "list"
        for other in shape.view.bindings
    )


def _all_of(shape: Shape, function: str, loop: Condition) -> bool:
    expr = loop.test
    while expr is not None and expr.call is not None and last_part(expr.call.name) in ("enumerate", "list", "reversed"):
        expr = expr.call.args[0] if expr.call.args else None
    if expr is None:
        return False
    return is_history(expr) or last_part(expr.name) in _LISTS
