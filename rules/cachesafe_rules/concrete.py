"""The concrete syntax of the part of a file that a report lies in, read with libcst.

libcst takes a quarter of a millisecond a row, so a long file is not read whole: Python's own parser says where the
statements are, and only the one around the report is read. A method is read behind an `if 1:` in its own indentation,
which leaves its columns as they are; no grammar rule of libcst asks what stands around a statement.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.piece import Block, Comment, Piece, Range

if TYPE_CHECKING:
    from cachesafe_rules.model import Span

__all__ = ["Comment", "Concrete", "Piece", "Range", "range_of", "read", "split_rows"]

# Up to this many rows a statement is read as it is; a longer class or branch is entered, to read one of its statements.
_ENOUGH = 300
# A single statement longer than this costs more than a second: the given place is trusted.
_TOO_LONG = 4000
# libcst's parser recurses in native code and takes the process down (seen at 10,000 terms); Python's parser does not.
_TOO_DEEP = 180
_NEWLINE = lazy_pattern(r"\r\n?|\n")


def split_rows(text: str) -> list[str]:
    """The rows without their line ends, split where Python's tokenizer does (not at form feeds)."""
    return _NEWLINE.split(text)


class Concrete:
    """One file's text, of which pieces are read on demand. `text` has no byte order mark."""

    def __init__(self, text: str, tree: ast.Module | None = None) -> None:
        self.text = text
        self.rows = split_rows(text)
        self.tree = tree or _parse(text)
        self._offsets: list[int] | None = None
        self._strings: dict[int, list[tuple[int, float, bool]]] | None = None
        self._pieces: dict[tuple[int, int], Piece | None] = {}

    def block(self, row: int, end_row: int) -> Block | None:
        """The shortest rows worth reading that hold these; None where no statement is."""
        if self.tree is None:
            return None
        body, nested, found = self.tree.body, False, None
        while True:
            inside = _covering(body, row, end_row)
            if not inside or (nested and not self._alone(inside[0])):
                return found
            first, last = _first_row(inside[0]), max(_last_row(s) for s in inside)
            if nested and not (first <= row and end_row <= last):
                return found
            found = Block(first, last, nested, tuple(inside))
            if last - first < _ENOUGH or len(inside) > 1 or not isinstance(inside[0], (ast.ClassDef, ast.If)):
                return found
            # A function stays whole, however long: its head is asked for, and names are looked up in it.
            body, nested = inside[0].body, True

    def piece(self, block: Block) -> Piece | None:
        """The rows of a block as a tree; None where libcst cannot or should not read them."""
        key = (block.first, block.last)
        if key not in self._pieces:
            self._pieces[key] = self._read(block)
        return self._pieces[key]

    def at(self, row: int, end_row: int | None = None) -> Piece | None:
        """The piece that holds these rows, None where there is none."""
        block = self.block(row, end_row or row)
        return self.piece(block) if block else None

    def comment(self, row: int) -> Comment | None:
        """The comment of a row. A `#` inside a string is none."""
        line = self.rows[row - 1] if 0 < row <= len(self.rows) else ""
        if "#" not in line:
            return None
        if self.tree is not None:
            at, certain = self._outside_strings(row)
            if certain:
                return None if at is None else Comment(row, at + 1, line[at:])
            piece = self.at(row)
            if piece is not None:
                return next((c for c in piece.comments if c.row == row), None)
        return next((c for c in self._tokens() if c.row == row), None)

    def offset(self, row: int, column: int) -> int:
        """The index in `text` of a place.

        Raises:
            IndexError: there is no such place.
        """
        if not (0 < row <= len(self.rows) and 0 < column <= len(self.rows[row - 1]) + 1):
            raise IndexError(f"no row {row}, column {column}")
        return self._starts()[row - 1] + column - 1

    def place(self, offset: int) -> tuple[int, int]:
        """Row and column of an index in `text`; the inverse of `offset`."""
        starts = self._starts()
        row = bisect_right(starts, offset)
        return row, offset - starts[row - 1] + 1

    def code(self, span: Range) -> str:
        """The text of a place."""
        return self.text[self.offset(*span[:2]) : self.offset(*span[2:])]

    def _starts(self) -> list[int]:
        if self._offsets is None:
            self._offsets = [0, *(match.end() for match in _NEWLINE.finditer(self.text))]
        return self._offsets

    def _read(self, block: Block) -> Piece | None:
        import libcst as cst

        if block.last - block.first >= _TOO_LONG or not _shallow(block.statements):
            return None
        rows = self.rows[block.first - 1 : block.last]
        try:
            # A row's own line end plays no part in rows and columns.
            return Piece("\n".join(rows) + "\n", block)
        except (cst.ParserSyntaxError, RecursionError):
            return None

    def _alone(self, statement: ast.stmt) -> bool:
        """Whether a statement is the first thing of its row, in spaces and tabs."""
        row = self.rows[_first_row(statement) - 1]
        start = len(row) - len(row.lstrip(" \t"))
        decorated = bool(getattr(statement, "decorator_list", ()))
        return start > 0 and (row[start] == "@" if decorated else start == statement.col_offset)

    def _outside_strings(self, row: int) -> tuple[int | None, bool]:
        """The index of a row's first `#` that is in no string, and whether Python's tree is enough to say so.

        It is not where a `#` lies in a string of several rows: between strings that are written one behind the other
        there may be comments, and inside an f-string's fields.
        """
        if self._strings is None:
            self._strings = _strings(self.tree)
        line = self.rows[row - 1]
        around = self._strings.get(row, ())
        for found in re.finditer("#", line):
            offset = len(line[: found.start()].encode())
            inside = [several for start, end, several in around if start <= offset < end]
            if any(inside):
                return None, False
            if not inside:
                return found.start(), True
        return None, True

    def _tokens(self) -> list[Comment]:
        """Comments found by Python's tokenizer, up to the first thing it does not understand."""
        import io
        import tokenize

        found: list[Comment] = []
        try:
            for token in tokenize.generate_tokens(io.StringIO("\n".join(self.rows)).readline):
                if token.type == tokenize.COMMENT:
                    found.append(Comment(token.start[0], token.start[1] + 1, token.string))
        except (tokenize.TokenError, SyntaxError):
            pass  # what was found before stands
        return found


