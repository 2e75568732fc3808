"""Where two requests differ as data, before any front end saw them.

Order counts: two dicts with the same items in another order are different, since templates and canonical bytes print
them in the order given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Difference", "equal", "first_difference", "is_system", "leading_system"]

# Where providers put markers; they are never part of what is hashed.
_MARKERS = frozenset({"cache_control"})


@dataclass(frozen=True, slots=True)
class Difference:
    """Two values at one JSON path; a side that has no such path holds `None` and `present` says so."""

    path: str
    before: Any
    after: Any
    present: tuple[bool, bool] = (True, True)


def equal(a: Any, b: Any) -> bool:
    """Order-sensitive equality of JSON-like values."""
    return first_difference(a, b) is None


def first_difference(a: Any, b: Any, path: str = "") -> Difference | None:
    """The first difference in document order, or None. Iterative enough for JSON: recursion follows nesting only."""
    if a is b:
        return None
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        keys_a = [k for k in a if k not in _MARKERS]
        keys_b = [k for k in b if k not in _MARKERS]
        if keys_a != keys_b:
            if set(keys_a) == set(keys_b):
                return Difference(path, a, b)
            return _first_key_difference(a, b, keys_a, keys_b, path)
        for key in keys_a:
            found = first_difference(a[key], b[key], f"{path}.{key}" if path else str(key))
            if found is not None:
                return found
        return None
    if _is_list(a) and _is_list(b):
        for i, (x, y) in enumerate(zip(a, b)):  # noqa: B905 - lengths are compared below
            found = first_difference(x, y, f"{path}[{i}]")
            if found is not None:
                return found
        if len(a) != len(b):
            i = min(len(a), len(b))
            longer_a = len(a) > i
            return Difference(
                f"{path}[{i}]", a[i] if longer_a else None, None if longer_a else b[i], (longer_a, not longer_a)
            )
        return None
    # bool is an int in Python but prints otherwise.
    if type(a) is type(b) or (isinstance(a, str) and isinstance(b, str)):
        return None if a == b else Difference(path, a, b)
    return Difference(path, a, b)


def _first_key_difference(
    a: Mapping[str, Any], b: Mapping[str, Any], keys_a: list[str], keys_b: list[str], path: str
) -> Difference:
    # A shared key that differs says more than a key that only one side has.
    for key in keys_a:
        if key in b:
            found = first_difference(a[key], b[key], f"{path}.{key}" if path else str(key))
            if found is not None:
                return found
    key = next(k for k in [*keys_a, *keys_b] if (k in a) != (k in b))
    return Difference(f"{path}.{key}" if path else str(key), a.get(key), b.get(key), (key in a, key in b))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def is_system(message: Mapping[str, Any]) -> bool:
    """System and developer messages are the same thing to every engine and provider here."""
    return message.get("role") in ("system", "developer")


def leading_system(messages: Sequence[Mapping[str, Any]]) -> int:
    """How many system messages stand before any other message."""
    n = 0
    while n < len(messages) and is_system(messages[n]):
        n += 1
    return n
