"""How many messages a cut takes away at once: one by one the front moves with every message, in large steps seldom.

`if len(history) > 60: history = history[-20:]` leaves the front as it is for the next forty messages, if what is cut
is what the next turn goes on with; a copy that is cut anew for each request moves with every message.
"""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.expressions import last_part, walk
from cachesafe_rules.model import Binding, Condition, Expr
from cachesafe_rules.shape import Shape

__all__ = ["MANY", "dropped_at_once"]

MANY = 1000


def dropped_at_once(shape: Shape, function: str, cut: Expr, conditions: tuple[Condition, ...]) -> int | None:
    """The number of messages that `x[-20:]` or `x[4:]` drops when it does; None where that is not seen.

    Seen where the list itself is what is left (`x = x[-20:]`, `x[:] = …`, `x = trim(x)` for a function that returns
    the rest), and where the limit and what is kept are numbers, or names of numbers. Of a share (`x[-len(x) // 2:]`)
    the number grows with the chat: `MANY`.
    """
    whole = cut.items[0]
    if not any(_replaces(shape, binding, whole) for binding in _holders(shape, cut)):
        return None
    lower = cut.items[1].items[0]
    first = _number(shape, function, lower)
    if first is not None and first > 0:
        return first
    if any(_is_share(part, whole) for part in _parts(shape, function, lower)):
        return MANY
    kept = -first if first else _number(shape, function, lower.items[-1]) if lower.items else None
    limit = _limit(shape, function, whole, conditions)
    return limit - kept if limit is not None and kept is not None else None


def _holders(shape: Shape, cut: Expr) -> list[Binding]:
    """The statements that bind or return what is cut, by itself or under a name that it was given."""
    every = shape.view.bindings
    found = [b for b in every if b.value is not None and any(part.span == cut.span for part in walk(b.value))]
    for first in list(found):
        target = first.target
        if first.operator == "=" and target is not None and target.kind == "name":
            found += [b for b in every if b.function == first.function and b.value and _same(b.value, target)]
    return found


def _replaces(shape: Shape, binding: Binding, whole: Expr) -> bool:
    """Whether a binding puts what is left into the place of the list, for the turns that come."""
    if binding.operator == "return":
        if not shape.is_parameter(binding.function, whole):
            return False
        calls = shape.callers(binding.function)
        taken = [item for item in shape.view.bindings if item.value is not None and item.value.call in calls]
        return len(taken) == len(calls) > 0 and all(_takes_back(item) for item in taken)
    target = binding.target
    if binding.operator != "=" or target is None:
        return False
    if target.kind == "subscript" and target.items[1].kind == "slice":
        # `x[:] = x[-20:]` changes the list that everybody holds.
        return _same(target.items[0], whole)
    return _same(target, whole) and _lives_on(binding)


def _takes_back(binding: Binding) -> bool:
    """`history = trim(history)`."""
    value, target = binding.value, binding.target
    if value is None or value.call is None or target is None:
        return False
    return any(_same(arg, target) for arg in value.call.args) and _lives_on(binding)


def _lives_on(binding: Binding) -> bool:
    """Whether what a binding gives its target is there in the next turn: an attribute, an item, a name in a loop."""
    target = binding.target
    if target is None:
        return False
    return target.kind in ("attribute", "subscript") or any(c.kind in ("while", "for") for c in binding.conditions)


def _limit(shape: Shape, function: str, whole: Expr, conditions: tuple[Condition, ...]) -> int | None:
    """How long a list is when it is cut: 21 for `if len(x) > 20`, also behind `if len(x) <= 20: return`."""
    for condition in conditions:
        test = condition.test
        if test is None or test.kind != "operation" or len(test.items) != 2 or condition.kind not in ("if", "left"):
            continue
        measured, number = test.items
        sign = test.name or ""
        if measured.call is None:
            measured, number, sign = number, measured, sign.translate(str.maketrans("<>", "><"))
        if measured.call is None or last_part(measured.call.name) != "len" or not measured.call.args:
            continue
        value = _number(shape, function, number)
        if value is None or not _same(measured.call.args[0], whole):
            continue
        # What holds where a branch was left is the opposite of its test.
        if sign in ((">", ">=") if not condition.negated else ("<", "<=")):
            return value + (sign in (">", "<="))
    return None


def _parts(shape: Shape, function: str, expr: Expr) -> Iterator[Expr]:
    """An expression and its parts, names followed."""
    for part in walk(expr):
        yield part
        value = shape.resolve(function, part)
        if value is not part:
            yield from walk(value)


def _is_share(expr: Expr, whole: Expr) -> bool:
    """`len(x) // 2`."""
    if expr.kind != "operation" or expr.name not in ("//", "/", "*"):
        return False
    calls = [item.call for item in expr.items if item.call is not None]
    return any(last_part(call.name) == "len" and call.args and _same(call.args[0], whole) for call in calls)


def _number(shape: Shape, function: str, expr: Expr) -> int | None:
    value = shape.resolve(function, expr).value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _same(one: Expr, other: Expr) -> bool:
    """Whether two expressions are written the same, wherever they stand."""
    return (
        (one.kind, one.name, one.value, len(one.items)) == (other.kind, other.name, other.value, len(other.items))
        and one.kind in ("name", "attribute", "subscript", "constant")
        and all(_same(a, b) for a, b in zip(one.items, other.items, strict=True))
    )
