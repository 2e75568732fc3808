"""Literal text in front of a placeholder: f-strings, `format`, `%`, concatenation, template files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Piece", "python_pieces", "template_pieces"]

# `{name}` but not `{{`, `%s` and `%(name)s` but not `%%`, `$name`.
_FIELD = re.compile(r"(?<!\{)\{[^{}]*\}|%(?:\(\w+\))?[#0 +-]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa]|\$\{?\w+\}?")
# Of `strftime`.
_TIME = re.compile(r"(?<!%)%[-#]?[A-Za-z]")
_TEMPLATE_FIELD = re.compile(r"\{\{.*?\}\}|(?<!\{)\{\w+\}", re.DOTALL)


class Piece(NamedTuple):
    """Literal text, the row (from 1) of the value that follows it, and that value's source."""

    text: str
    row: int
    value: str


def python_pieces(source: str) -> Iterator[Piece]:
    """Pieces of a Python file; nothing where it does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield from _joined(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            text = _last_text(node.left)
            if text and not isinstance(node.right, (ast.Constant, ast.JoinedStr)):
                yield Piece(text, node.right.lineno, _source(node.right))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 100_000:
            yield from _fields(node)
        elif isinstance(node, ast.Call) and _name(node.func) == "strftime":
            for given in node.args:
                text = given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else ""
                found = _TIME.search(text)
                if found is not None and found.start():
                    yield Piece(text[: found.start()], node.lineno, _source(node))


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _joined(node: ast.JoinedStr) -> Iterator[Piece]:
    text = ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += str(part.value)
        elif isinstance(part, ast.FormattedValue):
            if text:
                yield Piece(text, part.value.lineno, _source(part.value))
            text = ""


def _last_text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _last_text(node.right)
    if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[-1], ast.Constant):
        return str(node.values[-1].value)
    return ""


def _fields(node: ast.Constant) -> Iterator[Piece]:
    text: str = node.value  # type: ignore[assignment]
    if "{" not in text and "%" not in text and "$" not in text:
        return
    at = 0
    for match in _FIELD.finditer(text):
        piece = text[at : match.start()]
        if piece:
            yield Piece(piece, node.lineno + text.count("\n", 0, match.start()), match[0])
        at = match.end()


def template_pieces(source: str) -> Iterator[Piece]:
    """Pieces of a template file (Jinja, or text with `{name}` in it)."""
    at = 0
    for match in _TEMPLATE_FIELD.finditer(source):
        piece = source[at : match.start()]
        # A block between the text and the value: what is rendered there is not known.
        piece = piece.rpartition("%}")[2]
        if piece:
            yield Piece(piece, source.count("\n", 0, match.start()) + 1, match[0])
        at = match.end()


def _source(node: ast.expr) -> str:
    return ast.unparse(node)
