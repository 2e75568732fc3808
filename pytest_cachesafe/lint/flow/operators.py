"""Values of operators, conditions, lambdas and what is yielded."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from cachesafe_rules.model import Step
from pytest_cachesafe.lint.flow import clock
from pytest_cachesafe.lint.flow.assign import assign
from pytest_cachesafe.lint.flow.atoms import EMPTY, merge
from pytest_cachesafe.lint.flow.derive import cut, fallback
from pytest_cachesafe.lint.flow.drawn import followed
from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.marks import handed_over, list_positions
from pytest_cachesafe.lint.flow.retrieved import chained
from pytest_cachesafe.lint.flow.text import shown
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    Const,
    DictShape,
    Func,
    Lambda,
    ListShape,
    Obj,
    TemplateShape,
    Value,
    join,
    join_all,
)

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = [
    "added",
    "evaluate_binary",
    "evaluate_boolean",
    "evaluate_compare",
    "evaluate_conditional",
    "evaluate_constant",
    "evaluate_inner",
    "evaluate_lambda",
    "evaluate_unary",
    "evaluate_walrus",
    "evaluate_yield",
]


def evaluate_constant(engine: Engine, frame: Frame, node: ast.Constant) -> Value:
    """A literal."""
    return Value(shape=Const(node.value))


def _is_view(node: ast.expr) -> bool:
    """`table.keys()`, also at the front of several."""
    while isinstance(node, ast.BinOp):
        node = node.left
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("keys", "items")


def evaluate_binary(engine: Engine, frame: Frame, node: ast.BinOp) -> Value:
    """`left + right`, `text % values`, `a | b` and the like."""
    left = evaluate(engine, frame, node.left)
    right = evaluate(engine, frame, node.right)
    if isinstance(node.op, ast.Add) and (isinstance(left.shape, ListShape) or isinstance(right.shape, ListShape)):
        return added(engine, frame, left, right)
    if isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)) and (left.latent or right.latent):
        return Value(merge(left.atoms, right.atoms), None, merge(left.latent, right.latent))
    if isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.BitXor)) and (_is_view(node.left) or _is_view(node.right)):
        # Views of a dict keep its order, what is made of two of them is a set.
        made = engine.source(frame, node, "set", "process", "set")
        return Value(EMPTY, None, made.atoms)
    if isinstance(node.op, ast.BitOr) and (
        isinstance(left.shape, TemplateShape) or isinstance(right.shape, TemplateShape)
    ):
        if isinstance(right.shape, TemplateShape) and not isinstance(left.shape, TemplateShape):
            chained(engine, frame, node.left, right.shape)
        # prompt | model | parser: what the chain is called with fills the prompt.
        return left if isinstance(left.shape, TemplateShape) else right
    if isinstance(node.op, ast.BitOr) and isinstance(left.shape, DictShape) and isinstance(right.shape, DictShape):
        return Value(
            merge(left.atoms, right.atoms),
            DictShape(
                {**left.shape.fields, **right.shape.fields},
                left.shape.mark or right.shape.mark,
                left.shape.rest | right.shape.rest,
            ),
        )
    if (
        isinstance(node.op, ast.FloorDiv)
        and isinstance(right.shape, Const)
        and isinstance(right.shape.value, (int, float))
    ):
        return cut(left.text(), clock.of_divisor(ast.unparse(node.left), right.shape.value))
    if isinstance(node.op, ast.Div):
        # Paths, known by their last part; quotients of clocks are durations.
        part = right.shape if isinstance(right.shape, Const) and isinstance(right.shape.value, str) else None
        return Value(merge(left.text().atoms, right.text().atoms), part)
    if isinstance(node.op, ast.Sub) and left.atoms and right.atoms:
        return Value(merge(left.atoms, right.atoms))
    if isinstance(node.op, ast.Mod) and not isinstance(left.shape, Const):
        left = left.text()
    if isinstance(node.op, (ast.Add, ast.Mod)):
        plus = isinstance(node.op, ast.Add)
        a, b = (
            _joined(engine, frame, left, node.left, plus) if not isinstance(left.shape, Const) else left,
            _joined(engine, frame, right, node.right, plus),
        )
        atoms = merge(a.atoms, b.atoms)
        if atoms:
            return Value({k: x.at(Step(frame.module.name, node.lineno, "put into a string")) for k, x in atoms.items()})
        return NOTHING
    atoms = merge(left.text().atoms, right.text().atoms)
    return Value(atoms) if atoms else NOTHING


def _joined(engine: Engine, frame: Frame, value: Value, node: ast.expr, plus: bool) -> Value:
    """One side of `a + b` or of `a % b`. Only text can be added to text: an object there would not show its address."""
    if plus and isinstance(value.shape, (Obj, Func)):
        return value.text()
    return shown(engine, frame, value, node)


def added(engine: Engine, frame: Frame, left: Value, right: Value, name: str = "") -> Value:
    """`left + right` of lists: what stands in the right one stands behind the left one. `name`: what is grown."""
    if isinstance(left.shape, ListShape):
        items, exact = left.shape.items, left.shape.exact
    else:
        items, exact = ((left,) if left.atoms else ()), False
    if isinstance(right.shape, ListShape):
        list_positions(engine, frame, right.shape.items, items, exact)
        items, exact = items + right.shape.items, exact and right.shape.exact
    else:
        items, exact = (*items, right) if right.atoms else items, False
    drawn = followed(frame, name, left) | (right.shape.drawn if isinstance(right.shape, ListShape) else frozenset())
    return Value(merge(left.atoms, right.atoms), ListShape(items, exact, drawn), merge(left.latent, right.latent))


def evaluate_conditional(engine: Engine, frame: Frame, node: ast.IfExp) -> Value:
    """`a if test else b`."""
    evaluate(engine, frame, node.test)
    body, other = evaluate(engine, frame, node.body), evaluate(engine, frame, node.orelse)
    if isinstance(node.body, (ast.Name, ast.Attribute)) and ast.dump(node.body) in ast.dump(node.test):
        other = fallback(other, frame.module.name, node.lineno)
    return join(body, other)


def evaluate_boolean(engine: Engine, frame: Frame, node: ast.BoolOp) -> Value:
    """`a or b`."""
    values = [evaluate(engine, frame, v) for v in node.values]
    if isinstance(node.op, ast.Or):
        values[1:] = [fallback(v, frame.module.name, node.lineno) for v in values[1:]]
    return join_all(values)


def evaluate_compare(engine: Engine, frame: Frame, node: ast.Compare) -> Value:
    """A comparison; what it compares is evaluated for its sinks."""
    evaluate(engine, frame, node.left)
    for part in node.comparators:
        evaluate(engine, frame, part)
    return NOTHING


def evaluate_unary(engine: Engine, frame: Frame, node: ast.UnaryOp) -> Value:
    """`-a`, `not a`."""
    value = evaluate(engine, frame, node.operand)
    shape = value.shape
    if isinstance(node.op, ast.USub) and isinstance(shape, Const) and type(shape.value) in (int, float):
        return Value(value.atoms, Const(-shape.value))
    return NOTHING if isinstance(node.op, ast.Not) else value


def evaluate_inner(engine: Engine, frame: Frame, node: Any) -> Value:
    """`await a`, `*a`."""
    return evaluate(engine, frame, node.value)


def evaluate_walrus(engine: Engine, frame: Frame, node: ast.NamedExpr) -> Value:
    """`(name := value)`."""
    value = evaluate(engine, frame, node.value)
    assign(engine, frame, node.target, value, node.value)
    return value


def evaluate_lambda(engine: Engine, frame: Frame, node: ast.Lambda) -> Value:
    """`lambda: …`: evaluated where it is made."""
    saved = frame.env
    frame.env = dict(saved)
    for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        frame.env[arg.arg] = NOTHING
    frozen, frame.frozen = frame.frozen, False
    result = evaluate(engine, frame, node.body)
    frame.frozen = frozen
    frame.env = saved
    return Value(shape=Lambda(result))


def _is_row(value: Value) -> bool:
    """`yield name, record`: each place for itself."""
    shape = value.shape
    return isinstance(shape, ListShape) and shape.exact and len(shape.items) > 1


def evaluate_yield(engine: Engine, frame: Frame, node: Any) -> Value:
    """`yield a`: what callers iterate over."""
    if node.value is not None:
        value = evaluate(engine, frame, node.value)
        handed_over(engine, frame, value)
        if isinstance(node, ast.YieldFrom) and isinstance(value.shape, ListShape) and not frame.orders:
            frame.returned.append(value)
            return NOTHING
        if not frame.orders and (isinstance(value.shape, DictShape) or _is_row(value)):
            # A record: who takes it reads it key by key.
            decorators = frame.function.decorators if frame.function is not None else ()
            once = any(d.endswith(("contextmanager", "fixture")) for d in decorators)
            frame.returned.append(value if once else Value(EMPTY, ListShape((value,), False)))
            return NOTHING
        atoms = value.all_atoms()
        frame.returned.append(Value(merge(atoms, frame.collected("")) if frame.orders else atoms))
    return NOTHING
