"""Prompts as they are judged: text, once each, with the place it was first seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from unicodedata import category

from pytest_cachesafe.usage import UsageError

__all__ = ["LONGEST", "PromptSet", "as_pair", "checked"]

# UTF-8 bytes. An encoder reads some hundred tokens; who puts a megabyte into a cache key gave a wrong file.
LONGEST = 1_000_000


def checked(text: object, where: str) -> str:
    """A prompt that can be judged; `where` begins the message.

    Raises:
        UsageError: not text, blank, a lone surrogate in it, or `LONGEST` bytes and more.
    """
    if not isinstance(text, str):
        raise UsageError(f"{where}: a prompt is text, not {_kind(text)}")
    if not text.strip():
        raise UsageError(f"{where} is blank: remove it, a cache must never be asked with it")
    if not text.isascii() and not _visible(text):
        raise UsageError(f"{where} holds no visible character: remove it, a cache must never be asked with it")
    # Only a long text can be too long, and only four bytes a character in the worst case.
    try:
        size = len(text) if text.isascii() else len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{where}: character {error.start} is half of a surrogate pair, which is no text: decode the prompt anew"
        ) from None
    if size >= LONGEST:
        raise UsageError(
            f"{where} has {size:,} bytes; prompts of {LONGEST:,} bytes and more are not judged: give the part that the "
            "cache embeds"
        )
    return text


# Letters and signs that show nothing: the fillers of Hangul, the empty Braille cell.
_EMPTY = frozenset("\u115f\u1160\u2800\u3164\uffa0")
# Controls, formats, spaces, and marks without a letter to stand on.
_UNSEEN = frozenset(("Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Me"))


def _visible(text: str) -> bool:
    return any(category(character) not in _UNSEEN and character not in _EMPTY for character in text)


def as_pair(a: object, b: object, where: str = "") -> tuple[str, str]:
    """Two prompts that can be judged.

    Raises:
        UsageError: see `checked`.
    """
    before = f"{where}: " if where else ""
    return checked(a, f"{before}prompt a"), checked(b, f"{before}prompt b")


@dataclass(slots=True)
class PromptSet:
    """Distinct prompts in the order they were first seen."""

    texts: list[str] = field(default_factory=list)
    # Index of a prompt (from 0), or the line of a file (from 1), where each text was first seen.
    places: list[int] = field(default_factory=list)
    # How often each was seen.
    counts: list[int] = field(default_factory=list)
    # What `places` count: "prompt" or "line".
    unit: str = "prompt"
    # The file they come from, for messages.
    name: str = ""
    _known: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, prompts: object) -> PromptSet:
        """From a sequence of texts.

        Raises:
            UsageError: a lone text, nothing to iterate over, or an item that cannot be judged (with its index).
        """
        if isinstance(prompts, PromptSet):
            return prompts
        if isinstance(prompts, (str, bytes)):
            raise UsageError("prompts is a lone text: give a list of prompts, or assert_distinct(a, b) for a pair")
        if isinstance(prompts, Mapping) or not isinstance(prompts, Iterable):
            raise UsageError(f"prompts is {_kind(prompts)}: a list of texts is meant")
        found = cls()
        for index, text in enumerate(prompts):
            found.add(checked(text, f"prompt {index}"), index)
        return found

    def add(self, text: str, place: int) -> bool:
        """Count a prompt; False if it was there already."""
        known = self._known.setdefault(text, len(self.texts))
        if known < len(self.texts):
            self.counts[known] += 1
            return False
        self.texts.append(text)
        self.places.append(place)
        self.counts.append(1)
        return True

    @property
    def given(self) -> int:
        """Prompts, repeats included."""
        return sum(self.counts)

    def __len__(self) -> int:
        return len(self.texts)

    def __contains__(self, text: object) -> bool:
        return text in self._known

    def index(self, text: str) -> int | None:
        """Where a text stands in `texts`."""
        return self._known.get(text)

    def need_two(self) -> None:
        """A set in which nothing can collide would pass for no reason.

        Raises:
            UsageError: fewer than two distinct prompts.
        """
        if len(self) >= 2:
            return
        of = f" of {self.name}" if self.name else ""
        if not self:
            raise UsageError(f"no prompts{of}: nothing was compared; two distinct prompts are the least")
        repeats = f" ({self.given} times the same)" if self.given > 1 else ""
        raise UsageError(f"one prompt{of}{repeats}: nothing was compared; two distinct prompts are the least")


def _kind(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, bytes):
        return "bytes (decode them first)"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
