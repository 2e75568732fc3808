"""One changed prompt, and what a mutator has to work with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = ["Change", "Context", "Mutant", "Mutator", "Twin", "like", "replaced"]


class Change(NamedTuple):
    """A prompt as changed, which words were changed, and what the detector may call it."""

    text: str
    # What stood there and what stands there now; empty where something was put in or taken out.
    before: str
    after: str
    # Kinds of `verdict.KINDS`, the first one names the mutant.
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What the other prompts of the set offer."""

    # Name in lower case = others of the set that may stand in its place, as they are written.
    siblings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Those names that are more than one word.
    phrases: tuple[str, ...] = ()
    # Opposites of the user's own tables, both ways, in lower case.
    antonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


# All changes that a mutator can make to a prompt, in a fixed order.
Mutator = Callable[[str, Context], Iterator[Change]]
Twin = Callable[[str], Iterator[Change]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A prompt of the user's with one change."""

    prompt: str
    text: str
    # Stable name of the mutator or, for a twin, of the twin.
    mutator: str
    # Kinds that the detector may give it: its own. Empty for a twin.
    kinds: tuple[str, ...]
    before: str
    after: str
    # Which prompt: index (from 0), or line of a file (from 1).
    at: int
    # One answer must serve both: a twin.
    same: bool = False

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"a": self.prompt, "b": self.text, "mutator": self.mutator, "at": self.at}


def like(word: str, model: str) -> str:
    """A word written as `model` is: in capitals, with one, or as it stands."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() and word.islower() else word


def replaced(prompt: str, match: re.Match[str], words: str, group: int | str = 0) -> str:
    """The prompt with other words in place of a group."""
    return prompt[: match.start(group)] + words + prompt[match.end(group) :]
