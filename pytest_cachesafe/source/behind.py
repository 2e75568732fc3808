"""A value that opens a prompt has no text in front of it: the line that wrote it is known by the text behind it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from pytest_cachesafe.source.pieces import Piece

__all__ = ["constants", "openings"]


def constants(source: str) -> dict[str, str]:
    """Names at the top of a Python file that stand for text, with how that text begins."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for node in _body(source):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            twice |= {name} & found.keys()
            found[name] = _begins(node.value, {})
    # Of a name that is given twice it is not known what it stands for.
    return {name: text for name, text in found.items() if text and name not in twice}


def openings(source: str, names: Mapping[str, str]) -> Iterator[Piece]:
    """Values that open a text, each with the literal text that follows it.

    Args:
        names: what constants of the project begin with.
    """
    for top in _body(source):
        for node in ast.walk(top):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
                left, text = node.left, _begins(node.right, names)
                if text and isinstance(left, (ast.Call, ast.Name, ast.Attribute)):
                    yield Piece(text, left.lineno, ast.unparse(left))
            elif isinstance(node, ast.JoinedStr) and isinstance(
                node.values[0] if node.values else None, ast.FormattedValue
            ):
                value, text = node.values[0], ""
                for part in node.values[1:]:
                    more = _begins(part.value if isinstance(part, ast.FormattedValue) else part, names)
                    text += more
                    if not more or isinstance(part, ast.FormattedValue):
                        break
                if text and isinstance(value, ast.FormattedValue):
                    yield Piece(text, value.value.lineno, ast.unparse(value.value))


def _begins(node: ast.expr, names: Mapping[str, str]) -> str:
    """The literal text that an expression begins with, as far as it is plain."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):
        return _begins(node.left, names)
    if isinstance(node, ast.JoinedStr) and node.values:
        return _begins(node.values[0], names)
    return ""


def _body(source: str) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return []
