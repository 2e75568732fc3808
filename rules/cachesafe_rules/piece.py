"""A few rows of a file as a libcst tree, with the places of its nodes in the whole file."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import libcst as cst

__all__ = ["Block", "Comment", "Piece", "Range"]

# (row, column, end row, end column), all from 1, columns in characters, the end behind the last character.
Range = tuple[int, int, int, int]


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
