"""A long file, or one in syntax newer than the running Python, made into a tree piece by piece.

A parser needs several times the memory of the tree it makes, and libcst some hundred times that of the text. So a file
is cut between statements, at the top or inside a class or function, and only one piece is in work at any moment; libcst
is asked for nothing but the statements that the running Python rejects.

A cut is right if all before it parses: then no string and no bracket is open there, and as no piece begins with a
clause (`else`), the statements of the pieces are those of the whole. Where any piece is rejected by both parsers,
nothing is returned, and the file is to be judged as a whole.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from cachesafe_rules.patterns import lazy_pattern

__all__ = ["ENOUGH", "in_pieces"]

ENOUGH = 50_000
"""Characters that are parsed in one go where there is a choice."""

ENTERED = 2_000
"""Characters from which on a rejected function or class is entered, rather than handed to libcst whole."""

_NESTED = 20
"""Bodies inside one another that are entered."""

_MOST = 500_000
"""Characters of a rejected piece that is searched for its statements; a longer one is a single table or worse."""

_CLAUSE = lazy_pattern(r"(?:else|elif|except|finally)\b")
_DEFINITION = lazy_pattern(r"(?:class|def|async[ \t]+def)\b")
_BLANKS = lazy_pattern(r"[ \t\f]*")
_LIKELY = r"(?:@|(?:class|def|async[ \t]+def)[ \t]|[A-Za-z_]\w* = )"

Place = tuple[int, int]


class _Made(NamedTuple):
    """Statements, where they end as `ast` counts it, and the index behind them."""

    body: list[ast.stmt]
    end: Place
    at: int


class _Rejected(Exception):
    """No parser takes a piece."""


def in_pieces(text: str, python: Callable[[str], ast.Module], *, newer: bool = True) -> tuple[ast.Module, bool] | None:
    """The tree of a module whose lines end in LF, and whether it has syntax newer than the running Python.

    None where the pieces do not parse; where `newer` is off, also where there is such syntax. `python` parses with the
    running Python.
    """
    pieces = _Pieces(text, python, newer)
    try:
        made = pieces.block("", 0, len(text))
    except (_Rejected, SyntaxError, ValueError, RecursionError, MemoryError, OverflowError, SystemError):
        return None
    if made.at < len(text) or (pieces.translated and pieces.since <= sys.version_info[:2]):
        # libcst accepts a little more than the language has.
        return None
    return ast.Module(body=made.body, type_ignores=[]), pieces.translated


class _Pieces:
    def __init__(self, text: str, python: Callable[[str], ast.Module], newer: bool) -> None:
        self.translated = False
        self.since = (3, 0)
        self._text = text
        self._ask = python
        self._newer = newer
        self._depth = 0
        # The last index that a row was asked for, and the row.
        self._known = (0, 1)

    def block(self, indent: str, at: int, end: int) -> _Made:
        """The statements from `at` on that are indented so, up to `end` or to what is indented less."""
        body: list[ast.stmt] = []
        place = (1, 0)
        while at < end:
            stop = self._likely(indent, at, end)
            made = None
            if stop - at > 2 * ENOUGH:
                # `stop` may lie in a string of its body.
                made = self._entered(indent, at, end)
            made = made or self._python(indent, at, stop) or self._exactly(indent, at, stop, end)
            if made.at <= at:
                raise _Rejected
            body += made.body
            place, at = made.end, made.at
            if at < end and self._indent(at)[0] != indent:
                break
        return _Made(body, place, at)

    def _indent(self, at: int) -> tuple[str, int]:
        """How a line is indented, and where its code begins. A form feed starts the line anew."""
        blanks = _BLANKS.match(self._text, at).group()  # type: ignore[union-attr]
        return blanks.rpartition("\f")[2], at + len(blanks)

    def _likely(self, indent: str, at: int, end: int) -> int:
        """An index where a statement seems to begin: the last one before there is enough, else the first."""
        if end - at <= ENOUGH:
            return end
        found = end
        for start in re.compile(rf"^{indent}{_LIKELY}", re.MULTILINE).finditer(self._text, at + 1, end):
            here = start.start()
            before = self._text.rfind("\n", 0, here - 1) + 1
            if self._text.startswith(f"{indent}@", before):
                continue
            if here - at > ENOUGH:
                return here if found == end else found
            found = here
        return found

    def _row(self, at: int) -> int:
        index, row = self._known
        row += self._text.count("\n", index, at) if index <= at else -self._text.count("\n", at, index)
        self._known = (at, row)
        return row

    def _python(self, indent: str, at: int, stop: int) -> _Made | None:
        """What the running Python makes of a piece."""
        head = "if 1:\n" if indent else ""
        try:
            tree = self._ask(head + "\n" * (self._row(at) - (2 if indent else 1)) + self._text[at:stop])
        except SyntaxError:
            return None
        return self._unwrapped(indent, tree, stop)

    def _unwrapped(self, indent: str, tree: ast.Module, stop: int) -> _Made:
        body = tree.body
        if not indent:
            return _Made(body, _end_of(body[-1]) if body else (1, 0), stop)
        if len(body) > 1:
            # What is indented less is left to the block around.
            stop = self._index(_first_row(body[1]), stop)
        around: Any = body[0]
        if around.orelse:
            raise _Rejected
        return _Made(around.body, _end_of(around), stop)

    def _index(self, row: int, before: int) -> int:
        """The index where a row begins."""
        at = self._text.rfind("\n", 0, before) + 1
        while self._row(at) > row:
            at = self._text.rfind("\n", 0, at - 1) + 1
        return at

    def _exactly(self, indent: str, at: int, stop: int, end: int) -> _Made:
        """A piece that the running Python rejects: `stop` is no end of a statement, or one is in newer syntax."""
        if stop - at > _MOST:
            raise _Rejected
        starts, stop = self._statements(indent, at, stop, end)
        if not starts:
            raise _Rejected
        starts[0] = at
        return self._divided(indent, [*starts, stop])

    def _divided(self, indent: str, starts: list[int]) -> _Made:
        made = self._python(indent, starts[0], starts[-1])
        if made is not None:
            return made
        if len(starts) == 2:
            if not self._newer:
                raise _Rejected
            at, stop = starts
            entered = self._entered(indent, at, stop) if stop - at >= ENTERED else None
            return entered or self._libcst(indent, at, self._text[at:stop], stop)
        middle = len(starts) // 2
        first, second = self._divided(indent, starts[: middle + 1]), self._divided(indent, starts[middle:])
        return _Made(first.body + second.body, second.end, second.at)

    def _lines(self, at: int, end: int) -> Iterator[tuple[int, str, str]]:
        """Logical lines from `at` on that hold code: index, indentation, and the code with what follows."""
        from pytest_cachesafe.lint.newer.depth import logical_lines

        for line in logical_lines(self._text, at, end):
            indent, start = self._indent(line)
            code = self._text[start : start + 80]
            if code and code[0] not in "\n#":
                yield line, indent, code

    def _statements(self, indent: str, at: int, stop: int, end: int) -> tuple[list[int], int]:
        """Where statements begin, and the first such index from `stop` on, or that of what is indented less."""
        starts: list[int] = []
        decorated = False
        for line, own, code in self._lines(at, end):
            if len(own) < len(indent):
                return starts, line
            if own != indent or _CLAUSE.match(code):
                continue
            if not decorated:
                if line >= stop:
                    return starts, line
                starts.append(line)
            decorated = code[0] == "@"
        return starts, end

    def _entered(self, indent: str, at: int, end: int) -> _Made | None:
        """The function or class that begins at `at`, its body parsed piece by piece; None where none does."""
        if self._depth >= _NESTED:
            return None
        lines = self._lines(at, end)
        for _, own, code in lines:
            if own != indent:
                return None
            if _DEFINITION.match(code):
                break
            if code[0] != "@":
                return None
        inside = next(lines, None)
        if inside is None or not (inside[1].startswith(indent) and len(inside[1]) > len(indent)):
            return None
        start, inner, _ = inside
        head = self._header(indent, at, start, inner)
        if head is None or len(head) != 1:
            return None
        self._depth += 1
        made = self.block(inner, start, end)
        self._depth -= 1
        statement: Any = head[0]
        statement.body = made.body
        statement.end_lineno, statement.end_col_offset = made.end
        return _Made(head, made.end, made.at)

    def _header(self, indent: str, at: int, start: int, inner: str) -> list[ast.stmt] | None:
        text = f"{self._text[at:start]}{inner}pass\n"
        shift = self._row(at) - (2 if indent else 1)
        try:
            tree = self._ask(("if 1:\n" if indent else "") + "\n" * shift + text)
        except SyntaxError:
            try:
                return self._libcst(indent, at, text, start).body
            except _Rejected:
                return None
        return self._unwrapped(indent, tree, start).body

    def _libcst(self, indent: str, at: int, text: str, stop: int) -> _Made:
        from pytest_cachesafe.lint.newer import translate_piece

        tree, since = translate_piece(("if 1:\n" if indent else "") + text)
        if tree is None:
            raise _Rejected
        self.translated = True
        self.since = max(self.since, since)
        ast.increment_lineno(tree, self._row(at) - (2 if indent else 1))
        made = self._unwrapped(indent, tree, stop)
        if made.at != stop:
            raise _Rejected
        return made


def _first_row(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _end_of(statement: ast.stmt) -> Place:
    return statement.end_lineno or statement.lineno, statement.end_col_offset or 0
