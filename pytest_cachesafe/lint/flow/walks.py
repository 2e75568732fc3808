"""Loops that walk down into a dict by the parts of a path: `for part in path.split("."): found = found[part]`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.lint.flow.atoms import under
from pytest_cachesafe.lint.flow.records import SOME_KEY, told
from pytest_cachesafe.lint.flow.substitute import part_of
from pytest_cachesafe.lint.flow.values import DictShape, ParamShape, PartShape, Value

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["beneath", "walked"]


def walked(loop: Any) -> frozenset[str]:
    """The names of what each round takes its own part of."""
    if not isinstance(loop.target, ast.Name):
        return frozenset()
    found = set()
    stack: list[ast.stmt] = list(loop.body)
    while stack:
        stmt = stack.pop()
        if isinstance(stmt, ast.If):
            stack += [*stmt.body, *stmt.orelse]
        elif isinstance(stmt, ast.Try):
            stack += stmt.body
        elif isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], ast.Name):
            name = stmt.targets[0].id
            if _takes(stmt.value, name, loop.target.id):
                found.add(name)
    return frozenset(found)


def _takes(value: ast.expr, name: str, part: str) -> bool:
    """`name[part]`, `name.get(part)`."""
    if isinstance(value, ast.BoolOp):
        value = value.values[0]
    elif isinstance(value, ast.IfExp):
        value = value.body
    if isinstance(value, ast.Subscript):
        owner, key = value.value, value.slice
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.args:
        if value.func.attr != "get":
            return False
        owner, key = value.func.value, value.args[0]
    else:
        return False
    return isinstance(owner, ast.Name) and owner.id == name and isinstance(key, ast.Name) and key.id == part


def beneath(frame: Frame, names: frozenset[str]) -> dict[str, Value]:
    """These names as the first part of a path leaves them."""
    held = ((name, frame.env.get(name)) for name in names)
    return {name: _some(value) for name, value in held if value is not None}


def _some(value: Value) -> Value:
    if isinstance(value.shape, DictShape):
        return Value(value.atoms, told(value.shape), value.latent)
    if isinstance(value.shape, (ParamShape, PartShape)):
        return part_of(value, (SOME_KEY,)) or Value(under(value.atoms, (SOME_KEY,)), None, value.latent)
    return value