_LAST: list[Concrete] = []


def read(text: str, parse: Callable[[str], ast.Module | None] | None = None) -> Concrete:
    """The last text read is kept: a report's place and its fix are asked for one after the other. `parse` may have a
    cheaper way to the tree."""
    if not _LAST or _LAST[0].text != text:
        _LAST.clear()
        _LAST.append(Concrete(text, parse(text) if parse is not None else None))
    return _LAST[0]


def range_of(span: Span) -> Range:
    """A span without its file."""
    return span.row, span.column, span.end_row, span.end_column


def _parse(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _first_row(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _last_row(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _covering(body: list[ast.stmt], row: int, end_row: int) -> list[ast.stmt]:
    """The run of statements that share rows with these, and those that share rows with them."""
    # In order of rows, so that a file with thousands of functions is not walked for each report.
    last = bisect_right(body, end_row, key=_first_row) - 1
    first = last + 1
    while first and _last_row(body[first - 1]) >= row:
        first -= 1
    if first > last:
        return []
    while first and _last_row(body[first - 1]) >= _first_row(body[first]):
        first -= 1
    while last + 1 < len(body) and _first_row(body[last + 1]) <= _last_row(body[last]):
        last += 1
    return body[first : last + 1]


def _strings(tree: ast.Module | None) -> dict[int, list[tuple[int, float, bool]]]:
    """Per row, what strings cover: from and to (in bytes), and whether the string takes several rows."""
    found: dict[int, list[tuple[int, float, bool]]] = {}
    stack: list[ast.AST] = [tree] if tree is not None else []
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Constant):
            if not isinstance(node.value, str | bytes):
                continue
        elif type(node).__name__ not in ("JoinedStr", "TemplateStr"):
            stack.extend(ast.iter_child_nodes(node))
            continue
        # Places inside an f-string are wrong before Python 3.12.
        first, last = node.lineno, node.end_lineno or node.lineno  # type: ignore[attr-defined]
        start, end = node.col_offset, node.end_col_offset or 0  # type: ignore[attr-defined]
        for row in range(first, last + 1):
            span = (start if row == first else 0, end if row == last else float("inf"), first != last)
            found.setdefault(row, []).append(span)
    return found


def _shallow(statements: tuple[ast.stmt, ...]) -> bool:
    level: list[ast.AST] = list(statements)
    for _ in range(_TOO_DEEP):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return True
    return False
