"""Where the border lies between messages that are changed and those that are not, if it is counted from the end."""

from __future__ import annotations

from cachesafe_rules.expressions import is_history, last_part, walk
from cachesafe_rules.model import Condition, Expr
from cachesafe_rules.shape import Shape

__all__ = ["ends_before", "from_end", "is_border", "moves"]


def moves(shape: Shape, function: str, conditions: tuple[Condition, ...], index: str | None) -> bool:
    """Whether a test compares a message's place with the end of the list."""
    return index is not None and any(
        item.kind in ("if", "left") and item.test is not None and is_border(shape, function, item.test, index)
        for item in conditions
    )


def is_border(shape: Shape, function: str, test: Expr, index: str) -> bool:
    """`i < len(messages) - 5`, `i < cut`, `i in stale` for a part of the places that ends before the newest."""
    for part in walk(test):
        among = part.kind == "operation" and part.name in ("in", "not in") and part.items[0].name == index
        if among and ends_before(shape, function, _members(shape, function, part.items[1])):
            return True
    return any(
        part.kind == "operation"
        and len(part.items) == 2
        and any(item.name == index for item in part.items)
        and any(_counts_from_end(shape, function, item) for item in part.items)
        for part in walk(test)
    )


def _members(shape: Shape, function: str, expr: Expr) -> Expr:
    """What a set or list is made of: `set(places[:-5])`."""
    value = shape.resolve(function, expr)
    while value.call is not None and last_part(value.call.name) in ("set", "list", "frozenset", "tuple"):
        if not value.call.args:
            break
        value = shape.resolve(function, value.call.args[0])
    return value


def _counts_from_end(shape: Shape, function: str, expr: Expr) -> bool:
    """`len(messages) - 5`, and a name for it."""
    if expr.call is not None and last_part(expr.call.name) == "max":
        # `max(i for i, m in enumerate(messages) if m["role"] == "user")`: the newest message of its kind.
        made = expr.call.args[0] if len(expr.call.args) == 1 else expr
        over = made.generators[0].iterable.call if made.kind == "comprehension" else None
        if over is not None and over.name == "enumerate" and over.args and is_history(over.args[0]):
            return True
        return any(_counts_from_end(shape, function, arg) for arg in expr.call.args)
    value = shape.resolve(function, expr)
    if value is not expr and value.call is not None:
        return _counts_from_end(shape, function, value)
    if value.kind != "operation" or value.name != "-" or len(value.items) != 2:
        return False
    size = shape.resolve(function, value.items[0])
    return size.call is not None and size.call.name == "len"


def ends_before(shape: Shape, function: str, iterable: Expr) -> bool:
    """`x[:-k]`, `x[: len(x) - k]`, `range(len(x) - k)`: whatever k later messages follow."""
    call = iterable.call
    if call is not None and last_part(call.name) in ("enumerate", "list", "reversed") and call.args:
        return ends_before(shape, function, call.args[0])
    if call is not None and call.name == "range" and call.args:
        return _counts_from_end(shape, function, call.args[min(1, len(call.args) - 1)])
    value = shape.resolve(function, iterable)
    if value.kind != "subscript" or value.items[1].kind != "slice":
        return False
    lower, upper, _ = value.items[1].items
    negative = upper.kind == "operation" and upper.name == "-" and len(upper.items) == 1
    below = negative or (isinstance(upper.value, int) and upper.value < 0)
    return lower.value in (None, 0, 1) and (below or _counts_from_end(shape, function, upper))


def from_end(shape: Shape, function: str, difference: Expr, index: str) -> bool:
    """`len(history) - i`."""
    values = [shape.resolve(function, item) for item in difference.items]
    return any(item.name == index for item in difference.items) and any(
        value.call is not None and value.call.name == "len" for value in values
    )
