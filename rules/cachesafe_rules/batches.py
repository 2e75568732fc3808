"""How many messages a cut takes away at once: one by one the front moves with every message, in large steps seldom.

`if len(history) > 60: history = history[-20:]` leaves the front as it is for the next forty messages, if what is cut
is what the next turn goes on with; a copy that is cut anew for each request moves with every message.
"""

from __future__ import annotations

from cachesafe_rules.expressions import last_part, walk
from cachesafe_rules.model import Binding, Condition, Expr
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.shape import Shape

__all__ = ["MANY", "dropped_at_once", "is_changed_for_all"]

MANY = 1000
_LARGE = 8
_NUMBERS = frozenset({"max", "min", "int", "round"})
# What comes in anew with each request.
_REQUEST = lazy_pattern(r"(?:^|_)(?:req|request|body|payload|event|data|params|input)s?$")


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
    limit = _limit(shape, function, whole, conditions)
    if limit is not None:
        kept = _kept(shape, function, lower, whole, limit)
        return None if kept is None else int(limit - kept)
    if not any(condition.kind in ("if", "left") for condition in conditions):
        return None
    # Of a share that is cut under a test which is not known, a chat of twenty turns and more is taken.
    shares = [_kept(shape, function, lower, whole, length) for length in (40, 200)]
    small, large = shares
    return MANY if small is not None and large is not None and large > small and 40 - small >= _LARGE else None


def _kept(shape: Shape, function: str, lower: Expr, whole: Expr, length: int) -> float | None:
    """How many messages of so long a list `[-n:]` keeps."""
    value = _worth(shape, function, lower, whole, length)
    return None if value is None or value >= 0 else -value


def _worth(shape: Shape, function: str, expr: Expr, whole: Expr, length: int) -> float | None:
    """What an expression of numbers and `len(x)` comes to."""
    expr = shape.resolve(function, expr)
    if expr.kind == "constant":
        return expr.value if isinstance(expr.value, int | float) else None
    call = expr.call
    if call is not None:
        name = last_part(call.name)
        if name == "len" and call.args and _same(call.args[0], whole):
            return length
        parts = [_worth(shape, function, arg, whole, length) for arg in call.args]
        numbers = [part for part in parts if part is not None]
        if name not in _NUMBERS or call.keywords or not numbers or len(numbers) < len(parts):
            return None
        return max(numbers) if name == "max" else min(numbers) if name == "min" else int(numbers[0])
    if expr.kind != "operation" or not 0 < len(expr.items) < 3:
        return None
    values = [_worth(shape, function, item, whole, length) for item in expr.items]
    if any(value is None for value in values):
        return None
    one, *rest = (value for value in values if value is not None)
    if not rest:
        return -one if expr.name == "-" else None
    other = rest[0]
    if expr.name in ("/", "//"):
        return None if not other else one / other if expr.name == "/" else one // other
    return {"*": one * other, "-": one - other, "+": one + other}.get(expr.name or "")


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
        return len(taken) == len(calls) > 0 and all(_takes_back(shape, item) for item in taken)
    target = binding.target
    if binding.operator != "=" or target is None:
        return False
    if target.kind == "subscript" and target.items[1].kind == "slice":
        # `x[:] = x[-20:]` changes the list that everybody holds.
        return _same(target.items[0], whole) and is_changed_for_all(shape, binding, whole)
    return _same(target, whole) and _lives_on(shape, binding, target)


def is_changed_for_all(shape: Shape, binding: Binding, whole: Expr) -> bool:
    """Whether what a statement does to a list itself is still so in the next turn."""
    return shape.is_parameter(binding.function, whole) or _lives_on(shape, binding, whole)


def _takes_back(shape: Shape, binding: Binding) -> bool:
    """`history = trim(history)`."""
    value, target = binding.value, binding.target
    if value is None or value.call is None or target is None:
        return False
    return any(_same(arg, target) for arg in value.call.args) and _lives_on(shape, binding, target)


def _lives_on(shape: Shape, binding: Binding, target: Expr) -> bool:
    """Whether what a binding gives its target is there in the next turn: an attribute, an item, a name in a loop of
    turns, which the function does not fill from elsewhere in each of them."""
    others = [
        other
        for other in shape.view.bindings
        if other.function == binding.function and other.operator == "=" and other.target is not None
        and _same(other.target, target) and other is not binding
        and not (other.value is not None and any(_same(part, target) for part in walk(other.value)))
    ]  # fmt: skip
    if target.kind in ("attribute", "subscript"):
        root = target
        while root.kind == "subscript":
            root = root.items[0]
        return not others and not _REQUEST.search((root.name or "").partition(".")[0])
    in_loop = any(c.kind == "while" for c in binding.conditions)
    began = all(not any(c.kind in ("while", "for") for c in other.conditions) for other in others)
    return in_loop and began and bool(others)


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
