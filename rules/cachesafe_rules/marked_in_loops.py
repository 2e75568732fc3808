"""Markers that a loop sets on each one of a list, or on all messages of a role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cachesafe_rules.blocks import is_marker
from cachesafe_rules.expressions import is_history, last_part, walk
from cachesafe_rules.lengths import known_length
from cachesafe_rules.markers import takes_away
from cachesafe_rules.model import Binding, Condition, Expr, Span
from cachesafe_rules.shape import Part, Shape

__all__ = ["marks_in_loops", "marks_of_roles"]

_LIMIT = 4
_LISTS = frozenset({"tools", "tool_list", "blocks", "system_blocks"})
# Roles of which a chat has one message for each turn or more.
_GROWING = frozenset({"user", "assistant", "tool", "human", "ai", "function"})


def marks_in_loops(shape: Shape, sending: set[str], parts: Sequence[Part]) -> Iterator[Span]:
    """Markers on all of a list that the same function, one of `sending`, sends; `parts` are what requests are made
    of."""
    for binding in shape.view.bindings:
        target = binding.target
        if (
            target is not None
            and target.kind == "subscript"
            and target.items[1].value == "cache_control"
            and binding.value is not None
            and not (binding.value.kind == "constant" and binding.value.value is None)
            and _each_message(shape, binding)
            and binding.function in sending
        ):
            yield binding.span
    for binding in shape.view.bindings:
        if _marks_known(shape, binding) and (
            binding.function in {"", *sending}
            or any(call.function in sending for call in shape.callers(binding.function))
        ):
            yield binding.span
    for part in parts:
        if part.expr.kind == "comprehension" and not any(g.tests for g in part.expr.generators):
            inner = [part.expr.items[-1]]
            while inner:
                expr = inner.pop()
                over = part.expr.generators[0].iterable
                if "cache_control" in expr.entries and (is_history(over) or last_part(over.name) in _LISTS):
                    yield expr.entries["cache_control"].span
                    break
                if expr.kind in ("dict", "list"):
                    inner += [*expr.entries.values(), *expr.items]


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
    if any(other.operator == "+=" and loops[0] in other.conditions for other in shape.view.bindings):
        # Counts what it marks, to stop in time.
        return False
    return _all_of(shape, binding.function, loops[0]) and not any(
        item.kind in ("if", "while") and not _is_setting(shape, binding.function, item) for item in behind
    )


def _is_setting(shape: Shape, function: str, condition: Condition) -> bool:
    """`if use_cache:`: what the function is told holds for all of the list."""
    test = condition.test
    return condition.kind == "if" and test is not None and shape.is_parameter(function, test)


def _all_of(shape: Shape, function: str, loop: Condition) -> bool:
    expr = loop.test
    while expr is not None and expr.call is not None and last_part(expr.call.name) in ("enumerate", "list", "reversed"):
        expr = expr.call.args[0] if expr.call.args else None
    if expr is None:
        return False
    return is_history(expr) or last_part(expr.name) in _LISTS
