"""How many elements something has that is gone through, where the file says so."""

from __future__ import annotations

from cachesafe_rules.expressions import last_part
from cachesafe_rules.model import Expr
from cachesafe_rules.shape import Shape

__all__ = ["known_length"]

_SAME = frozenset({"list", "tuple", "sorted", "reversed", "enumerate", "iter", "tqdm"})
_OF_DICT = frozenset({"items", "values", "keys", "copy"})
_DEPTH = 6


def known_length(shape: Shape, function: str, expr: Expr, depth: int = _DEPTH) -> int | None:
    """The number of elements of a written list, set or dict, also behind a name that nothing else changes, of a
    `range`, and of what goes through one of these; None where it is not known."""
    if depth < 1:
        return None
    if expr.kind in ("name", "attribute"):
        value = shape.resolve(function, expr, 1)
        bound = shape.bindings(function, expr)
        if value is expr or len(bound) != 1 or shape.mutations(bound[0].function, expr):
            return None
        return known_length(shape, bound[0].function, value, depth - 1)
    if expr.kind in ("list", "tuple", "set"):
        stars = [known_length(shape, function, i.items[0], depth - 1) for i in expr.items if i.kind == "star"]
        if any(number is None for number in stars):
            return None
        return sum(number or 0 for number in stars) + sum(item.kind != "star" for item in expr.items)
    if expr.kind == "dict":
        return len(expr.entries) if not expr.items else None
    if expr.kind == "comprehension":
        if len(expr.generators) > 1 or expr.generators[0].tests:
            return None
        return known_length(shape, function, expr.generators[0].iterable, depth - 1)
    return _of_call(shape, function, expr, depth - 1)


def _of_call(shape: Shape, function: str, expr: Expr, depth: int) -> int | None:
    call = expr.call
    if call is None:
        return None
    name = last_part(call.name)
    if name in _OF_DICT and call.receiver is not None and not call.args:
        return known_length(shape, function, call.receiver, depth)
    if name == "split" and call.receiver is not None and not call.args:
        text = shape.resolve(function, call.receiver).value
        return len(text.split()) if isinstance(text, str) else None
    if call.name in _SAME and call.args:
        return known_length(shape, function, call.args[0], depth)
    if call.name == "zip" and call.args:
        sizes = [known_length(shape, function, arg, depth) for arg in call.args]
        return None if any(size is None for size in sizes) else min(size for size in sizes if size is not None)
    if call.name == "range" and 0 < len(call.args) < 3:
        bounds = [shape.resolve(function, arg) for arg in call.args]
        inner = [_number(shape, function, bound, depth) for bound in bounds]
        if any(number is None for number in inner):
            return None
        first, last = (0, inner[0]) if len(inner) == 1 else inner
        return max((last or 0) - (first or 0), 0)
    return None


def _number(shape: Shape, function: str, expr: Expr, depth: int) -> int | None:
    if expr.call is not None and expr.call.name == "len" and expr.call.args:
        return known_length(shape, function, expr.call.args[0], depth)
    return expr.value if isinstance(expr.value, int) and not isinstance(expr.value, bool) else None
