"""Values of subscripts: items, slices, cut ISO times."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow.atoms import merge, volatile_atoms
from pytest_cachesafe.lint.flow.cuts import cut_at_marker
from pytest_cachesafe.lint.flow.derive import cut, first_match, item_of, iterated
from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.kept_state import state_item
from pytest_cachesafe.lint.flow.marks import marks_of, vote
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.personal import environment, personal_item
from pytest_cachesafe.lint.flow.places import of_field
from pytest_cachesafe.lint.flow.present import present_item
from pytest_cachesafe.lint.flow.requested import request_item
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    Bound,
    Const,
    DictShape,
    Ext,
    ListShape,
    ParamShape,
    PartShape,
    TextFile,
    Value,
    join_all,
)

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["evaluate_subscript"]

# ISO 8601: how much of it is left.
_ISO = {4: "year", 7: "month", 10: "day", 13: "hour", 16: "minute", 19: "second"}


def evaluate_subscript(engine: Engine, frame: Frame, node: ast.Subscript) -> Value:
    """`owner[index]`."""
    spelt = _subscript_name(node)
    if spelt:
        written = frame.lookup(spelt)
        if written is not None:
            return written
    looked = (engine, frame, node, node.value, node.slice)
    brought = request_item(*looked) or state_item(*looked)
    if brought is not None:
        return brought
    owner = evaluate(engine, frame, node.value)
    index = evaluate(engine, frame, node.slice) if not isinstance(node.slice, ast.Slice) else NOTHING
    if isinstance(owner.shape, Ext) and owner.shape.dotted == "os.environ":
        return environment(engine, frame, node, index)
    if any(a.source is not None for a in owner.atoms.values()):
        if cut_at_marker(engine, frame, node):
            for mark in marks_of(owner):
                # The name it goes by stands for the text that is still whole.
                vote(engine, frame, mark, "behind")
            return NOTHING
        granularity = _sliced(node)
        if granularity is not None:
            return cut(Value(volatile_atoms(merge(owner.atoms, owner.latent))), granularity)
    elif (
        isinstance(index.shape, Const)
        and isinstance(index.shape.value, str)
        and (owner.shape is None or isinstance(owner.shape, (ParamShape, PartShape, Ext, Bound)))
    ):
        key = index.shape.value
        personal = personal_item(engine, frame, node, key) or present_item(engine, frame, node, key)
        if personal is not None:
            return personal
        if engine.tables.is_system_name(index.shape.value):
            # A prompt out of a table that was read from somewhere.
            return Value(shape=TextFile(index.shape.value))
    if isinstance(index.shape, Const):
        key = index.shape.value
        if isinstance(owner.shape, DictShape) and isinstance(key, str):
            return owner.shape.fields.get(key) or Value(volatile_atoms(owner.atoms))
        if (
            isinstance(owner.shape, ListShape)
            and isinstance(key, int)
            and owner.shape.exact
            and -len(owner.shape.items) <= key < len(owner.shape.items)
        ):
            return owner.shape.items[key]
        if isinstance(owner.shape, ListShape) and key == -1 and len(owner.shape.items) > 1:
            # `[system, *history][-1]`: whatever it is, not what the list begins with.
            return join_all(list(owner.shape.items[1:]))
    if isinstance(owner.shape, DictShape):
        # A table of functions or texts, chosen by a key that is only known at run time.
        chosen = join_all(list(owner.shape.fields.values()))
        return Value(merge(volatile_atoms(chosen.atoms), volatile_atoms(owner.atoms)), chosen.shape, chosen.latent)
    if isinstance(owner.shape, ListShape):
        if isinstance(node.slice, ast.Slice):
            return Value(owner.atoms, ListShape(owner.shape.items, False), owner.latent)
        return iterated(owner)
    named = isinstance(index.shape, Const) and isinstance(index.shape.value, str)
    atoms = of_field(volatile_atoms(owner.atoms)) if named else volatile_atoms(merge(owner.atoms, owner.latent))
    if not atoms:
        return NOTHING
    positional = isinstance(node.slice, (ast.Slice, ast.UnaryOp)) or (
        isinstance(index.shape, Const) and isinstance(index.shape.value, int)
    )
    if positional and not isinstance(node.slice, ast.Slice):
        return first_match(Value(atoms))
    return Value(atoms) if positional else item_of(Value(atoms))


def _sliced(node: ast.Subscript) -> str | None:
    """What is left of an ISO time after `[:10]` or `.split("T")[0]`."""
    part = node.slice
    if isinstance(part, ast.Slice):
        start = part.lower is None or (isinstance(part.lower, ast.Constant) and part.lower.value == 0)
        end = part.upper.value if isinstance(part.upper, ast.Constant) else None
        return _ISO.get(end) if start and part.step is None and isinstance(end, int) else None
    split = node.value
    if (
        isinstance(split, ast.Call)
        and isinstance(split.func, ast.Attribute)
        and split.func.attr in ("split", "partition")
    ):
        first = split.args[0] if split.args else None
        zero = isinstance(part, ast.Constant) and part.value == 0
        return (
            "day"
            if zero and (first is None or (isinstance(first, ast.Constant) and first.value in ("T", " ")))
            else None
        )
    return None


def _subscript_name(node: ast.Subscript) -> str:
    if isinstance(node.slice, ast.Constant) and isinstance(node.value, (ast.Name, ast.Attribute)):
        return f"{dotted_name(node.value)}[{node.slice.value!r}]"
    return ""
