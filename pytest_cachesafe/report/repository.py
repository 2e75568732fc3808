"""File names as a code host reads them: relative to the repository, whatever folder the tests ran in."""

from __future__ import annotations

import os
from typing import NamedTuple

__all__ = ["Repository", "Stretch"]

# Lines of files that are longer are not looked through for an expression.
_MOST_BYTES = 1_000_000


class Stretch(NamedTuple):
    """A part of a row; row and columns from 1, `end` the first column behind. No columns: the row cannot be read."""

    filename: str
    row: int
    column: int | None = None
    end: int | None = None


class Repository:
    """The repository around pytest's root folder; the root itself where there is none."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self.top = _top(self.root)
        self._read: dict[str, tuple[str, ...]] = {}

    def named(self, name: str) -> str:
        """A file of the run, relative to the top with forward slashes.

        Args:
            name: relative to pytest's root, or to the folder it was started in.
        """
        path = self._path(name)
        try:
            shown = os.path.relpath(path, self.top)
        except ValueError:
            return name
        return shown.replace(os.sep, "/")

    def stretch(self, name: str, row: int, expression: str = "") -> Stretch:
        """Where an expression stands in a row, or the whole row without its indentation."""
        path = self._path(name)
        if path not in self._read:
            self._read[path] = _lines(path)
        lines = self._read[path]
        text = lines[row - 1].rstrip("\r\n") if 1 <= row <= len(lines) else ""
        if not text.strip():
            return Stretch(self.named(name), max(row, 1))
        at = text.find(expression) if expression else -1
        length = len(expression)
        if at < 0:
            at, length = len(text) - len(text.lstrip()), len(text.strip())
        return Stretch(self.named(name), row, at + 1, at + 1 + length)

    def _path(self, name: str) -> str:
        for folder in (self.root, os.getcwd()):
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path):
                    return path
            except ValueError:
                # A zero byte in it.
                break
        return os.path.join(self.root, name)


def _top(folder: str) -> str:
    """The nearest folder upwards that is a repository; without one what GitHub checked out, or the folder itself."""
    here = folder
    while True:
        if os.path.exists(os.path.join(here, ".git")):
            return here
        parent = os.path.dirname(here)
        if parent == here:
            break
        here = parent
    given = os.environ.get("GITHUB_WORKSPACE")
    if given:
        top = os.path.realpath(given)
        if folder == top or folder.startswith(top + os.sep):
            return top
    return folder


def _lines(path: str) -> tuple[str, ...]:
    try:
        if os.path.getsize(path) > _MOST_BYTES:
            return ()
        with open(path, encoding="utf-8", newline="") as file:
            return tuple(file)
    except (OSError, UnicodeDecodeError, ValueError):
        return ()
