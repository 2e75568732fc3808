"""Statements: each one's effect on the names of its frame."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cachesafe_rules.model import Step
from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.apply import call_function
from pytest_cachesafe.lint.flow.arrive import arrive
from pytest_cachesafe.lint.flow.assign import assign, named_text
from pytest_cachesafe.lint.flow.atoms import EMPTY, Atom, merge, orders
from pytest_cachesafe.lint.flow.binding import bind
from pytest_cachesafe.lint.flow.classes import find_method
from pytest_cachesafe.lint.flow.counters import counted, step_of
from pytest_cachesafe.lint.flow.definitions import define_class, define_function, import_from, import_modules
from pytest_cachesafe.lint.flow.derive import iterated, taken
from pytest_cachesafe.lint.flow.drawn import drawn_messages
from pytest_cachesafe.lint.flow.evaluate import DEEPEST, evaluate
from pytest_cachesafe.lint.flow.marks import handed_over, new_mark
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.moment import is_excerpt
from pytest_cachesafe.lint.flow.operators import added
from pytest_cachesafe.lint.flow.parts import handed_order
from pytest_cachesafe.lint.flow.places import elsewhere
from pytest_cachesafe.lint.flow.replies import kept_of_reply
from pytest_cachesafe.lint.flow.requests import returned_request
from pytest_cachesafe.lint.flow.text import shown
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    Cls,
    Const,
    DictShape,
    Func,
    ListShape,
    ModShape,
    Obj,
    Value,
    join,
)
from pytest_cachesafe.lint.leaving import ends_function, reached
from pytest_cachesafe.lint.tables import sinks, sources

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.module import FunctionInfo

__all__ = ["run_body"]


# Loops in loops that run twice; each doubles the work.
_LOOPS_TWICE = 3


def run_body(engine: Engine, frame: Frame, body: list[ast.stmt]) -> None:
    """Run statements in order, as far as one can come."""
    if engine.nesting > DEEPEST:
        return
    engine.nesting += 2
    try:
        for stmt in reached(body):
            handler = _HANDLERS.get(type(stmt))
            if handler is not None:
                frame.stmt = stmt
                handler(engine, frame, stmt)
    finally:
        engine.nesting -= 2


def _assign(engine: Engine, frame: Frame, stmt: ast.Assign) -> None:
    value = evaluate(engine, frame, stmt.value)
    if (frame.orders or frame.handed) and isinstance(stmt.value, (ast.BinOp, ast.JoinedStr)):
        # `text = text + part` in a loop.
        own = {t.id for t in stmt.targets if isinstance(t, ast.Name)}
        name = next((n.id for n in ast.walk(stmt.value) if isinstance(n, ast.Name) and n.id in own), "")
        counts = isinstance(stmt.value, ast.BinOp) and _counts(stmt.value.right, NOTHING)
        order = frame.collected_text(name) if name and not counts else None
        if order:
            added_to = Step(frame.module.name, stmt.lineno, f"added to {name}")
            order = {k: a.at(added_to) for k, a in order.items()}
            value = Value(merge(value.atoms, order), value.shape, value.latent)
    for target in stmt.targets:
        if isinstance(target, ast.Attribute) and (step := step_of(target, stmt.value)) is not None:
            # `self.turn = self.turn + 1`
            value = counted(engine, frame, target, evaluate(engine, frame, step), value)
        assign(engine, frame, target, kept_of_reply(engine, frame, target, stmt.value, value), stmt.value)


def _annotated_assign(engine: Engine, frame: Frame, stmt: ast.AnnAssign) -> None:
    if stmt.value is not None:
        assign(engine, frame, stmt.target, evaluate(engine, frame, stmt.value), stmt.value)


def _counts(node: ast.expr, value: Value) -> bool:
    """Whether a number is added: a sum is the same in whatever order its parts come."""
    if isinstance(node, ast.Call):
        return dotted_name(node.func) in ("len", "int", "float", "sum", "round")
    known = (
        node.value if isinstance(node, ast.Constant) else value.shape.value if isinstance(value.shape, Const) else ""
    )
    return isinstance(known, (int, float))


def _augmented(engine: Engine, frame: Frame, stmt: ast.AugAssign) -> None:
    value = evaluate(engine, frame, stmt.value)
    old = evaluate(engine, frame, stmt.target)
    if isinstance(old.shape, ListShape) or isinstance(value.shape, ListShape):
        new = added(engine, frame, old, value, dotted_name(stmt.target).partition(".")[0])
    elif isinstance(old.shape, DictShape) and isinstance(value.shape, DictShape):
        new = Value(
            merge(old.atoms, value.atoms),
            DictShape({**old.shape.fields, **value.shape.fields}, old.shape.mark, old.shape.rest | value.shape.rest),
        )
    elif isinstance(stmt.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)) and (old.latent or value.latent):
        # Sets: their order shows where the result becomes text.
        new = Value(merge(old.atoms, value.atoms), None, merge(old.latent, value.latent))
    else:
        atoms = shown(engine, frame, value, stmt.value).atoms
        step = Step(frame.module.name, stmt.lineno, f"added to {dotted_name(stmt.target)}")
        new = Value(
            merge(old.text().atoms, {k: a.at(step) for k, a in atoms.items()}), None, merge(old.latent, value.latent)
        )
    if isinstance(stmt.op, (ast.Add, ast.Sub)) and isinstance(stmt.target, ast.Attribute):
        new = counted(engine, frame, stmt.target, value, new)
    root = dotted_name(stmt.target).partition(".")[0]
    parts = value.shape.items if isinstance(value.shape, ListShape) else (value,)
    adds_text = all(isinstance(part.shape, (Const, type(None))) for part in parts)
    order = EMPTY
    if (frame.orders or frame.handed) and root and not _counts(stmt.value, value):
        order = frame.collected_text(root) if adds_text else frame.collected(root)
    if order:
        added_to = Step(frame.module.name, stmt.lineno, f"added to {dotted_name(stmt.target)}")
        new = Value(merge(new.atoms, {k: a.at(added_to) for k, a in order.items()}), new.shape, new.latent)
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
    handed_over(engine, frame, value)
    function = frame.function
    if (
        function is not None
        and isinstance(value.shape, ListShape)
        and value.shape.drawn
        and is_excerpt(engine, frame.module)
    ):
        drawn_messages(engine, frame, value, stmt.value)
    if isinstance(stmt.value, ast.Tuple) and isinstance(value.shape, ListShape):
        returned_request(engine, frame, stmt.value, value.shape)
    if function is not None and not function.is_tool:
        for decorator in function.decorators:
            words = sinks.PROMPT_DECORATORS.get(decorator.rsplit(".", 1)[-1])
            if words is not None and ("." in decorator or decorator == "dynamic_prompt"):
                arrive(engine, frame, stmt.value, value, words)
                break
        else:
            named = engine.tables.is_system_name(function.name) or _is_system_of_prompt(function)
            made = sinks.MAKES_SYSTEM.search(function.name) is not None
            named = named or (made and is_excerpt(engine, frame.module))
            if named and not isinstance(value.shape, (Func, Cls, ModShape)):
                mark = new_mark(frame, stmt, "name")
                arrive(engine, frame, stmt.value, value, f"return value of {function.name}()", marks=(mark,))
                if value.atoms:
                    value = Value(
                        {**value.atoms, ("m", mark.key): Atom(("m", mark.key), mark=mark)}, value.shape, value.latent
                    )
    frame.returned.append(value)


def _is_system_of_prompt(function: FunctionInfo) -> bool:
    """`PromptBuilder.system()`"""
    return function.name == "system" and function.cls is not None and "Prompt" in function.cls.name


def _branches(
    engine: Engine, frame: Frame, *bodies: list[ast.stmt], missed: Mapping[str, Value] = MappingProxyType({})
) -> None:
    """Each of the bodies from the same start; names of `missed` are other ones in all but the first."""
    start = frame.env
    ends = []
    for i, body in enumerate(bodies):
        frame.env = {**start, **missed} if i else dict(start)
        run_body(engine, frame, body)
        if not (body and (isinstance(body[-1], (ast.Continue, ast.Break)) or ends_function(body))):
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
                import_from(engine, frame, inner)
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


def _rounds(frame: Frame) -> Iterator[int]:
    """A loop runs twice, so that what its end writes is seen at its start; deep inside others once."""
    frame.loops += 1
    yield from range(2 if frame.loops <= _LOOPS_TWICE else 1)
    frame.loops -= 1


_DATA = lazy_pattern(r"data_?set|(?:^|_)(?:batch|rows|samples)$")
_OF_ROW = lazy_pattern(r"(?:^|_)(?:conversation|messages|turns|dialog|dialogue|chat)$")


def _rows(frame: Frame, over: ast.expr) -> int:
    """1 for a loop over a data set, 2 for one over the messages of a row in it: that text is asked about once."""
    names = [n.id.lower() for n in ast.walk(over) if isinstance(n, ast.Name)]
    if any(_DATA.search(name) for name in names):
        return 1
    return 2 if frame.rows and any(_OF_ROW.search(name) for name in names) else 0


def _for(engine: Engine, frame: Frame, stmt: Any) -> None:
    over = evaluate(engine, frame, stmt.iter)
    item = taken(over)
    if (
        isinstance(stmt.target, ast.Name)
        and isinstance(stmt.iter, ast.Call)
        and sources.COUNTERS.search(stmt.target.id)
        and dotted_name(stmt.iter.func) in ("range", "count", "itertools.count")
    ):
        item = engine.source(frame, stmt.target, "state", "call", f"{stmt.target.id}, which is counted up,")
    order = orders(iterated(over).atoms)
    if order:
        frame.orders.append((order, frozenset(frame.env)))
    handed = handed_order(over)
    if handed:
        frame.handed.append((handed, frozenset(frame.env)))
    outer, frame.rows = frame.rows, max(frame.rows, _rows(frame, stmt.iter))
    for _ in _rounds(frame):
        bind(engine, frame, stmt.target, item)
        _branches(engine, frame, stmt.body, [])
    frame.rows = outer
    if order:
        frame.orders.pop()
    if handed:
        frame.handed.pop()
    run_body(engine, frame, stmt.orelse)


def _while(engine: Engine, frame: Frame, stmt: ast.While) -> None:
    for _ in _rounds(frame):
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
    outer, frame.below = frame.below, {}
    run_body(engine, frame, stmt.body)
    missed = elsewhere(frame, frame.below) if frame.below else {}
    frame.below = outer
    _branches(engine, frame, [], *[h.body for h in stmt.handlers], missed=missed)
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
    ast.FunctionDef: define_function,
    ast.AsyncFunctionDef: define_function,
    ast.ClassDef: define_class,
    ast.Import: import_modules,
    ast.ImportFrom: import_from,
    ast.Global: _global,
    ast.Nonlocal: _global,
    ast.Delete: _delete,
    ast.Assert: _assert,
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = _try
