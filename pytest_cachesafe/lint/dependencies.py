"""The files that kept results were made from, and whether they still say the same.

Thousands of files use the same few hundred others, so each set of files is kept once, with one hash for all of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["FileSets", "may_import"]

# With more files come or gone than this, nothing is believed any more.
_MOST_CHANGES = 40


class FileSets:
    """Sets of files, by number. `digest` gives one hash for the contents of some files."""

    def __init__(self, digest: Callable[[tuple[str, ...]], str]) -> None:
        self._digest = digest
        self._sets: list[tuple[str, tuple[str, ...]]] = []
        self._numbers: dict[tuple[str, ...], int] = {}
        self._holds: dict[int, bool] = {}

    def add(self, names: tuple[str, ...]) -> int:
        """The number of a set whose files are as they are now."""
        number = self._numbers.get(names)
        if number is None or not self.holds(number):
            number = self._numbers[names] = len(self._sets)
            self._sets.append((self._digest(names), names))
        return number

    def names(self, number: int) -> tuple[str, ...]:
        """The files of a set; raises IndexError or TypeError where there is none of that number."""
        if number < 0:
            raise IndexError(number)
        return self._sets[number][1]

    def holds(self, number: int) -> bool:
        """Whether the files of a set still have the contents that they had when it was made."""
        known = self._holds.get(number)
        if known is None:
            digest, names = self._sets[number]
            known = self._holds[number] = digest == self._digest(names)
        return known

    def load(self, value: Any) -> None:
        """Take over what `dump` gave; raises ValueError, TypeError, IndexError or KeyError for anything else."""
        names, sets = [str(name) for name in value["names"]], value["sets"]
        loaded = [(str(digest), tuple(names[i] for i in indexes)) for digest, indexes in sets]
        self._sets[:] = loaded
        self._numbers = {names: number for number, (_, names) in enumerate(loaded)}

    def dump(self, used: Iterable[int]) -> tuple[dict[str, Any], dict[int, int]]:
        """The sets with these numbers as JSON values, and their numbers there."""
        new: dict[int, int] = {}
        index: dict[str, int] = {}
        sets: list[Any] = []
        for number in sorted(set(used)):
            digest, names = self._sets[number]
            new[number] = len(sets)
            sets.append([digest, [index.setdefault(name, len(index)) for name in names]])
        return {"names": list(index), "sets": sets}, new


def may_import(
    changed: Iterable[str], names: Iterable[str], read: Callable[[str], bytes | None]
) -> frozenset[str] | None:
    """Those of `names` in which an import may mean another file since the files `changed` came or went; None for all.

    An import spells the last part of the module it means, so only files that hold that word are concerned; a package
    need not be named by what lies in it (`from . import x`).
    """
    words: set[bytes] = set()
    folders: list[str] = []
    for number, name in enumerate(changed):
        if number >= _MOST_CHANGES:
            return None
        folder, _, last = name.rpartition("/")
        if last == "__init__.py":
            folders.append(f"{folder}/" if folder else "")
            last = f"{folder.rpartition('/')[2]}.py"
        words.add(os.fsencode(last.removesuffix(".py")))
    words.discard(b"")

    def concerned(name: str) -> bool:
        data = read(name)
        if data is None or any(word in data for word in words):
            return True
        return b"from ." in data and any(name.startswith(folder) for folder in folders)

    return frozenset(filter(concerned, names))
