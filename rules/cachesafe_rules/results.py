"""What a part of a result is: one name of `model, effort = pick(text)`, one key of `options(text)["model"]`, what
`**options(text)` brings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cachesafe_rules.model import Binding, Call, Condition, Expr, Span

if TYPE_CHECKING:
    from cachesafe_rules.shape import Shape

__all__ = ["element_of", "entry_of", "with_spread"]

# An expression, the function that it stands in, its statement, and the tests around that.
_Placed = tuple[Expr, str, Span, tuple[Condition, ...]]


def element_of(shape: Shape, binding: Binding, value: Expr, number: int, of: int) -> Iterator[_Placed]:
    """What one of `of` names gets of a statement that binds them all: each result of a helper has a part for it."""
    if value.kind == "conditional":
        test, *branches = value.items
        for negated, branch in enumerate(branches):
            if branch.kind == "tuple" and len(branch.items) == of:
                tests = (*binding.conditions, Condition("if", test, negated=bool(negated)))
                yield branch.items[number], binding.function, binding.span, tests
        return
    for local, result, given in _results(shape, binding.function, value):
        tests = (*binding.conditions, *result.conditions)
        if given.kind == "tuple" and len(given.items) == of:
            yield given.items[number], local, result.span, tests
        elif given.kind == "conditional":
            yield from element_of(shape, replace(result, conditions=tests), given, number, of)


def entry_of(
    shape: Shape, function: str, whole: Expr, key: object
) -> Iterator[tuple[Expr, str, Span | None, tuple[Condition, ...]]]:
    """What a key of a written dict stands for, or of the dict that a helper makes; of the former the place and the
    tests are those of the expression."""
    if not isinstance(key, str):
        return
    found = shape.resolve(function, whole)
    if key in found.entries:
        yield found.entries[key], function, None, ()
    for local, result, given in _results(shape, function, found):
        entries = shape.resolve(local, given).entries
        if key in entries:
            yield entries[key], local, result.span, result.conditions


def with_spread(shape: Shape, call: Call) -> dict[str, Expr]:
    """The keywords of a call together with those that `**` brings: of a written dict, or of one that a helper makes."""
    fields = dict(call.keywords)
    for star in call.spread:
        value = shape.resolve(call.function, star)
        fields = {**value.entries, **fields}
        for local, _, given in _results(shape, call.function, value):
            for key in shape.resolve(local, given).entries:
                items = [value, Expr("constant", star.span, value=key)]
                fields.setdefault(key, Expr("subscript", star.span, items=items))
    return fields


def _results(shape: Shape, function: str, value: Expr) -> Iterator[tuple[str, Binding, Expr]]:
    """What a call of a function of this file gives back, with the name of that function."""
    local = shape.local_function(value.call, function) if value.call is not None else ""
    for result in shape.returns(local) if local else ():
        if result.value is not None:
            yield local, result, result.value
