"""Where the nodes of a libcst tree lie, in the terms of `ast`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import libcst as cst

__all__ = ["Places", "Point"]

Point = tuple[int, int]
"""Row from 1, column from 0 in characters."""

STARRED = (cst.StarredElement, cst.MatchStar)

Made = TypeVar("Made", bound=ast.AST)


class Places:
    """Positions of one module's nodes. libcst leaves an expression's parentheses out of its range; `outer` has them."""

    def __init__(self, ranges: Mapping[cst.CSTNode, Any], lines: list[str]) -> None:
        self._ranges = ranges
        self._lines = lines

    def start(self, node: cst.CSTNode) -> Point:
        """Where a node begins, inside its parentheses."""
        at = self._ranges[node].start
        return at.line, at.column

    def end(self, node: cst.CSTNode) -> Point:
        """Where a node ends, inside its parentheses."""
        at = self._ranges[node].end
        return at.line, at.column

    def outer_start(self, node: cst.CSTNode) -> Point:
        """Where a node begins, its parentheses included."""
        lpar: Sequence[cst.LeftParen] = getattr(node, "lpar", ())
        return self.start(lpar[0] if lpar else node)

    def outer_end(self, node: cst.CSTNode) -> Point:
        """Where a node ends, its parentheses included."""
        rpar: Sequence[cst.RightParen] = getattr(node, "rpar", ())
        return self.end(rpar[-1] if rpar else node)

    def listed(
        self, elements: Sequence[Any], lpar: Sequence[Any] = (), rpar: Sequence[Any] = ()
    ) -> tuple[Point, Point]:
        """Start and end of a tuple: `ast` counts the innermost parentheses to it and, without any, the last comma."""
        if lpar:
            return self.start(lpar[-1]), self.end(rpar[0])
        first, last = elements[0], elements[-1]
        start = self.start(first) if isinstance(first, STARRED) else self.outer_start(first.value)
        if isinstance(last.comma, cst.Comma):
            return start, self.end(last.comma)
        return start, self.end(last) if isinstance(last, STARRED) else self.outer_end(last.value)

    def put(self, made: Made, start: Point, end: Point) -> Made:
        """Give a node its place (`ast` counts columns in bytes of UTF-8)."""
        node: Any = made
        node.lineno, node.end_lineno = start[0], end[0]
        node.col_offset = self._bytes(start)
        node.end_col_offset = self._bytes(end)
        return made

    def over(self, made: Made, node: cst.CSTNode) -> Made:
        """Give a node the place of the libcst node it was made from."""
        return self.put(made, self.start(node), self.end(node))

    def _bytes(self, point: Point) -> int:
        row, column = point
        line = self._lines[row - 1] if row <= len(self._lines) else ""
        return column if line.isascii() else len(line[:column].encode("utf-8", "surrogatepass"))

    def _characters(self, row: int, column: int) -> int:
        line = self._lines[row - 1] if row <= len(self._lines) else ""
        return (
            column if line.isascii() else len(line.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore"))
        )
