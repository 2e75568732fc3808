"""What functions that are handed over give when they are called later: by a parameter's name, out of a partial."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow.apply import call_function
from pytest_cachesafe.lint.flow.arguments import Arguments
from pytest_cachesafe.lint.flow.atoms import CALLED, under
from pytest_cachesafe.lint.flow.external import external
from pytest_cachesafe.lint.flow.values import NOTHING, Const, Ext, Func, Lambda, ParamShape, Partial, Value, join

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["called", "called_parameter", "partial_arguments", "partial_of"]


def called(engine: Engine, frame: Frame, value: Value, node: ast.AST) -> Value:
    """What a callable gives without arguments."""
    shape = value.shape
    if isinstance(shape, Lambda):
        return shape.result
    if isinstance(shape, Func):
        return call_function(engine, frame, shape.functions, [], {}, shape.bound, node, None)
    if isinstance(shape, Ext) and isinstance(node, ast.expr) and shape.dotted in engine.tables.calls:
        kind, granularity = engine.tables.calls[shape.dotted]
        if kind in ("clock", "random"):
            return engine.source(frame, node, kind, granularity, f"{shape.dotted}()")
    return NOTHING


def called_parameter(engine: Engine, frame: Frame, node: ast.Call, function: Value, arguments: Arguments) -> Value:
    """`clock()`, where `clock` is what the caller hands over: the caller knows what that gives."""
    shape = function.shape
    if not isinstance(shape, ParamShape) or not all(isinstance(v.shape, (Const, Ext)) for v in arguments.every()):
        return NOTHING
    result = Value(under({k: a for k, a in function.atoms.items() if a.source is None and a.mark is None}, (CALLED,)))
    return result if shape.callee is None else join(result, called(engine, frame, shape.callee, node))


def partial_arguments(shape: Partial, arguments: Arguments) -> Arguments:
    """The arguments of a partial with those of a call of it."""
    out = Arguments()
    out.positional = [*shape.arguments.positional, *arguments.positional]
    out.nodes = [*shape.arguments.nodes, *arguments.nodes]
    out.keywords = {**shape.arguments.keywords, **arguments.keywords}
    out.rest = join(shape.arguments.rest, arguments.rest)
    return out


def partial_of(engine: Engine, frame: Frame, node: ast.Call, target: Value, spelt: str, arguments: Arguments) -> Value:
    """`partial(target, …)`: what it gives is read whenever it is called, also where it is made at import."""
    shape = target.shape
    frozen, frame.frozen = frame.frozen, False
    try:
        if isinstance(shape, Func):
            result = call_function(
                engine, frame, shape.functions, arguments.positional, arguments.keywords, shape.bound, node, None,
                arguments.nodes, arguments.rest,
            )  # fmt: skip
        elif isinstance(shape, Ext):
            last = shape.dotted.rpartition(".")[2]
            result = external(engine, frame, node, shape.dotted, spelt, last, arguments)
        elif isinstance(shape, Lambda):
            result = shape.result
        else:
            return NOTHING
    finally:
        frame.frozen = frozen
    return Value(shape=Partial(result, target, spelt, arguments))
