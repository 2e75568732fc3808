"""Sequences that a caller hands over: what a loop over one has of its order, and one that is sorted first.

Noted where else the key stands under which a part of a parameter was read; a caller's set has its order then.
"""

from __future__ import annotations

import ast
from types import NoneType

from pytest_cachesafe.lint.flow.atoms import EMPTY, ORDER_PART, SORTED_PART, Atoms
from pytest_cachesafe.lint.flow.values import Const, ParamShape, Value

__all__ = ["handed_order", "is_row_of_text", "sorted_part"]

# Calls that write a text of an element.
_WRITES = frozenset(("str", "repr", "format", "join", "strip", "upper", "lower", "title", "dumps", "render", "escape"))


def is_row_of_text(node: ast.expr, value: Value) -> bool:
    """Whether what one round of a loop adds is seen to be text: of a list of records or schemas each is read by itself,
    and whoever takes them may put them in order."""
    if not isinstance(value.shape, (Const, NoneType)):
        return False
    if isinstance(node, ast.Call):
        return (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) in _WRITES
    return isinstance(node, (ast.JoinedStr, ast.BinOp, ast.Name))


def handed_order(value: Value) -> Atoms:
    """The order in which the elements of a parameter come; nothing for any other value."""
    return _noted(value, ORDER_PART)


def sorted_part(value: Value) -> Atoms:
    """A parameter whose elements were put in order; nothing for any other value."""
    return _noted(value, SORTED_PART)


def _noted(value: Value, part: str) -> Atoms:
    if not isinstance(value.shape, ParamShape) or len(value.atoms) != 1:
        return EMPTY
    ((key, atom),) = value.atoms.items()
    if atom.source is not None or atom.mark is not None or len(key) != 3:
        return EMPTY
    return {(*key, part): atom._replace(key=(*key, part))}
