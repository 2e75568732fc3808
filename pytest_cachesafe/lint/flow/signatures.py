"""Signatures of functions as text: a default without text of its own is shown with its address."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow.atoms import EMPTY
from pytest_cachesafe.lint.flow.derive import ANY_KEY
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.text import is_bare
from pytest_cachesafe.lint.flow.values import NOTHING, Cls, DictShape, Func, ParamShape, Value

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.module import FunctionInfo

__all__ = ["signature_of"]


def signature_of(engine: Engine, frame: Frame, node: ast.Call, function: Value) -> Value:
    """`inspect.signature(function)`: as a whole and by the defaults of its parameters. Of a function that is a
    parameter those of the file are asked that are handed on in it."""
    shape = function.shape
    if isinstance(shape, Func):
        asked = list(shape.functions)
    elif isinstance(shape, ParamShape) and frame.function is not None:
        asked = [one for one in frame.module.functions if one is not frame.function and _is_handed(engine, frame, one)]
    else:
        return NOTHING
    if not any(_shows_address(engine, one) for one in asked):
        return NOTHING
    address = engine.source(frame, node, "repr", "process", "a default value in the signature")
    parameter = Value(EMPTY, DictShape({"default": address, "name": NOTHING, "annotation": NOTHING, "kind": NOTHING}))
    return Value(EMPTY, DictShape({"parameters": Value(EMPTY, DictShape({ANY_KEY: parameter}))}))


def _shows_address(engine: Engine, function: FunctionInfo) -> bool:
    arguments = engine.node(function).args
    env = engine.run_module(function.module)
    for default in (*arguments.defaults, *arguments.kw_defaults):
        made = default
        if isinstance(default, ast.Name):
            # `MISSING = object()`
            made = next((s.value for s in function.module.body if isinstance(s, ast.Assign)
                         and any(dotted_name(t) == default.id for t in s.targets)), None)  # fmt: skip
        if not isinstance(made, ast.Call):
            continue
        name = dotted_name(made.func)
        known = env.get(name)
        if name == "object" or (known is not None and isinstance(known.shape, Cls) and is_bare(engine, known.shape.cls)):
            return True
    return False


def _is_handed(engine: Engine, frame: Frame, function: FunctionInfo) -> bool:
    """Whether the name of a function stands in a call of the one around, or in a list beside such a call."""
    around = frame.function
    if around is None or function.cls is not None:
        return False
    bodies = [*frame.module.body, *(s for one in frame.module.functions for s in engine.node(one).body)]
    for stmt in bodies:
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        calls = {dotted_name(c.func) for c in ast.walk(stmt) if isinstance(c, ast.Call)}
        names = {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name)}
        if around.name in calls and function.name in names:
            return True
    return False
