"""Functions of the project applied to arguments: parameters bound, sinks reached, results handed back."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cachesafe_rules.model import Step
from pytest_cachesafe.lint.flow.atoms import EMPTY, merge, unordered
from pytest_cachesafe.lint.flow.binding import bind
from pytest_cachesafe.lint.flow.classes import class_attribute
from pytest_cachesafe.lint.flow.clock import tells_time
from pytest_cachesafe.lint.flow.imports import resolve_dotted
from pytest_cachesafe.lint.flow.parameter_sinks import param_sinks, with_results
from pytest_cachesafe.lint.flow.printed import with_addresses
from pytest_cachesafe.lint.flow.substitute import substitute
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    Cls,
    DictShape,
    Func,
    Obj,
    Value,
    join,
    join_all,
)

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.atoms import Atoms
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame, Summary
    from pytest_cachesafe.lint.flow.module import ClassInfo, FunctionInfo

__all__ = ["bind_arguments", "call_function"]


def call_function(
    engine: Engine,
    frame: Frame,
    functions: Sequence[FunctionInfo],
    positional: list[Value],
    keywords: Any,
    bound: Value | None,
    node: ast.AST,
    cls: ClassInfo | None,
    nodes: Sequence[ast.expr] = (),
    rest: Value = NOTHING,
) -> Value:
    """Apply the summaries of the functions a call may reach."""
    results = []
    holding = (
        bool(rest.atoms) or any(v.all_atoms() for v in positional) or any(v.all_atoms() for v, _ in keywords.values())
    )
    # A function in a function may set the names of the outer one.
    inner = any(f.env is not None for f in functions)
    if (
        not holding
        and not inner
        and frame.stmt is not None
        and isinstance(frame.stmt, ast.Expr)
        and _is_whole(frame.stmt.value, node)
    ):
        # Nothing goes in, and nobody asks what comes out.
        return NOTHING
    for function in functions:
        if function.plain and not holding and not inner:
            continue
        frame.module.used.add(function.module.name)
        owner = cls
        if owner is None and bound is not None and isinstance(bound.shape, (Obj, Cls)) and function.cls is not None:
            owner = bound.shape.cls
        summary = engine.summary(function, owner)
        values = bind_arguments(function, positional, keywords, bound, nodes, node, rest)
        values = with_addresses(engine, frame, function, values, node)
        param_sinks(engine, frame, function, summary, values)
        results.append(_returned(engine, frame, function, summary, values, node, bound))
        if bound is not None and isinstance(bound.shape, Obj):
            after = _changed(engine, frame, function, summary, values, bound, bound.shape, node) if holding else bound
            last = results[-1].shape
            if isinstance(last, Obj) and last.cls is bound.shape.cls and not last.fields and last.made is None:
                # `return self`
                results[-1] = after
        if function.decorators:
            results.append(_wrapped(engine, frame, function, node))
    return join_all(results)


def _is_whole(value: ast.expr, node: ast.AST) -> bool:
    return value is node or (isinstance(value, ast.Await) and value.value is node)


def bind_arguments(
    function: FunctionInfo,
    positional: list[Value],
    keywords: Any,
    bound: Value | None,
    nodes: Sequence[ast.expr],
    node: ast.AST,
    rest: Value,
) -> dict[str, tuple[Value, ast.AST]]:
    """Arguments by the names of parameters, with the nodes they come from."""
    values: dict[str, tuple[Value, ast.AST]] = {}
    names = list(function.params)
    if (
        function.cls is not None
        and function.kind in ("method", "property", "class")
        and (bound is not None or function.kind == "class")
    ):
        me = names.pop(0) if names else None
        if me is not None and bound is not None:
            values[me] = (bound, node)
    for i, value in enumerate(positional):
        where = nodes[i] if i < len(nodes) else node
        if i < len(names):
            values[names[i]] = (value, where)
        elif function.vararg:
            old = values.get(function.vararg)
            values[function.vararg] = (
                join(old[0], Value(value.all_atoms())) if old else Value(value.all_atoms()),
                where,
            )
    kwarg = function.kwarg
    known = {*names, *function.keyword_only}
    for name, given in keywords.items():
        if name in known:
            values[name] = given
        elif kwarg is not None:
            old = values.get(kwarg)
            fields = dict(old[0].shape.fields) if old is not None and isinstance(old[0].shape, DictShape) else {}
            fields[name] = given[0]
            values[kwarg] = (Value(EMPTY, DictShape(fields)), given[1])
    return values


def _returned(
    engine: Engine,
    frame: Frame,
    function: FunctionInfo,
    summary: Summary,
    values: dict[str, tuple[Value, ast.AST]],
    node: ast.AST,
    bound: Value | None,
) -> Value:
    returns = summary.returns
    if returns is NOTHING:
        return NOTHING
    if any(d.rsplit(".", 1)[-1] in ("cache", "lru_cache", "cached", "alru_cache") for d in function.decorators):
        returns = _kept(returns)
    if function.numeric:
        returns = _number(returns)
    step = Step(frame.module.name, getattr(node, "lineno", 1), f"returned by {function.name}()")
    given = {k: v for k, (v, _) in values.items()}
    result = substitute(returns, function.key, with_results(engine, frame, function.key, given, returns, node), step)
    if bound is not None and isinstance(bound.shape, Obj) and bound.shape.made is not None:
        # What the object was made with comes out of its methods.
        key, given = bound.shape.made
        result = substitute(result, key, with_results(engine, frame, key, given, result, node), None)
    if bound is not None and isinstance(bound.shape, Obj) and bound.shape.fields:
        result = _with_fields(engine, result, bound.shape)
    return result


def _number(value: Value) -> Value:
    """A result that is a number: the time that is left, a draw. What is counted, and the length of a text, is no text
    of it."""
    atoms = value.all_atoms()
    kept = {
        k: a for k, a in atoms.items() if a.source is not None and (tells_time(a.source) or a.source.kind == "random")
    }
    return Value(kept) if kept else NOTHING


def _kept(value: Value) -> Value:
    """The result of a cached function: read once in a process, so files count no more and clocks stand still."""
    shape = value.shape
    if isinstance(shape, DictShape) and not shape.rest:
        # A record: it is still read key by key.
        return Value(
            _stopped(value.atoms),
            DictShape({k: _kept(v) for k, v in shape.fields.items()}, shape.mark),
            _stopped(value.latent),
        )
    atoms = _stopped(value.all_atoms())
    return Value(atoms) if atoms else NOTHING


def _stopped(atoms: Atoms) -> Atoms:
    from dataclasses import replace

    return {
        k: a._replace(source=replace(a.source, frozen=True)) if a.source is not None else a
        for k, a in atoms.items()
        if a.source is None or a.source.kind not in ("file", "listing", "memory")
    }


def _with_fields(engine: Engine, result: Value, shape: Obj) -> Value:
    """What methods put into this object, where a result holds their parameters."""
    open_keys = {k for k, a in result.all_atoms().items() if a.source is None and a.mark is None}
    if not open_keys:
        return result
    atoms = result.atoms
    for name, value in shape.fields.items():
        known = class_attribute(engine, shape.cls, name)
        if known is not None and not open_keys.isdisjoint(known.all_atoms()):
            # Whether the method sorted them is not known here, so nothing is said of their order.
            given = unordered(value.all_atoms())
            atoms = merge(atoms, {k: a for k, a in given.items() if a.source is not None})
    return Value(atoms, result.shape, result.latent)


def _changed(
    engine: Engine,
    frame: Frame,
    function: FunctionInfo,
    summary: Summary,
    values: dict[str, tuple[Value, ast.AST]],
    bound: Value,
    shape: Obj,
    node: ast.AST,
) -> Value:
    """The object after a method put its argument into it: `builder.add(text)`."""
    target = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if shape.above is not None or function.name == "__init__":
        return bound
    fields = dict(shape.fields)
    given = {k: v for k, (v, _) in values.items()}
    for name, value in summary.writes.items():
        new = substitute(value, function.key, given, None)
        if any(a.source is not None for a in new.all_atoms().values()):
            fields[name] = join(fields[name], new) if name in fields else new
    if fields.keys() == shape.fields.keys() and all(fields[k] is shape.fields[k] for k in fields):
        return bound
    after = Value(bound.atoms, Obj(shape.cls, fields, shape.made))
    if isinstance(target, ast.Name):
        bind(engine, frame, target, after, mutated=True)
    return after


def _wrapped(engine: Engine, frame: Frame, function: FunctionInfo, node: ast.AST) -> Value:
    """What decorators of the project add to the result of a function: the sources in the wrappers they return."""
    env = engine.run_module(function.module)
    atoms = EMPTY
    for name in function.decorators:
        decorator = resolve_dotted(engine, function.module, env, name)
        if decorator is None or not isinstance(decorator.shape, Func):
            continue
        for outer in decorator.shape.functions:
            made = engine.summary(outer).returns.shape
            for wrapper in made.functions if isinstance(made, Func) else ():
                step = Step(
                    frame.module.name,
                    getattr(node, "lineno", 1),
                    f"returned by {function.name}(), which is wrapped by {name}",
                )
                found = engine.summary(wrapper).returns.all_atoms()
                atoms = merge(atoms, {k: a.at(step) for k, a in found.items() if a.source is not None})
    return Value(atoms) if atoms else NOTHING
