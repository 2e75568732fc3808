"""Arguments at the sinks that a function's parameters reach, and what comes of functions that are handed over."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.model import Step
from pytest_cachesafe.lint.flow.arrive import TOOL_LIST, hit, only_named, prompt_atoms, tells_order
from pytest_cachesafe.lint.flow.atoms import CALLED
from pytest_cachesafe.lint.flow.frame import function_of
from pytest_cachesafe.lint.flow.marks import vote
from pytest_cachesafe.lint.flow.messages import user_text
from pytest_cachesafe.lint.flow.substitute import picked
from pytest_cachesafe.lint.flow.values import Ext, Func, Lambda, Value
from pytest_cachesafe.lint.tables.sources import PERSONAL_NAMES

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame, ParamSink, Summary
    from pytest_cachesafe.lint.flow.module import FunctionInfo

__all__ = ["param_sinks", "with_results"]


def param_sinks(
    engine: Engine,
    frame: Frame,
    function: FunctionInfo,
    summary: Summary,
    values: dict[str, tuple[Value, ast.AST]],
) -> None:
    """Write down what arrives by the arguments of a call, at the sinks that a function's parameters reach."""
    sinks_of_init = engine.made_sinks.get(function.key, {}) if function.name == "__init__" else {}
    for sink in (*summary.sinks.values(), *sinks_of_init.values()):
        given = values.get(sink.param)
        if given is None:
            continue
        # An object calls what it was made with later on, also where it is made at import.
        later = function.name == "__init__" and CALLED in sink.fields[:1]
        frozen, frame.frozen = frame.frozen, frame.frozen and not later
        _reach(engine, frame, function, sink, *given)
        frame.frozen = frozen


def _reach(engine: Engine, frame: Frame, function: FunctionInfo, sink: ParamSink, value: Value, where: ast.AST) -> None:
    if CALLED in sink.fields[:1]:
        value = _as_called(engine, frame, value, where)
    value = picked(value, sink.fields)
    if sink.vote:
        user_text(engine, frame, value)
        return
    listed = sink.sink == TOOL_LIST
    atoms = value.all_atoms() if listed else prompt_atoms(engine, frame, value, where)
    for atom in atoms.values():
        if listed and atom.source is not None and not tells_order(atom.source):
            continue
        if atom.mark is not None:
            vote(
                engine,
                frame,
                atom.mark,
                "named" if only_named(sink.marks) else "system",
            )
        elif atom.source is not None:
            far = sink.hops + 1
            if far == 1 and sink.param in PERSONAL_NAMES and atom.source.api == sink.param:
                # Told where it is read under the same name.
                continue
            if far > 1 and atom.source.kind not in ("clock", "memory", "cwd", "host", "build", "flag"):
                continue
            hit(engine, frame, where, atom, sink.sink, sink.part, sink.marks, sink.steps, far)
        elif sink.hops + 1 < 3 and atom.key[0] == "p":
            owner = function_of(frame, atom)
            if owner is not None and not frame.quiet:
                step = Step(frame.module.name, getattr(where, "lineno", 1), f"passed to {function.name}()")
                owner.summary.sinks.setdefault(
                    (".".join(atom.key[2:]), sink.sink, sink.part),
                    sink._replace(
                        param=atom.key[2],
                        steps=(step, *sink.steps)[:6],
                        hops=sink.hops + 1,
                        fields=atom.key[3:],
                    ),
                )


def with_results(
    engine: Engine, frame: Frame, key: str, given: dict[str, Value], result: Value, node: ast.AST
) -> dict[str, Value]:
    """Arguments, of which those that the function calls are told by what they give."""
    asked = {k[2] for k in result.all_atoms() if k[0] == "p" and k[1] == key and CALLED in k[3:4]} & given.keys()
    return {**given, **{name: _as_called(engine, frame, given[name], node) for name in asked}} if asked else given


def _as_called(engine: Engine, frame: Frame, value: Value, node: ast.AST) -> Value:
    if not isinstance(value.shape, (Func, Ext)):
        return value
    # Calling functions asks for this module.
    from pytest_cachesafe.lint.flow.callables import called

    return Value(value.atoms, Lambda(called(engine, frame, value, node)))
