"""Which line of a project wrote a value."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from pytest_cachesafe.source.pieces import Piece, python_pieces, template_pieces

__all__ = ["Built", "built_at"]

_TEMPLATES = (".jinja", ".jinja2", ".j2", ".txt", ".md", ".prompt")
# Larger files are data; more files than these are not looked through while a test fails.
_MOST_BYTES = 1_000_000
_MOST_FILES = 5_000
# Fewer characters of literal text than these stand in front of a value in too many places.
_LEAST = 4
# Characters of a value that may be literal.
_LONGEST = 40
_RUN = re.compile(r"[^\s\"'\\{}%$][^\"'\\{}%$\n]*")


class Built(NamedTuple):
    """The line that wrote the value: file relative to the root, row from 1, and the expression there."""

    filename: str
    row: int
    value: str

    def __str__(self) -> str:
        return f"{self.filename}:{self.row}"


def built_at(text: str, index: int, root: str, near: str = "") -> Built | None:
    """The line that wrote what stands at a character of a prompt; None where no line, or more than one, could be it.

    Args:
        text: the prompt, or a part of it around the place; index: of a character in the value that changed.
        root: the project's folder; files below it are looked through, those of libraries are not.
        near: a file whose folder is looked through first, where the project has more files than can be.
    """
    from pytest_cachesafe.values import value_at

    value = value_at(text, min(index, len(text) - 1)) if text else None
    start = value.start if value is not None else index
    # A part of the value may be literal itself ("2026-11-30 10:{minute}").
    ends = range(start, max(start, min(index, start + _LONGEST)) + 1)
    if value is not None and not text[:start]:
        return _opening(text[value.end :], root, near)
    needle = _needle(text[:start])
    if needle is None:
        return None
    longest, found = 0, dict[tuple[str, int], Built]()
    for path in _all_files(root, near):
        source = _read(path)
        if source is None or needle not in source:
            continue
        name = os.path.relpath(path, root).replace(os.sep, "/")
        pieces = python_pieces(source) if path.endswith(".py") else template_pieces(source)
        for piece in pieces:
            length = max(_matches(piece, text[:end]) for end in ends)
            if length > longest:
                longest = length
                found.clear()
            if length and length == longest:
                found[name, piece.row] = Built(name, piece.row, piece.value)
    return next(iter(found.values())) if len(found) == 1 else None


def _opening(behind: str, root: str, near: str) -> Built | None:
    """The one line that puts a value in front of this text."""
    from pytest_cachesafe.source.behind import constants, openings

    first = behind.strip().split("\n")[0][:_LONGEST]
    # What an escape, or a literal's end, cuts off is not looked for.
    run = _RUN.match(first)
    if run is None or len(run[0].strip()) < _LEAST:
        return None
    # A literal that is repeated may be short.
    needle = run[0][:6].rstrip()
    sources = [
        (path, source)
        for path in _all_files(root, near)
        if path.endswith(".py") and (source := _read(path)) is not None
    ]
    names: dict[str, str] = {}
    for _, source in sources:
        if needle in source:
            names |= {name: text for name, text in constants(source).items() if text.lstrip().startswith(needle)}
    found = {}
    for path, source in sources:
        if needle not in source and not any(name in source for name in names):
            continue
        for piece in openings(source, names):
            if len(piece.text.strip()) >= _LEAST and (behind.startswith(piece.text) or piece.text.startswith(behind)):
                name = os.path.relpath(path, root).replace(os.sep, "/")
                found[name, piece.row] = Built(name, piece.row, piece.value)
    return next(iter(found.values())) if len(found) == 1 else None


def _all_files(root: str, near: str) -> tuple[str, ...]:
    files = _files(root)
    folder = os.path.dirname(near)
    if not folder or (len(files) < _MOST_FILES and near in files):
        return files
    return tuple(dict.fromkeys((*_files(folder), *files)))


def _needle(static: str) -> str | None:
    """The last words in front of the value that stand in source as they stand in the prompt."""
    line = static.rsplit("\n", 1)[-1] if len(static.rsplit("\n", 1)[-1].strip()) >= _LEAST else static.rstrip("\n")
    runs = [m[0] for m in _RUN.finditer(line[-80:])]
    if not runs or len(runs[-1].strip()) < _LEAST:
        return None
    return runs[-1][-12:].lstrip() if len(runs[-1]) > 12 else runs[-1]


def _matches(piece: Piece, static: str) -> int:
    """How many characters of a piece stand in front of the value; 0 if it does not end there."""
    text = piece.text
    if static.endswith(text):
        return len(text) if len(text.strip()) >= _LEAST else 0
    # The excerpt of the prompt may begin inside the piece.
    return len(static) if len(static.strip()) >= _LEAST and text.endswith(static) else 0


@lru_cache(maxsize=8)
def _files(root: str) -> tuple[str, ...]:
    return tuple(_walk(root))


def _walk(root: str) -> Iterator[str]:
    from pytest_cachesafe.lint.walk import BY_HABIT, FOREIGN

    count = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in FOREIGN and f not in BY_HABIT and not f.startswith("."))
        for file in sorted(files):
            if file.endswith((".py", *_TEMPLATES)):
                yield os.path.join(folder, file)
                count += 1
                if count >= _MOST_FILES:
                    return


@lru_cache(maxsize=_MOST_FILES)
def _read(path: str) -> str | None:
    try:
        if os.path.getsize(path) > _MOST_BYTES:
            return None
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return None
