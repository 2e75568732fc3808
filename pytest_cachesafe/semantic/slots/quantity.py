"""How much or how many: all against one, and bounds with and without the bound itself."""

from __future__ import annotations

from pytest_cachesafe.semantic.slots.item import Item
from pytest_cachesafe.semantic.slots.profile import Profile
from pytest_cachesafe.semantic.tables.word_set import word_set

__all__ = ["single_of"]

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
