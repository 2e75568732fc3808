"""Lines of source with a mark under a stretch of them, aligned for tabs, wide characters and escapes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_cachesafe.report.lint.place import Place
from pytest_cachesafe.report.visible import ELLIPSIS, display_width, visible

__all__ = ["frame", "source_line"]

WIDTH = 110
"""Screen columns of source text in a line; what is longer is cut around the mark."""
_LEAD = 40
_TAB = 4
_ROWS = 5
# Commands that Azure and TeamCity read anywhere in a line; `visible` sees one character at a time here.
_COMMAND = re.compile(r"#(?=#(?:\[|vso\[|teamcity\[))", re.IGNORECASE)


def frame(lines: Sequence[str], place: Place, indent: str = "  ") -> list[str]:
    """The rows of `place` behind their numbers, the stretch in its first row underlined; empty where there is no such
    row. Of more than five rows the first ones and the last are shown."""
    if not 1 <= place.row <= len(lines):
        return []
    last = min(place.end_row, len(lines))
    rows = list(range(place.row, last + 1))
    if len(rows) > _ROWS:
        rows = [*rows[: _ROWS - 2], 0, last]
    digits = len(str(last))
    first = lines[place.row - 1].rstrip("\r\n")
    start = min(place.column - 1, len(first))
    end = min(place.end_column - 1, len(first)) if place.end_row == place.row else len(first.rstrip())
    text, before, under = _window(first, start, max(end, start))
    out = [f"{indent}{place.row:>{digits}} | {text}", f"{indent}{'':>{digits}} | {' ' * before}{'^' * max(under, 1)}"]
    for row in rows[1:]:
        number = str(row) if row else "..."[:digits]
        shown = _window(lines[row - 1].rstrip("\r\n"), 0, 0)[0] if row else ELLIPSIS
        out.append(f"{indent}{number:>{digits}} | {shown}")
    return [line.rstrip() for line in out]


def source_line(lines: Sequence[str] | None, row: int) -> str | None:
    """One row without its indentation, cut to the width of a frame; None where there is no such row."""
    if lines is None or not 1 <= row <= len(lines):
        return None
    return _window(lines[row - 1].strip(), 0, 0)[0]


def _window(line: str, start: int, end: int) -> tuple[str, int, int]:
    """A part of the line around `start` that fits, the columns before the mark in it, and the columns of the mark."""
    first = 0
    if start > WIDTH or _columns(line[:start]) + min(end - start, _LEAD) > WIDTH - 2 * _TAB:
        first, lead = start, _LEAD
        while first and (lead := lead - display_width(_piece(line[first - 1], 0))) >= 0:
            first -= 1
    # Every character takes a column (combining marks apart), so megabytes of one line are never looked at.
    offset, line = first, line[first : first + 2 * WIDTH]
    pieces, column = [ELLIPSIS] if offset else [], 1 if offset else 0
    before, behind = None, None
    commands = {found.start() for found in _COMMAND.finditer(line)}
    for index, character in enumerate(line):
        if offset + index == start:
            before = column
        if offset + index == end:
            behind = column
        piece = _piece(character, column) if index not in commands else "\\x23"
        width = display_width(piece)
        if column + width > WIDTH - 1 and (index + 1 < len(line) or column + width > WIDTH):
            pieces.append(ELLIPSIS)
            column += 1
            break
        pieces.append(piece)
        column += width
    before = column if before is None else before
    behind = column if behind is None else behind
    return "".join(pieces), before, behind - before


def _piece(character: str, column: int) -> str:
    """How a character of source is shown; a tab reaches to the next multiple of four columns."""
    return " " * (_TAB - column % _TAB) if character == "\t" else visible(character)


def _columns(text: str) -> int:
    return sum(display_width(_piece(character, 0)) for character in text)
