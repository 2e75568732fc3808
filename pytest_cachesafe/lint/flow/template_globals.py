"""Globals of a template environment: `env.globals["now"] = datetime.now` is called whenever a text of it is rendered."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow.atoms import EMPTY, merge
from pytest_cachesafe.lint.flow.binding import bind
from pytest_cachesafe.lint.flow.callables import called
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import Const, DictShape, Lambda, Value

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["global_set", "globals_updated", "text_with_globals"]


def global_set(engine: Engine, frame: Frame, target: ast.expr, value: Value) -> bool:
    """Whether a target is a global of an environment, which is noted then."""
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Constant):
        return False
    owner, key = target.value, target.slice.value
    if not isinstance(owner, ast.Attribute) or owner.attr != "globals" or not isinstance(key, str):
        return False
    _note(engine, frame, owner, {key: value})
    return True


def globals_updated(engine: Engine, frame: Frame, node: ast.Call, arguments: Arguments) -> bool:
    """The same of `env.globals.update(now=datetime.now)`."""
    function = node.func
    if not isinstance(function, ast.Attribute) or function.attr != "update":
        return False
    owner = function.value
    if not isinstance(owner, ast.Attribute) or owner.attr != "globals":
        return False
    given = {name: value for name, (value, _) in arguments.keywords.items()}
    for one in arguments.positional:
        given |= one.shape.fields if isinstance(one.shape, DictShape) else {}
    _note(engine, frame, owner, given)
    return True


def _note(engine: Engine, frame: Frame, owner: ast.Attribute, given: dict[str, Value]) -> None:
    known = frame.lookup(dotted_name(owner))
    fields = known.shape.fields if known is not None and isinstance(known.shape, DictShape) else {}
    bind(engine, frame, owner, Value(EMPTY, DictShape({**fields, **given})), mutated=True)


def text_with_globals(engine: Engine, frame: Frame, node: ast.Call, arguments: Arguments) -> Value | None:
    """`env.from_string(text)`, where the text names globals of its environment; None for any other text."""
    if not isinstance(node.func, ast.Attribute) or not arguments.positional:
        return None
    name = f"{dotted_name(node.func.value)}.globals"
    env = frame.module.env or {}
    known = frame.lookup(name) or env.get(name)
    text = arguments.positional[0].shape
    if known is None or not isinstance(known.shape, DictShape):
        return None
    if not isinstance(text, Const) or not isinstance(text.value, str):
        return None
    atoms = arguments.positional[0].atoms
    # Rendered later on, and as often as somebody asks.
    frozen, frame.frozen = frame.frozen, False
    for key, value in known.shape.fields.items():
        named = re.search(rf"\{{[{{%][^}}]*?(?<![\w.\"'])" + re.escape(key) + r"\b(\s*\()?", text.value)
        if named is not None:
            found = called(engine, frame, value, node).all_atoms() if named[1] else value.atoms
            atoms = merge(atoms, found)
    frame.frozen = frozen
    return Value(shape=Lambda(Value(atoms))) if atoms else None
