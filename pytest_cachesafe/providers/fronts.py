"""What two lists have in common at the front: the same objects, counted, or known from whoever made the lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import is_
from typing import Any, NamedTuple

__all__ = ["Front", "known_front", "same_front"]


class Front(NamedTuple):
    """Two lists of which is known that the first `shared` objects are the very same ones, and perhaps more."""

    earlier: Sequence[Any]
    now: Sequence[Any]
    shared: int


def same_front(a: Sequence[Any], b: Sequence[Any]) -> int:
    """How many objects at the front of two lists are the very same ones."""
    if not a or not b or a[0] is not b[0]:
        return 0
    if a is b:
        return len(a)
    try:
        # In C, and without a copy of either.
        return list(map(is_, a, b)).index(False)
    except ValueError:
        return min(len(a), len(b))


def known_front(earlier: Sequence[Any], now: Sequence[Any], fronts: Iterable[Front | None]) -> int:
    """The same, or less; what is known is not counted again."""
    for front in fronts:
        if front is not None and front.now is now and front.earlier is earlier:
            return front.shared
    return same_front(earlier, now)
