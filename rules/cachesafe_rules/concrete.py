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
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import libcst as cst

    from cachesafe_rules.model import Span

__all__ = ["Comment", "Concrete", "Piece", "Range", "read", "split_rows"]

# (row, column, end row, end column), all from 1, columns in characters, the end behind the last character.
Range = tuple[int, int, int, int]

# Up to this many rows a statement is read as it is; a longer class or branch is entered, to read one of its statements.
_ENOUGH = 300
# A single statement longer than this costs more than a second: the given place is trusted.
_TOO_LONG = 4000
# libcst's parser recurses in native code and takes the process down (seen at 10,000 terms); Python's parser does not.
_TOO_DEEP = 180
_NEWLINE = re.compile(r"\r\n?|\n")


class Comment(NamedTuple):
    """A comment; `text` begins with its `#`."""

    row: int
    column: int
    text: str


class Block(NamedTuple):
    """Whole rows that hold whole statements."""

    first: int
    last: int
    nested: bool
    statements: tuple[ast.stmt, ...]


def split_rows(text: str) -> list[str]:
    """The rows without their line ends, split where Python's tokenizer does (not at form feeds)."""
    return _NEWLINE.split(text)


class Piece:
    """Some rows of a file as a libcst tree, with the places of its nodes in the file."""

    def __init__(self, source: str, block: Block) -> None:
        """Read `source`, the text of the block's rows.

        Raises:
            libcst.ParserSyntaxError, RecursionError: libcst cannot read it.
        """
        import libcst as cst
        from libcst.metadata import MetadataWrapper, PositionProvider

        head = "if 1:\n" if block.nested else ""
        wrapper = MetadataWrapper(cst.parse_module(head + source), unsafe_skip_copy=True)
        shift = block.first - (2 if block.nested else 1)
        significant = (
            cst.BaseExpression,
            cst.BaseStatement,
            cst.BaseSmallStatement,
            cst.Arg,
            cst.Param,
            cst.BaseElement,
            cst.BaseDictElement,
            cst.Decorator,
            cst.FormattedStringExpression,
        )
        self.block = block
        self.nodes: list[tuple[Range, cst.CSTNode]] = []
        self.comments: list[Comment] = []
        self._places: dict[cst.CSTNode, Range] = {}
        self._parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self._exact: dict[Range, list[cst.CSTNode]] = {}
        for node, place in wrapper.resolve(PositionProvider).items():
            row = place.start.line + shift
            if row < block.first:
                continue
            span = (row, place.start.column + 1, place.end.line + shift, place.end.column + 1)
            self._places[node] = span
            if isinstance(node, significant):
                self.nodes.append((span, node))
            elif isinstance(node, cst.Comment):
                self.comments.append(Comment(span[0], span[1], node.value))
        self.comments.sort()
        self.module = wrapper.module

    def place(self, node: cst.CSTNode) -> Range:
        """Where a node stands, without the parentheses around it."""
        return self._places[node]

    def outer(self, node: cst.CSTNode) -> Range:
        """Where an expression stands, with the parentheses around it."""
        left, right = getattr(node, "lpar", None), getattr(node, "rpar", None)
        # Of statements (classes, imports) these are single or absent, and inside their place.
        if not left or not right or not isinstance(left, list | tuple) or not isinstance(right, list | tuple):
            return self._places[node]
        return (*self._places[left[0]][:2], *self._places[right[-1]][2:])

    def exact(self, span: Range) -> list[cst.CSTNode]:
        """The nodes that stand exactly there, with or without their parentheses, the innermost first."""
        if not self._exact:
            for place, node in self.nodes:
                self._exact.setdefault(place, []).append(node)
                outer = self.outer(node)
                if outer != place:
                    self._exact.setdefault(outer, []).append(node)
        return self._exact.get(span, [])

    def smallest(self, span: Range) -> cst.CSTNode | None:
        """The innermost node that covers the span."""
        # Nodes come children first, and those that cover one place lie inside each other.
        return next((node for place, node in self.nodes if place[:2] <= span[:2] and span[2:] <= place[2:]), None)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node around a node."""
        if not self._parents:
            stack: list[cst.CSTNode] = [self.module]
            while stack:
                upper = stack.pop()
                for child in upper.children:
                    self._parents[child] = upper
                    stack.append(child)
        return self._parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """The nodes around a node, the nearest first."""
        out: list[cst.CSTNode] = []
        upper = self.parent(node)
        while upper is not None:
            out.append(upper)
            upper = self.parent(upper)
        return out

    def head(self, statement: cst.CSTNode) -> tuple[int, int]:
        """First and last row of what stands before a compound statement's body, decorators included."""
        place = self._places[statement]
        first = min([place[0], *(self._places[d][0] for d in getattr(statement, "decorators", ()))])
        body = getattr(statement, "body", None)
        header = getattr(body, "header", None) or getattr(statement, "whitespace_after_colon", None)
        if header in self._places:
            return first, self._places[header][0]
        return first, self._places[body][0] if body in self._places else place[0]


class Concrete:
    """One file's text, of which pieces are read on demand. `text` has no byte order mark."""

    def __init__(self, text: str, tree: ast.Module | None = None) -> None:
        self.text = text
        self.rows = split_rows(text)
        self.tree = tree or _parse(text)
        self._offsets: list[int] | None = None
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
            if line.lstrip().startswith("#") and self._between(row):
                column = line.index("#")
                return Comment(row, column + 1, line[column:])
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

    def _between(self, row: int) -> bool:
        """Whether a row lies between the statements of the module or of a class, where no string can be."""
        body: list[ast.stmt] = self.tree.body if self.tree else []
        while True:
            inside = _covering(body, row, row)
            if not inside:
                return True
            if len(inside) > 1 or not isinstance(inside[0], ast.ClassDef) or row < _first_row(inside[0].body[0]):
                return False
            body = inside[0].body

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


def read(text: str) -> Concrete:
    """The last text read is kept: a report's place and its fix are asked for one after the other."""
    if not _LAST or _LAST[0].text != text:
        _LAST[:] = [Concrete(text)]
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
    touched = [i for i, s in enumerate(body) if _first_row(s) <= end_row and row <= _last_row(s)]
    if not touched:
        return []
    first, last = touched[0], touched[-1]
    while first and _last_row(body[first - 1]) >= _first_row(body[first]):
        first -= 1
    while last + 1 < len(body) and _first_row(body[last + 1]) <= _last_row(body[last]):
        last += 1
    return body[first : last + 1]


def _shallow(statements: tuple[ast.stmt, ...]) -> bool:
    level: list[ast.AST] = list(statements)
    for _ in range(_TOO_DEEP):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return True
    return False
