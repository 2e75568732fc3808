"""Which files may import a file, straight or over others, by their text alone.

An import names the file it means, so a file in which the name does not occur cannot import it. That is far too many for
common names (`utils`), and then everything is analysed; for most changed files it is a handful, and only those are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

__all__ = ["Reach"]

_MOST_NAMES = 48


class Reach:
    """`read` gives a file's bytes, None where it cannot be read."""

    def __init__(self, files: Mapping[str, object], read: Callable[[str], bytes | None]) -> None:
        self._files = files
        self._read = read
        self._found: set[str] = set()
        self._asked: set[bytes] = set()
        self._folders: set[str] = set()
        self._all = False

    def of(self, focus: Iterable[str]) -> frozenset[str] | None:
        """Files that may have to do with these, these included; None where that may be any file. Grows with each call:
        what was near before still is."""
        todo = [name for name in focus if name not in self._found]
        while todo and not self._all:
            fresh: set[bytes] = set()
            folders: set[str] = set()
            for name in todo:
                self._found.add(name)
                word, package = _word(name)
                if word is None or word in self._asked:
                    self._all = self._all or word is None
                elif word:
                    fresh.add(word)
                if package is not None and package not in self._folders:
                    # `from . import x` does not name the package it means.
                    folders.add(package)
            self._asked |= fresh
            self._folders |= folders
            if self._all or len(self._asked) > _MOST_NAMES:
                self._all = True
                break
            todo = self._importers(fresh, folders) if fresh or folders else []
        return None if self._all else frozenset(self._found)

    def _importers(self, words: set[bytes], folders: set[str]) -> list[str]:
        out = []
        for name in self._files:
            if name in self._found:
                continue
            data = self._read(name)
            if data is None:
                continue
            if any(word in data for word in words) or (
                any(name.startswith(folder) for folder in folders) and b"from ." in data
            ):
                out.append(name)
        return out


def _word(name: str) -> tuple[bytes | None, str | None]:
    """What an import of a file must spell, and for a package the folder inside which it need not.

    None as the first: not a Python file, so whatever reads it need not spell its name in one piece.
    """
    if not name.endswith(".py"):
        return None, None
    folder, _, last = name.rpartition("/")
    if last == "__init__.py":
        return os.fsencode(folder.rpartition("/")[2]), f"{folder}/" if folder else ""
    return os.fsencode(last[:-3]), None
