"""Statements that always leave their block, and what of a block is reached before them."""

from __future__ import annotations

import ast

__all__ = ["ends_function", "leaves", "reached"]

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_MAY_LEAVE = (*_LEAVES, ast.If, ast.While)
_GOES_ON = (ast.Break, ast.Continue, ast.While)
# The parts of a statement that hold statements.
_PARTS = ("body", "orelse", "finalbody", "handlers", "cases")
# A break inside them is theirs, or that of a function of its own.
_OWN_BREAKS = (ast.For, ast.AsyncFor, ast.While)
_OTHERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)


def reached(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a block that can run: none behind one that always leaves it."""
    for i, stmt in enumerate(body):
        if isinstance(stmt, _MAY_LEAVE) and _always(stmt):
            return body if i + 1 == len(body) else body[: i + 1]
    return body


def ends_function(body: list[ast.stmt]) -> bool:
    """Whether a block never gets to its end, nothing in it goes on with a loop around it, and it has no loop that an
    exception may end."""
    if not leaves(body):
        return False
    # No statement stands in an expression.
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, _GOES_ON):
            return False
        for part in _PARTS:
            stack += getattr(node, part, ())
    return True


def leaves(body: list[ast.stmt]) -> bool:
    """Whether the end of a block is never reached."""
    return any(isinstance(stmt, _MAY_LEAVE) and _always(stmt) for stmt in body)


def _always(stmt: ast.stmt) -> bool:
    if isinstance(stmt, _LEAVES):
        return True
    if isinstance(stmt, ast.While):
        return isinstance(stmt.test, ast.Constant) and bool(stmt.test.value) and not _breaks(stmt.body)
    # A long chain of `elif` is nested in the tree, so it is followed in a loop.
    while isinstance(stmt, ast.If):
        if not stmt.orelse or not leaves(stmt.body):
            return False
        if len(stmt.orelse) > 1 or not isinstance(stmt.orelse[0], ast.If):
            return leaves(stmt.orelse)
        stmt = stmt.orelse[0]
    return False


def _breaks(body: list[ast.stmt]) -> bool:
    """Whether a loop with this body may be left by `break`."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, _OWN_BREAKS):
            stack += node.orelse
        elif not isinstance(node, _OTHERS):
            stack += ast.iter_child_nodes(node)
    return False
