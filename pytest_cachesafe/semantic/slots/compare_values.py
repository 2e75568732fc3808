"""Compares the values of two prompts: what one says and the other does not, paired kind by kind."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_cachesafe.semantic.slots.found import Found
from pytest_cachesafe.semantic.slots.item import Item

__all__ = ["compare_values"]

# Kinds that a written value may be read as depending on its surroundings ("2025" a year or a number).
_FAMILY = {"number": "n", "date": "n", "version": "n", "ordinal": "o", "month": "m", "weekday": "w", "time": "t",
           "money": "n", "percent": "n", "period": "p", "language": "l", "format": "f", "code": "c"}  # fmt: skip
# A value that stands alone is hardly a difference: "a month" and "1 month".
_NOTHING = frozenset((("n", "1"), ("o", 1)))


def compare_values(a: Sequence[Item], b: Sequence[Item], sure: bool, framed: bool) -> list[Found]:
    """Differences in values: both prompts say one of a kind, and not the same one; or one says one more.

    Args:
        a: values of one prompt.
        b: values of the other.
        sure: the prompts are near enough for certain findings.
        framed: they are the same but for one place: only then does a value more on one side count, as a suspicion.
    """
    if not a and not b:
        return []
    rest_a, rest_b = _unmatched(a, b)
    if not rest_a and not rest_b:
        return []
    found: list[Found] = []
    # The same kind first, then the same family, each in order of place.
    for same_kind in (True, False):
        for x in list(rest_a):
            for y in rest_b:
                if (x.kind == y.kind) if same_kind else (_FAMILY[x.kind] == _FAMILY[y.kind]):
                    found.append(Found(_kind(x, y), "certain" if sure else "suspect", (x,), (y,)))
                    rest_a.remove(x)
                    rest_b.remove(y)
                    break
    if framed:
        found += [Found(x.kind, "suspect", (x,), ()) for x in rest_a if not _hardly(x)]
        found += [Found(y.kind, "suspect", (), (y,)) for y in rest_b if not _hardly(y)]
    return found


def _hardly(item: Item) -> bool:
    return item.value in _NOTHING or item.raw[0] == "1"


def _unmatched(a: Sequence[Item], b: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    left: dict[object, list[Item]] = {}
    for y in b:
        left.setdefault(y.value, []).append(y)
    rest_a = []
    for x in a:
        same = left.get(x.value)
        if same:
            same.pop()
        else:
            rest_a.append(x)
    kept = {id(y) for same in left.values() for y in same}
    rest_b = [y for y in b if id(y) in kept]
    # What is written another way: an hour without its half of the day, a number without its unit. Bounded: logs of
    # numbers are not held against each other one by one.
    if len(rest_a) * len(rest_b) <= 4096:
        for x in list(rest_a):
            for y in rest_b:
                if _alike(x, y) or _alike(y, x):
                    rest_a.remove(x)
                    rest_b.remove(y)
                    break
    else:
        rest_a, rest_b = rest_a[:64], rest_b[:64]
    # What is said twice on one side only is no value more.
    values_a, values_b = {x.value for x in a}, {y.value for y in b}
    return [x for x in rest_a if x.value not in values_b], [y for y in rest_b if y.value not in values_a]


def _alike(x: Item, y: Item) -> bool:
    if x.kind == "time" and isinstance(x.value, tuple):
        _, minutes, known = x.value
        if y.kind == "time" and isinstance(y.value, tuple):
            return (minutes - y.value[1]) % 720 == 0 and not (known and y.value[2])
        return y.kind == "number" and y.raw == (str(minutes // 60 % 12 or 12), "") and minutes % 60 == 0
    if x.kind == "period" and y.raw == ("1", f"{x.value}/"):
        return True
    if x.kind == y.kind == "number" and (_millions(x, y) or _binary(x, y)):
        return True
    if x.raw[0] and y.kind in {"number", "date", "version"} and y.raw[1] == "" and isinstance(y.value, tuple):
        return y.value == ("n", x.raw[0]) and x.raw[1] != ""
    return False


def _millions(x: Item, y: Item) -> bool:
    """1.5M and 1.5 million: m is a metre as well, and case tells nothing."""
    return x.raw[1] == "m" and y.raw[1] == "" and y.value == ("n", f"{float(x.raw[0]) * 1e6:.15g}")


def _binary(x: Item, y: Item) -> bool:
    """1 GB and 1024 MB: many count bytes by 1024."""
    if not (isinstance(x.value, tuple) and isinstance(y.value, tuple)) or x.raw[1] == y.raw[1]:
        return False
    if x.value[:2] != ("q", "byte") or y.value[:2] != ("q", "byte") or not 0 < x.value[2] < y.value[2]:
        return False
    ratio = y.value[2] / x.value[2]
    return any(abs(ratio - 1.024**power) < 1e-9 for power in (1, 2, 3, 4))


def _kind(x: Item, y: Item) -> str:
    if x.raw[0] and x.raw[0] == y.raw[0] and x.raw[1] != y.raw[1]:
        return "money" if "money" in (x.kind, y.kind) else "unit"
    return x.kind if x.kind == y.kind else min(x.kind, y.kind)
