"""Statements that define names: functions, classes, imports."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.imports import make_class
from pytest_cachesafe.lint.flow.module import FunctionInfo
from pytest_cachesafe.lint.flow.values import Cls, Func, Lazy, Value

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["define_class", "define_function", "import_from", "import_modules"]


def define_function(engine: Engine, frame: Frame, stmt: Any) -> None:
    """`def name(…): …`; bound before the body of a module runs, see `hoist`."""
    for decorator in stmt.decorator_list:
        if isinstance(decorator, ast.Call):
            evaluate(engine, frame, decorator)
    if frame.function is None and frame.parent is None and _is_hoisted(frame, stmt):
        return
    info = FunctionInfo(
        stmt,
        frame.module,
        f"{frame.qualname}.{stmt.name}" if frame.qualname else stmt.name,
        None,
        frame if frame.function is not None else None,
    )
    info.is_tool = engine.tables.is_tool_function(info.decorators)
    engine.fresh.append(info)
    if frame.function is not None:
        frame.nested.append(info)
    else:
        frame.module.functions.append(info)
    frame.env[stmt.name] = Value(shape=Func((info,)))


def _is_hoisted(frame: Frame, stmt: Any) -> bool:
    known = frame.env.get(stmt.name)
    shape = known.shape if known is not None else None
    return isinstance(shape, Func) and any(f.row == stmt.lineno and f.module is frame.module for f in shape.functions)


def define_class(engine: Engine, frame: Frame, stmt: ast.ClassDef) -> None:
    """`class Name: …`."""
    known = frame.env.get(stmt.name)
    shape = known.shape if known is not None else None
    if isinstance(shape, Cls) and shape.cls.row == stmt.lineno and shape.cls.module is frame.module:
        return
    qualname = f"{frame.qualname}.{stmt.name}" if frame.qualname else stmt.name
    frame.env[stmt.name] = Value(shape=Cls(make_class(engine, stmt, frame.module, qualname)))


def import_modules(engine: Engine, frame: Frame, stmt: ast.Import) -> None:
    """`import a.b as c`: the module is not read before somebody asks for it."""
    for alias in stmt.names:
        if alias.asname is not None or "." not in alias.name:
            frame.env[alias.asname or alias.name] = Value(shape=Lazy(alias.name, 0, None))
        else:
            first = alias.name.split(".", 1)[0]
            frame.env.setdefault(first, Value(shape=Lazy(first, 0, None)))
            frame.env[alias.name] = Value(shape=Lazy(alias.name, 0, None))


def import_from(engine: Engine, frame: Frame, stmt: ast.ImportFrom) -> None:
    """`from a import b`; star imports are asked for names that are bound nowhere else."""
    dotted = stmt.module or ""
    for alias in stmt.names:
        if alias.name != "*":
            frame.env[alias.asname or alias.name] = Value(shape=Lazy(dotted, stmt.level, alias.name))
            continue
        frame.module.stars.append((dotted, stmt.level))
