"""Edits that make the messages fit: cut to a share of what is left, or blanked until the rest is small enough.

With each new message there is less room, so what was sent before comes out another way.
"""

from __future__ import annotations

from cachesafe_rules.contents import is_content
from cachesafe_rules.expressions import is_history, last_part, walk
from cachesafe_rules.model import Condition, Expr
from cachesafe_rules.shape import Shape

__all__ = ["is_cut_to_fit", "is_left_in"]

_FOLLOWED = 12


def is_cut_to_fit(shape: Shape, function: str, part: Expr) -> bool:
    """`m["content"][:share]` where the share is worked out from the size of all messages: another one each time."""
    if part.items[1].kind != "slice" or not is_content(shape.resolve(function, part.items[0])):
        return False
    stack = [part.items[1].items[1]]
    for _ in range(_FOLLOWED):
        if not stack:
            return False
        for inner in walk(stack.pop()):
            call = inner.call
            if call is not None and last_part(call.name) in ("len", "sum") and call.args:
                below = list(walk(call.args[0]))
                if any(is_history(one) and one.name != part.name for one in below):
                    return True
            if inner.kind == "name" and (value := shape.resolve(function, inner, 1)) is not inner:
                stack.append(value)
    return False


def is_left_in(shape: Shape, function: str, conditions: tuple[Condition, ...], test: Expr) -> bool:
    """Whether a loop over all messages, the oldest first, is left as soon as the rest fits."""
    at = next((n for n, condition in enumerate(conditions) if condition.test is test), None)
    return (
        at is not None
        and is_history(_whole_of(shape, function, test))
        and any(
            c.kind == "left" and c.test is not None and _is_size(shape, function, c.test) for c in conditions[at + 1 :]
        )
    )


def _whole_of(shape: Shape, function: str, test: Expr) -> Expr:
    """The list that `results = [m for m in history if …]` was picked from."""
    value = shape.resolve(function, test)
    return value.generators[0].iterable if value.kind == "comprehension" else test


def _is_size(shape: Shape, function: str, test: Expr) -> bool:
    """Whether a test looks at a sum over the messages, as it is or counted down: `total <= LIMIT`."""
    names = [part for part in walk(test) if part.kind == "name"]
    values = [b.value for name in names for b in shape.bindings(function, name) if b.value is not None]
    return any(v.call is not None and last_part(v.call.name) in ("sum", "count_tokens", "num_tokens") for v in values)
