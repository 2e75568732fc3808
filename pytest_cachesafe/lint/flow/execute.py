"""Statements."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cachesafe_rules.model import Step
from pytest_cachesafe.lint.flow.apply import call_function
from pytest_cachesafe.lint.flow.arrive import arrive
from pytest_cachesafe.lint.flow.assign import assign, named_text
from pytest_cachesafe.lint.flow.atoms import Atom, merge
from pytest_cachesafe.lint.flow.binding import bind
from pytest_cachesafe.lint.flow.classes import find_method
from pytest_cachesafe.lint.flow.derive import iterated
from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.imports import make_class
from pytest_cachesafe.lint.flow.marks import new_mark
from pytest_cachesafe.lint.flow.module import FunctionInfo, dotted_name
from pytest_cachesafe.lint.flow.operators import added
from pytest_cachesafe.lint.flow.text import shown
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    Cls,
    Const,
    DictShape,
    Func,
    Lazy,
    ListShape,
    ModShape,
    Obj,
    Value,
    join,
)
from pytest_cachesafe.lint.tables import sinks, sources

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["run_body"]


def run_body(engine: Engine, frame: Frame, body: list[ast.stmt]) -> None:
    """Run statements in order."""
    for stmt in body:
        handler = _HANDLERS.get(type(stmt))
        if handler is not None:
            frame.stmt = stmt
            handler(engine, frame, stmt)


def _assign(engine: Engine, frame: Frame, stmt: ast.Assign) -> None:
    value = evaluate(engine, frame, stmt.value)
    for target in stmt.targets:
        assign(engine, frame, target, value, stmt.value)


def _annotated_assign(engine: Engine, frame: Frame, stmt: ast.AnnAssign) -> None:
    if stmt.value is not None:
        assign(engine, frame, stmt.target, evaluate(engine, frame, stmt.value), stmt.value)


def _augmented(engine: Engine, frame: Frame, stmt: ast.AugAssign) -> None:
    value = evaluate(engine, frame, stmt.value)
    old = evaluate(engine, frame, stmt.target)
    if isinstance(old.shape, ListShape) or isinstance(value.shape, ListShape):
        new = added(engine, frame, old, value)
    elif isinstance(old.shape, DictShape) and isinstance(value.shape, DictShape):
        new = Value(
            merge(old.atoms, value.atoms), DictShape({**old.shape.fields, **value.shape.fields}, old.shape.mark)
        )
    else:
        atoms = shown(engine, frame, value, stmt.value).atoms
        step = Step(frame.module.name, stmt.lineno, f"added to {dotted_name(stmt.target)}")
        new = Value(
            merge(old.text().atoms, {k: a.at(step) for k, a in atoms.items()}), None, merge(old.latent, value.latent)
        )
    if (
        isinstance(stmt.op, (ast.Add, ast.Sub))
        and isinstance(value.shape, Const)
        and isinstance(stmt.target, ast.Attribute)
    ):
        if isinstance(value.shape.value, int) and sources.COUNTERS.search(stmt.target.attr):
            spelt = dotted_name(stmt.target)
            counted = engine.source(frame, stmt.target, "state", "call", f"{spelt}, which is counted up,")
            new = Value(merge(new.atoms, counted.atoms))
    name = (
        stmt.target.attr
        if isinstance(stmt.target, ast.Attribute)
        else stmt.target.id
        if isinstance(stmt.target, ast.Name)
        else ""
    )
    if isinstance(stmt.target, ast.Subscript):
        assign(engine, frame, stmt.target, new, stmt.value)
        return
    if (
        name
        and value is not NOTHING
        and (engine.tables.is_system_name(name) or (frame.function is None and engine.tables.is_system_constant(name)))
    ):
        named = named_text(engine, frame, stmt.target, value, stmt.value, dotted_name(stmt.target))
        new = Value(
            merge(new.atoms, {k: a for k, a in named.atoms.items() if a.mark is not None}), new.shape, new.latent
        )
    bind(engine, frame, stmt.target, new, mutated=True)


def _expression(engine: Engine, frame: Frame, stmt: ast.Expr) -> None:
    evaluate(engine, frame, stmt.value)


def _return(engine: Engine, frame: Frame, stmt: ast.Return) -> None:
    if stmt.value is None:
        return
    value = evaluate(engine, frame, stmt.value)
    function = frame.function
    if function is not None and not function.is_tool:
        for decorator in function.decorators:
            words = sinks.PROMPT_DECORATORS.get(decorator.rsplit(".", 1)[-1])
            if words is not None and ("." in decorator or decorator == "dynamic_prompt"):
                arrive(engine, frame, stmt.value, value, words)
                break
        else:
            if engine.tables.is_system_name(function.name) and not isinstance(value.shape, (Func, Cls, ModShape)):
                mark = new_mark(frame, stmt, "name")
                arrive(engine, frame, stmt.value, value, f"return value of {function.name}()", marks=(mark,))
                if value.atoms:
                    value = Value(
                        {**value.atoms, ("m", mark.key): Atom(("m", mark.key), mark=mark)}, value.shape, value.latent
                    )
    frame.returned.append(value)


def _branches(engine: Engine, frame: Frame, *bodies: list[ast.stmt]) -> None:
    start = frame.env
    ends = []
    for body in bodies:
        frame.env = dict(start)
        run_body(engine, frame, body)
        if not (body and isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))):
            ends.append(frame.env)
    merged = ends[0] if ends else dict(start)
    for other in ends[1:]:
        for name, value in other.items():
            old = merged.get(name)
            if old is None:
                merged[name] = value
            elif old is not value:
                merged[name] = join(old, value)
    if start is frame.module.env:
        start.update(merged)
        frame.env = start
    else:
        frame.env = merged


def _if(engine: Engine, frame: Frame, stmt: ast.If) -> None:
    if dotted_name(stmt.test).rsplit(".", 1)[-1] == "TYPE_CHECKING":
        # For annotations; star imports there would read a whole package.
        for inner in stmt.body:
            if isinstance(inner, ast.ImportFrom) and inner.names[0].name != "*":
                _import_from(engine, frame, inner)
        run_body(engine, frame, stmt.orelse)
        return
    evaluate(engine, frame, stmt.test)
    if frame.frozen and _is_main(stmt.test):
        # Runs when called as a script, not when imported.
        frame.frozen = False
        run_body(engine, frame, stmt.body)
        frame.frozen = True
        return
    _branches(engine, frame, stmt.body, stmt.orelse)


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and any(
        isinstance(n, ast.Name) and n.id == "__name__" for n in (test.left, *test.comparators)
    )


def _for(engine: Engine, frame: Frame, stmt: Any) -> None:
    item = iterated(evaluate(engine, frame, stmt.iter))
    if (
        isinstance(stmt.target, ast.Name)
        and isinstance(stmt.iter, ast.Call)
        and sources.COUNTERS.search(stmt.target.id)
    ):
        if dotted_name(stmt.iter.func) in ("range", "count", "itertools.count"):
            item = engine.source(frame, stmt.target, "state", "call", f"{stmt.target.id}, which is counted up,")
    for _ in range(2):
        bind(engine, frame, stmt.target, item)
        _branches(engine, frame, stmt.body, [])
    run_body(engine, frame, stmt.orelse)


def _while(engine: Engine, frame: Frame, stmt: ast.While) -> None:
    for _ in range(2):
        evaluate(engine, frame, stmt.test)
        _branches(engine, frame, stmt.body, [])
    run_body(engine, frame, stmt.orelse)


def _with(engine: Engine, frame: Frame, stmt: Any) -> None:
    for item in stmt.items:
        value = evaluate(engine, frame, item.context_expr)
        if isinstance(value.shape, Obj):
            enter = find_method(engine, value.shape.cls, "__enter__") or find_method(
                engine, value.shape.cls, "__aenter__"
            )
            if enter is not None:
                value = call_function(engine, frame, (enter,), [], {}, value, item.context_expr, value.shape.cls)
        if item.optional_vars is not None:
            bind(engine, frame, item.optional_vars, value)
    run_body(engine, frame, stmt.body)


def _try(engine: Engine, frame: Frame, stmt: Any) -> None:
    run_body(engine, frame, stmt.body)
    _branches(engine, frame, [], *[h.body for h in stmt.handlers])
    run_body(engine, frame, stmt.orelse)
    run_body(engine, frame, stmt.finalbody)


def _match(engine: Engine, frame: Frame, stmt: ast.Match) -> None:
    subject = iterated(evaluate(engine, frame, stmt.subject))
    for case in stmt.cases:
        for node in ast.walk(case.pattern):
            name = getattr(node, "name", None) or getattr(node, "rest", None)
            if isinstance(name, str):
                frame.env[name] = subject
    _branches(engine, frame, [], *[c.body for c in stmt.cases])


def _function(engine: Engine, frame: Frame, stmt: Any) -> None:
    for decorator in stmt.decorator_list:
        if isinstance(decorator, ast.Call):
            evaluate(engine, frame, decorator)
    if (
        frame.function is None
        and frame.env.get(stmt.name) is not None
        and frame is not None
        and frame.parent is None
        and _is_hoisted(frame, stmt)
    ):
        return
    info = FunctionInfo(
        stmt,
        frame.module,
        f"{frame.qualname}.{stmt.name}" if frame.qualname else stmt.name,
        None,
        frame if frame.function is not None else None,
    )
    info.is_tool = engine.tables.is_tool_function(info.decorators)
    if frame.function is not None:
        frame.nested.append(info)
        frame.module.nested.append(info)
    else:
        frame.module.functions.append(info)
    frame.env[stmt.name] = Value(shape=Func((info,)))


def _is_hoisted(frame: Frame, stmt: Any) -> bool:
    shape = frame.env[stmt.name].shape
    return isinstance(shape, Func) and any(f.node is stmt for f in shape.functions)


def _class(engine: Engine, frame: Frame, stmt: ast.ClassDef) -> None:
    known = frame.env.get(stmt.name)
    if known is not None and isinstance(known.shape, Cls) and known.shape.cls.node is stmt:
        return
    qualname = f"{frame.qualname}.{stmt.name}" if frame.qualname else stmt.name
    frame.env[stmt.name] = Value(shape=Cls(make_class(engine, stmt, frame.module, qualname)))


def _import(engine: Engine, frame: Frame, stmt: ast.Import) -> None:
    for alias in stmt.names:
        if alias.asname is not None or "." not in alias.name:
            frame.env[alias.asname or alias.name] = Value(shape=Lazy(alias.name, 0, None))
        else:
            first = alias.name.split(".", 1)[0]
            frame.env.setdefault(first, Value(shape=Lazy(first, 0, None)))
            frame.env[alias.name] = Value(shape=Lazy(alias.name, 0, None))


def _import_from(engine: Engine, frame: Frame, stmt: ast.ImportFrom) -> None:
    dotted = stmt.module or ""
    for alias in stmt.names:
        if alias.name != "*":
            frame.env[alias.asname or alias.name] = Value(shape=Lazy(dotted, stmt.level, alias.name))
            continue
        frame.module.stars.append((dotted, stmt.level))


def _global(engine: Engine, frame: Frame, stmt: Any) -> None:
    (frame.globals if isinstance(stmt, ast.Global) else frame.outer).update(stmt.names)


def _delete(engine: Engine, frame: Frame, stmt: ast.Delete) -> None:
    for target in stmt.targets:
        if isinstance(target, ast.Name):
            frame.env.pop(target.id, None)


def _assert(engine: Engine, frame: Frame, stmt: ast.Assert) -> None:
    evaluate(engine, frame, stmt.test)


_HANDLERS: dict[type[ast.AST], Callable[[Engine, Frame, Any], None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated_assign,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Global: _global,
    ast.Nonlocal: _global,
    ast.Delete: _delete,
    ast.Assert: _assert,
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = _try
