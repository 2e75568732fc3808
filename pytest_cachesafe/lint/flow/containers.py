"""Calls that make containers or walk through them: list, dict, set, sorted, map, zip."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.model import Step
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.policy import OF_THE_CALL
from pytest_cachesafe.lint.flow.apply import call_function
from pytest_cachesafe.lint.flow.atoms import EMPTY, merge, orders, unordered
from pytest_cachesafe.lint.flow.derive import iterated, ordered, record_of, taken
from pytest_cachesafe.lint.flow.handed import is_given_constants
from pytest_cachesafe.lint.flow.messages import dict_arrivals
from pytest_cachesafe.lint.flow.moment import listed_anew
from pytest_cachesafe.lint.flow.values import NOTHING, Const, DictShape, Func, Lambda, ListShape, Value, whole

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.atoms import Atoms
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["container_call", "set_source"]

# What an application is made of, by its name.
_SET_UP = lazy_pattern(
    r"tool|skill|plugin|capabilit|command|languag|import|feature|allowed|enabled|module|config|setting|registr|catalog|"
    r"agent|provider|extension|action|name|topic|tag|word|label|field|server"
)
# The same as the key or attribute under which something that a caller brings holds it.
_SET_UP_KEY = lazy_pattern(
    r"tool|skill|plugin|capabilit|command|languag|feature|allowed|enabled|module|setting|registr|catalog|provider|"
    r"extension|server"
)

_WALKS = frozenset(("reversed", "enumerate", "iter", "islice", "zip", "map", "filter", "chain", "from_iterable"))


def container_call(
    engine: Engine, frame: Frame, node: ast.Call, name: str, last: str, arguments: Arguments
) -> Value | None:
    """The value of such a call; None for any other. `name` is dotted, `last` its last part."""
    if last in ("set", "frozenset") and name in ("set", "frozenset"):
        return _set(engine, frame, node, name, arguments)
    if last in ("sorted", "natsorted") and arguments.positional:
        fixed = ordered(arguments.positional[0])
        anew = listed_anew(engine, frame, node, arguments.positional[0])
        return Value(merge(fixed.atoms, anew.atoms), fixed.shape, fixed.latent) if anew.atoms else fixed
    if last in ("list", "tuple") and name in ("list", "tuple") and arguments.positional:
        inner = arguments.positional[0]
        if isinstance(inner.shape, ListShape):
            return Value(merge(inner.atoms, inner.latent), inner.shape)
        return Value(merge(inner.atoms, inner.latent))
    if last == "dict" and name == "dict":
        return _dict(engine, frame, node, arguments)
    if last in _WALKS:
        return _walked(engine, frame, node, last, arguments)
    if last == "gather":
        return Value(EMPTY, ListShape(tuple(arguments.positional)))
    return None


def _set(engine: Engine, frame: Frame, node: ast.Call, name: str, arguments: Arguments) -> Value:
    if not arguments.positional:
        return Value(EMPTY, None, set_source(engine, frame, node, "a set"))
    inner = arguments.positional[0]
    if isinstance(inner.shape, ListShape) and inner.shape.exact and len(inner.shape.items) < 2:
        return Value(inner.all_atoms())
    atoms = unordered(inner.all_atoms())
    return Value(atoms, None, set_source(engine, frame, node, f"{name}()"))


def set_source(engine: Engine, frame: Frame, node: ast.expr, api: str) -> Atoms:
    """The order of a set; its way says so where the elements are what this call of the function brought, which no other
    request need have."""
    atoms = engine.source(frame, node, "set", "process", api).atoms
    if frame.frozen or _lasts(engine, frame, node):
        return atoms
    span = engine.span(frame.module, node)
    step = Step(span.filename, span.row, OF_THE_CALL)
    return {k: a._replace(steps=(*a.steps, step)) for k, a in atoms.items()}


def _lasts(engine: Engine, frame: Frame, node: ast.expr) -> bool:
    """Whether a set is made of what is written here, of the module's or the object's own, or of what goes by a name for
    something that is set up once; a parameter, where every call hands over a constant."""
    own = frame.function
    if own is None or own.name == "__init__":
        return True
    if isinstance(node, ast.Call) and not node.args:
        # Filled later on, nobody knows by what.
        return False
    bound = {n.id for part in ast.walk(node) if isinstance(part, ast.comprehension) for n in ast.walk(part.target)
             if isinstance(n, ast.Name)}  # fmt: skip
    called = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    called |= {id(root) for part in ast.walk(node) if (root := _holder(part)) is not None}
    for part in ast.walk(node):
        if not isinstance(part, ast.Name) or id(part) in called or part.id in bound or part.id in ("self", "cls"):
            continue
        if (part.id in own.params or part.id in frame.env) and not _SET_UP.search(part.id.lower()):
            if part.id in own.params and is_given_constants(engine, frame.module, own, part.id):
                continue
            return False
    return True


def _holder(node: ast.AST) -> ast.Name | None:
    """The name of what holds something that is set up once under a key: `model` of `model["skill_ids"]`."""
    key: object = None
    if isinstance(node, ast.Attribute):
        key = node.attr
    elif isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
        key = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    if not isinstance(key, str) or not _SET_UP_KEY.search(key):
        return None
    inner: ast.AST = node
    while isinstance(inner, (ast.Attribute, ast.Subscript, ast.Call)):
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
    return inner if isinstance(inner, ast.Name) else None


def _dict(engine: Engine, frame: Frame, node: ast.Call, arguments: Arguments) -> Value:
    fields = {k: v for k, (v, _) in arguments.keywords.items()}
    base = arguments.positional[0] if arguments.positional else NOTHING
    if isinstance(base.shape, DictShape):
        fields = {**base.shape.fields, **fields}
    made = Value(merge(base.atoms, arguments.rest.atoms), DictShape(fields, None, whole(base)))
    return dict_arrivals(engine, frame, node, made, {k: n for k, (_, n) in arguments.keywords.items()})


def _walked(engine: Engine, frame: Frame, node: ast.Call, last: str, arguments: Arguments) -> Value:
    if last == "map" and len(arguments.positional) > 1 and isinstance(arguments.positional[0].shape, (Func, Lambda)):
        first = arguments.positional[0].shape
        item = iterated(arguments.positional[1])
        result = (
            first.result
            if isinstance(first, Lambda)
            else call_function(engine, frame, first.functions, [item], {}, first.bound, node, None)
        )
        return Value(merge(item.atoms, result.all_atoms()))
    items = [iterated(v) for v in arguments.positional]
    if last in ("reversed", "iter", "chain", "filter", "islice"):
        record = record_of([v for v in arguments.positional if not isinstance(v.shape, (Func, Lambda, Const))])
        if record is not None:
            return Value(EMPTY, ListShape((record,), False))
    atoms = EMPTY
    if last in ("enumerate", "zip"):
        parts = tuple(taken(v) for v in arguments.positional)
        for item in items:
            atoms = merge(atoms, orders(item.atoms))
        row = Value(EMPTY, ListShape((NOTHING, *parts[:1]) if last == "enumerate" else parts))
        return Value(atoms, ListShape((row,), False))
    for item in items:
        atoms = merge(atoms, item.all_atoms())
    return Value(atoms)
