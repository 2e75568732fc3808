"""The text of a file without its documentation: examples there use every word that real requests use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_cachesafe.lint.parse import Parsed

__all__ = ["code_of"]


def code_of(parsed: Parsed) -> bytes | None:
    """The file without the inner rows of its docstrings, in UTF-8; None where there are no such rows.

    The first and the last row of a docstring may hold code as well, so they stay.
    """
    if parsed.tree is None:
        return None
    kept: list[str] = []
    at = 0
    lines = parsed.lines
    for first, last in _docstrings(parsed.tree):
        if last - first > 1:
            kept += lines[at:first]
            at = last - 1
    if not at:
        return None
    kept += lines[at:]
    return "\n".join(kept).encode("utf-8", "surrogatepass")


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """First and last row of each, in order."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        body = getattr(node, "body", ())
        inner = [child for child in body if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))]
        stack += reversed(inner)
        first = body[0] if body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            yield first.lineno, first.end_lineno or first.lineno
