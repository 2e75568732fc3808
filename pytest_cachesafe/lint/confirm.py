"""A report's place, confirmed on a second parser's tree; and the rows where a comment may silence it.

The flow analysis works on Python's own syntax tree. Before a finding is shown, its place is looked up on libcst's tree
of the same text: a report at a place that holds no code is a fault of ours and is dropped. Only files with a report
get here, and of a long file only the statement around the report is read.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.concrete import Comment, Concrete, Piece, Range, range_of, read
from cachesafe_rules.model import Span
from pytest_cachesafe.lint.parse import long_tree

if TYPE_CHECKING:
    import libcst as cst

__all__ = ["Comment", "Located"]


class Located:
    """One file in which something was reported.

    `text` has no byte order mark; `tree` is its syntax tree where the caller has it. Where Python cannot parse the text
    and no tree is given, or libcst cannot, places are believed as they are and comments come from `tokenize`.
    """

    def __init__(self, text: str, filename: str, tree: ast.Module | None = None) -> None:
        self.filename = filename
        # Shared with the rules' fixes, which are asked for next.
        self.concrete = read(text, long_tree) if tree is None else Concrete(text, tree)

    @property
    def rows(self) -> list[str]:
        """The rows of the file, without their line ends."""
        return self.concrete.rows

    def comment(self, row: int) -> Comment | None:
        """The comment of a row; a `#` inside a string is none."""
        return self.concrete.comment(row)

    def first_row(self) -> int | None:
        """The row of the first statement that is not the docstring; None where there is none."""
        body = self.concrete.tree.body if self.concrete.tree is not None else []
        documented = bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        rest = body[1:] if documented else body
        return min([rest[0].lineno, *(d.lineno for d in getattr(rest[0], "decorator_list", ()))]) if rest else None

    def confirm(self, span: Span) -> Span | None:
        """The place of the statement or expression that a report means; None where there is no code.

        A place that is exactly that of a node, or of a run of whole statements, is returned as it is. Otherwise it is
        the innermost statement or expression that covers the given one; for the head of a compound statement
        (`def`, `if`, `with`), its head alone.
        """
        wanted = self._trimmed(range_of(span))
        if wanted is None:
            return None
        if self.concrete.tree is None:
            return span
        block = self.concrete.block(wanted[0], wanted[2])
        if block is None:
            return None
        piece = self.concrete.piece(block)
        if piece is None:
            return span
        found = self._find(piece, wanted)
        return None if found is None else Span(span.filename, *found)

    def comment_rows(self, span: Span) -> tuple[frozenset[int], frozenset[int]]:
        """The rows whose comments silence a report at `span`: those of the place, and those of the function around.

        Of the place: every row of the reported code, and the first and the last row of its statement; for a compound
        statement the rows of its head instead. Of the function: the rows of the head of the innermost `def` around it,
        decorators included, because a function has one report for all its sources.
        """
        piece = self.concrete.at(span.row, span.row) if self.concrete.tree is not None else None
        if piece is None:
            return frozenset(range(span.row, span.end_row + 1)), frozenset()
        statement, function = _around(piece, self._trimmed(range_of(span)) or range_of(span))
        head = frozenset(_rows(*piece.head(function))) if function is not None else frozenset()
        if statement is None:
            return frozenset(_rows(span.row, span.end_row)), head
        first, _, last, _ = piece.place(statement)
        if _has_body(statement):
            return frozenset(_rows(*piece.head(statement))) | {span.row}, head
        return frozenset((*_rows(span.row, min(span.end_row, last)), first, last)), head

    def _trimmed(self, span: Range) -> Range | None:
        """The span without the blanks at its ends, one character at least; None where it holds nothing else."""
        try:
            start, end = self.concrete.offset(*span[:2]), self.concrete.offset(*span[2:])
        except IndexError:
            return None
        text = self.concrete.text
        if end <= start:
            # A place without a length means the code that begins there, or behind the indentation.
            end = start + len(self.rows[span[0] - 1]) - span[1] + 1
            found = text[start:end]
            if not found.strip():
                return None
            column = span[1] + len(found) - len(found.lstrip())
            return span[0], column, span[0], column + 1
        row, column, end_row, end_column = span
        while row <= end_row and not self.rows[row - 1][column - 1 :].strip():
            row, column = row + 1, 1
        while end_row >= row and not self.rows[end_row - 1][: end_column - 1].strip():
            end_row -= 1
            end_column = len(self.rows[end_row - 1]) + 1
        if row > end_row:
            return None
        line = self.rows[row - 1]
        column += len(line[column - 1 :]) - len(line[column - 1 :].lstrip())
        end_column -= len(self.rows[end_row - 1][: end_column - 1]) - len(
            self.rows[end_row - 1][: end_column - 1].rstrip()
        )
        return (row, column, end_row, end_column) if (row, column) < (end_row, end_column) else None

    def _find(self, piece: Piece, wanted: Range) -> Range | None:
        if piece.exact(wanted):
            return wanted
        row, column, end_row, end_column = wanted
        code = self.concrete.code(wanted)
        # A generator that is a call's only argument has the call's parentheses in Python's tree, and none in libcst's.
        if code[0] == "(" and code[-1] == ")":
            bare = self._trimmed((row, column + 1, end_row, end_column - 1))
            if bare is not None and piece.exact(bare):
                return wanted
        node = piece.smallest(wanted)
        if node is not None and not _has_body(node):
            return piece.place(node)
        starts = {place[:2] for place, node in piece.nodes if _is_statement(node)}
        ends = {place[2:] for place, node in piece.nodes if _is_statement(node)}
        if wanted[:2] in starts and wanted[2:] in ends:
            return wanted
        if node is None:
            return None
        first, last = piece.head(node)
        if end_row > last or (
            end_row == last and "#" in self.rows[last - 1][: end_column - 1] and self._in_comment(wanted)
        ):
            return None
        start = piece.place(node)[:2] if piece.place(node)[0] <= row else (first, 1)
        line = self.rows[last - 1]
        comment = self.comment(last)
        line = (line[: comment.column - 1] if comment else line).rstrip()
        return (*start, last, len(line) + 1)

    def _in_comment(self, wanted: Range) -> bool:
        comment = self.comment(wanted[0])
        return comment is not None and wanted[1] >= comment.column


def _around(piece: Piece, span: Range) -> tuple[cst.CSTNode | None, cst.CSTNode | None]:
    """The innermost statement and the innermost function that hold the first character of a span."""
    import libcst as cst

    start = span[:2]
    statement: cst.CSTNode | None = None
    for place, node in piece.nodes:
        first = (piece.head(node)[0], 1) if isinstance(node, cst.FunctionDef | cst.ClassDef) else place[:2]
        if not (first <= start < place[2:]) or not _is_statement(node):
            continue
        if statement is None:
            statement = node
        if isinstance(node, cst.FunctionDef) and node is not statement:
            return statement, node
    return statement, None


def _is_statement(node: cst.CSTNode) -> bool:
    import libcst as cst

    return isinstance(node, cst.BaseStatement | cst.BaseSmallStatement)


def _has_body(node: cst.CSTNode) -> bool:
    import libcst as cst

    return isinstance(node, cst.BaseCompoundStatement)


def _rows(first: int, last: int) -> range:
    return range(first, last + 1)
