"""Bodies of functions and classes, with symbolic parameters."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.model import Step
from cachesafe_rules.observers import is_observer, writes_down
from pytest_cachesafe.lint.flow.arrive import arrive
from pytest_cachesafe.lint.flow.atoms import Atom, merge
from pytest_cachesafe.lint.flow.binding import frozen_atoms
from pytest_cachesafe.lint.flow.classes import annotated_class, base_words
from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.execute import run_body
from pytest_cachesafe.lint.flow.frame import Frame, ParamSink
from pytest_cachesafe.lint.flow.handed_objects import only_class_with
from pytest_cachesafe.lint.flow.imports import make_class
from pytest_cachesafe.lint.flow.marks import new_mark
from pytest_cachesafe.lint.flow.requested import is_declared
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    Cls,
    Ext,
    Func,
    Lambda,
    Obj,
    ParamShape,
    RequestShape,
    Value,
    join,
)
from pytest_cachesafe.lint.tables import sinks

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.module import ClassInfo, FunctionInfo

__all__ = ["holder", "parameter", "run_class_body", "run_function"]

_BESIDE_SYSTEM = frozenset(
    ("history", "messages", "msgs", "user", "prompt", "user_prompt", "gen_conf", "query", "question")
)


def run_function(engine: Engine, function: FunctionInfo, cls: ClassInfo | None, quiet: bool = False) -> Frame:
    """Evaluate a function with symbolic parameters; `quiet` rounds leave no arrivals."""
    engine.run_module(function.module)
    frame = Frame(
        function.module, function=function, cls=cls, parent=function.env, quiet=quiet, qualname=function.qualname
    )
    _parameters(engine, frame, function, cls)
    run_body(engine, frame, engine.node(function).body)
    returned = NOTHING
    for value in frame.returned:
        returned = join(returned, value)
    frame.summary.returns = returned
    frame.summary.writes = frame.writes
    if not quiet:
        for nested in frame.nested:
            engine.summary(nested, cls)
    for nested in frame.nested:
        nested.env = None
    return frame


def _parameters(engine: Engine, frame: Frame, function: FunctionInfo, cls: ClassInfo | None) -> None:
    arguments = engine.node(function).args
    every = [*arguments.posonlyargs, *arguments.args]
    defaults: dict[str, ast.expr] = (
        dict(zip([a.arg for a in every][len(every) - len(arguments.defaults) :], arguments.defaults, strict=True))
        if arguments.defaults
        else {}
    )
    defaults.update(
        {a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None}
    )
    outside = Frame(function.module, frozen=True, quiet=frame.quiet, qualname=function.qualname)
    outside.parent = function.env
    for i, arg in enumerate((*every, *arguments.kwonlyargs)):
        name = arg.arg
        if i == 0 and cls is not None and function.kind in ("method", "property"):
            frame.env[name] = holder(cls)
            continue
        if i == 0 and cls is not None and function.kind == "class":
            frame.env[name] = Value(shape=Cls(cls))
            continue
        value = parameter(function, name)
        default = defaults.get(name)
        given = (
            evaluate(engine, outside, default)
            if default is not None and not isinstance(default, ast.Constant)
            else NOTHING
        )
        if isinstance(default, ast.Constant):
            value = Value(value.atoms, ParamShape(name, default.value))
        elif isinstance(given.shape, (Ext, Func, Lambda)):
            value = Value(value.atoms, ParamShape(name, None, given))
        if is_declared(arg.annotation, default):
            value = Value(value.atoms, RequestShape(name))
        known = annotated_class(engine, function, arg.annotation)
        if known is None and isinstance(given.shape, Obj):
            # `tool=MemoryTool()`
            known = given.shape.cls
        if known is None and arg.annotation is None and default is None and i >= (function.cls is not None):
            known = only_class_with(engine, function, name)
        if known is not None:
            value = Value(value.atoms, Obj(known))
        if given.atoms:
            value = Value(merge(value.atoms, frozen_atoms(given.all_atoms())), value.shape)
        if _takes_system(engine, function, name) and not function.is_tool:
            row = arg.lineno
            mark = new_mark(frame, arg, "name")
            step = Step(function.module.name, row, f"parameter {name} of {function.name}()")
            frame.summary.sinks[name, f"parameter {name} of {function.name}()", "system"] = ParamSink(
                name, f"argument {name} of {function.name}()", "system", (step,), 0, (mark,)
            )
            if given.atoms and default is not None:
                arrive(engine, frame, default, given, f"parameter {name} of {function.name}()", marks=(mark,))
            value = Value({**value.atoms, ("m", mark.key): Atom(("m", mark.key), mark=mark)}, value.shape)
        frame.env[name] = value
    for rest in (arguments.vararg, arguments.kwarg):
        if rest is not None:
            frame.env[rest.arg] = parameter(function, rest.arg)


def holder(cls: ClassInfo) -> Value:
    """`self` of a method."""
    return Value(shape=Obj(cls))


def parameter(function: FunctionInfo, name: str) -> Value:
    """A parameter as seen from inside."""
    key = ("p", function.key, name)
    return Value({key: Atom(key)}, ParamShape(name))


def _takes_system(engine: Engine, function: FunctionInfo, name: str) -> bool:
    """Whether a parameter is named like system text; some names count only beside others."""
    if writes_down(function.name) or is_observer(function.module.name):
        return False
    if name in ("system", "sys"):
        return any(p in _BESIDE_SYSTEM for p in function.params)
    if name == "instructions":
        owner = f"{function.cls.name if function.cls is not None else ''}.{function.name}"
        return "gent" in owner or "ssistant" in owner
    return engine.tables.is_system_name(name)


def run_class_body(engine: Engine, cls: ClassInfo) -> None:
    """Attributes set in a class body."""
    env = engine.run_module(cls.module)
    frame = Frame(cls.module, cls=None, frozen=True, qualname=cls.qualname)
    frame.env = dict(env)
    before = dict(env)
    tool: bool | None = None
    for stmt in engine.class_body(cls):
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(stmt, ast.ClassDef):
            cls.env[stmt.name] = Value(shape=Cls(make_class(engine, stmt, cls.module, f"{cls.qualname}.{stmt.name}")))
            frame.env[stmt.name] = cls.env[stmt.name]
            continue
        frame.stmt = stmt
        value_node = getattr(stmt, "value", None)
        # A factory runs for each object.
        frame.frozen = not (
            isinstance(value_node, ast.Call) and any(k.arg == "default_factory" for k in value_node.keywords)
        )
        run_body(engine, frame, [stmt])
        frame.frozen = True
        if isinstance(stmt, (ast.Assign, ast.AnnAssign)) and stmt.value is not None:
            target = stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt.target
            if isinstance(target, ast.Name) and target.id in sinks.TOOL_ATTRIBUTES:
                if tool is None:
                    tool = any(sinks.TOOL_CLASSES.search(word) for word in base_words(engine, cls))
                if not tool:
                    continue
                value = frame.env.get(target.id, NOTHING)
                arrive(
                    engine,
                    frame,
                    stmt.value,
                    value,
                    f"{target.id} of tool {cls.name}",
                    "tools",
                    atoms=value.all_atoms(),
                )
    for name, value in frame.env.items():
        if before.get(name) is not value:
            cls.env[name] = value
