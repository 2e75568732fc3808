"""How much or how many: all against one, and bounds with and without the bound itself."""

from __future__ import annotations

from pytest_cachesafe.semantic.slots.found import Found
from pytest_cachesafe.semantic.slots.item import Item
from pytest_cachesafe.semantic.slots.profile import Profile
from pytest_cachesafe.semantic.tables.word_set import word_set

__all__ = ["bounds", "single_of"]

# Bounds without the bound itself, and the word for it with the bound.
_BOUNDS = (
    (frozenset(("more_than", "over", "above")), "at_least"),
    (frozenset(("less_than", "under", "below")), "at_most"),
)
_INEXACT = frozenset(("more_than", "over", "above", "at_least", "less_than", "under", "below", "at_most"))
# Words in front of the one thing that is meant.
_ONE = word_set("a an the this that my our your")
# Words between a quantifier and its noun, and between an article and its noun.
_NEAR = 3


def single_of(quantifier: Item, profile: Profile, other: Profile) -> bool:
    """Whether the other prompt says of one thing what this one says of all: "all API keys", "the API key"."""
    behind = [w for w in profile.words if w.start > quantifier.end and w.clause == quantifier.clause][:_NEAR]
    plural = next((w for w in behind if w.raw[1] == "s"), None)
    if plural is None:
        return False
    same = [w for w in other.words if w.value == plural.value]
    if len(same) != 1 or same[0].raw[1] == "s":
        return False
    at = next((i for i, t in enumerate(other.tokens) if t.start == same[0].start), 0)
    return any(t.kind == "w" and t.word in _ONE for t in other.tokens[max(at - _NEAR, 0) : at])


def bounds(a: Profile, b: Profile) -> Found | None:
    """One number, with and without itself: "more than 3" and "3 or more", "3 or more" and "exactly 3".

    Suspect only: many write one for the other.
    """
    if not a.values or not b.values or {v.value for v in a.values}.isdisjoint(v.value for v in b.values):
        return None
    for x, y in ((a, b), (b, a)):
        found = _apart(x, y)
        if found is not None:
            return Found("comparative", "suspect", *(found if x is a else found[::-1]))
    return None


def _apart(x: Profile, y: Profile) -> tuple[tuple[Item, ...], tuple[Item, ...]] | None:
    said_x, said_y = x.said, y.said
    numbers = {v.value for v in y.values}
    for strict, inclusive in _BOUNDS:
        if inclusive in said_x or inclusive not in said_y or said_y & strict:
            continue
        if any(v.value in numbers for word in strict for v in x.arguments.get(word, ())):
            return _of(x, strict), _of(y, frozenset((inclusive,)))
    if "exactly" in said_x and "exactly" not in said_y and said_y & _INEXACT and not said_x & _INEXACT:
        return _of(x, frozenset(("exactly",))), _of(y, _INEXACT)
    return None


def _of(profile: Profile, words: frozenset[str]) -> tuple[Item, ...]:
    return tuple(i for i in profile.items if i.value in words)
