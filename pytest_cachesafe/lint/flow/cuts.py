"""Text that is cut at a marker: `text[: text.find(TAIL)]` keeps what stands before it.

Whoever writes a marker between the part of a prompt that stays and the part that changes, and cuts there before the
request goes out, has put what changes elsewhere. What is left is not known to change.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.marks import marks_of, vote
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import ListShape

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["cut_at_marker", "head_is_cut"]

_FINDS = frozenset(("find", "index", "rfind", "rindex"))
_PARTS = frozenset(("split", "partition", "rsplit", "rpartition"))


def cut_at_marker(engine: Engine, frame: Frame, node: ast.Subscript) -> bool:
    """Whether a subscript is what stands before a marker."""
    part = node.slice
    if isinstance(part, ast.Slice):
        return part.lower is None and part.step is None and _is_found(engine, frame, part.upper)
    call = node.value
    return (
        isinstance(part, ast.Constant)
        and part.value == 0
        and isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in _PARTS
        and bool(call.args)
        and _is_constant(call.args[0])
    )


def _is_found(engine: Engine, frame: Frame, end: ast.expr | None) -> bool:
    """`text.find(TAIL)`, or a name that was given this value in the function."""
    if isinstance(end, ast.Call):
        return isinstance(end.func, ast.Attribute) and end.func.attr in _FINDS and _marks(end)
    if not isinstance(end, ast.Name) or frame.function is None:
        return False
    return any(
        isinstance(inner, ast.Assign)
        and isinstance(inner.value, ast.Call)
        and any(isinstance(target, ast.Name) and target.id == end.id for target in inner.targets)
        and _is_found(engine, frame, inner.value)
        for stmt in engine.node(frame.function).body
        for inner in ast.walk(stmt)
    )


def _marks(call: ast.Call) -> bool:
    return bool(call.args) and _is_constant(call.args[0])


def _is_constant(node: ast.expr) -> bool:
    """A constant by its name: a text that only this program writes."""
    last = dotted_name(node).rpartition(".")[2] if isinstance(node, (ast.Name, ast.Attribute)) else ""
    return len(last) > 3 and last.lstrip("_").isupper()


def head_is_cut(engine: Engine, frame: Frame, target: ast.expr, node: ast.expr) -> None:
    """`messages[0]["content"] = text[: text.find(TAIL)]`: what was put into the first message before is not sent."""
    while isinstance(target, ast.Subscript) and not _is_first(target):
        target = target.value
    while isinstance(target, ast.Subscript) and isinstance(target.value, ast.Subscript):
        target = target.value
    if not isinstance(target, ast.Subscript) or not _is_first(target):
        return
    if not any(isinstance(part, ast.Subscript) and cut_at_marker(engine, frame, part) for part in ast.walk(node)):
        return
    shape = evaluate(engine, frame, target.value).shape
    if isinstance(shape, ListShape) and shape.items:
        for mark in marks_of(shape.items[0]):
            vote(engine, frame, mark, "tail")


def _is_first(node: ast.Subscript) -> bool:
    return isinstance(node.slice, ast.Constant) and node.slice.value == 0
