"""Values of dict, list, tuple and set displays and of comprehensions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.lint.flow.atoms import EMPTY, merge, orders, tabled, unordered
from pytest_cachesafe.lint.flow.binding import bind
from pytest_cachesafe.lint.flow.containers import set_source
from pytest_cachesafe.lint.flow.derive import ANY_KEY, is_record, iterated, taken
from pytest_cachesafe.lint.flow.drawn import draws
from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.marks import list_positions
from pytest_cachesafe.lint.flow.messages import dict_arrivals
from pytest_cachesafe.lint.flow.parts import handed_order, is_row_of_text
from pytest_cachesafe.lint.flow.values import Const, DictShape, ListShape, Value, whole

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["evaluate_comprehension", "evaluate_dict", "evaluate_list", "evaluate_set"]


def evaluate_dict(engine: Engine, frame: Frame, node: ast.Dict) -> Value:
    """`{key: value, **more}`."""
    fields: dict[str, Value] = {}
    atoms = latent = EMPTY
    rest: frozenset[tuple[Any, ...]] = frozenset()
    for key, item in zip(node.keys, node.values, strict=True):
        value = evaluate(engine, frame, item)
        if key is None:
            if isinstance(value.shape, DictShape):
                fields.update(value.shape.fields)
            else:
                atoms = merge(atoms, value.atoms)
                rest |= whole(value)
        else:
            k = evaluate(engine, frame, key)
            if isinstance(k.shape, Const):
                fields[k.shape.value if isinstance(k.shape.value, str) else repr(k.shape.value)] = value
            else:
                atoms = merge(atoms, tabled(value.atoms))
                # The key, and a set that is still a set: seen where the whole dict becomes text.
                latent = merge(latent, merge(k.text().atoms, tabled(value.all_atoms())))
    out = Value(atoms, DictShape(fields, None, rest), latent)
    return dict_arrivals(
        engine,
        frame,
        node,
        out,
        {
            k.value: v
            for k, v in zip(node.keys, node.values, strict=True)
            if isinstance(k, ast.Constant) and isinstance(k.value, str)
        },
    )


def evaluate_list(engine: Engine, frame: Frame, node: ast.List | ast.Tuple) -> Value:
    """`[…]` and `(…, …)`."""
    items: list[Value] = []
    exact = True
    last, drawn = EMPTY, frozenset[tuple[Any, ...]]()
    order = EMPTY
    for part in node.elts:
        # Something stands behind what was drawn before.
        drawn |= last.keys()
        if isinstance(part, ast.Starred):
            value = evaluate(engine, frame, part.value)
            last = merge(last, draws(value.atoms))
            if isinstance(value.shape, ListShape):
                drawn |= value.shape.drawn
            if isinstance(value.shape, ListShape):
                list_positions(engine, frame, value.shape.items, tuple(items), exact)
                items += value.shape.items
                exact = exact and value.shape.exact
                order = merge(order, orders(value.atoms))
            else:
                items.append(iterated(value))
                exact = False
            continue
        value = evaluate(engine, frame, part)
        list_positions(engine, frame, (value,), tuple(items), exact)
        items.append(value)
    shape = ListShape(tuple(items), exact, drawn)
    if isinstance(node, ast.Tuple) and len(items) == 2:
        return dict_arrivals(engine, frame, node, Value(last, shape), {})
    return Value(merge(last, order), shape)


def evaluate_set(engine: Engine, frame: Frame, node: ast.Set) -> Value:
    """`{…, …}`: its order is that of the process."""
    atoms = EMPTY
    for part in node.elts:
        atoms = merge(atoms, evaluate(engine, frame, part).all_atoms())
    return Value(
        atoms, None, EMPTY if len(node.elts) < 2 or _numbers(node) else set_source(engine, frame, node, "a set")
    )


def _numbers(node: ast.Set) -> bool:
    """Whether all elements are numbers, whose hashes no process changes."""
    return all(isinstance(part, ast.Constant) and isinstance(part.value, (int, float)) for part in node.elts)


def evaluate_comprehension(engine: Engine, frame: Frame, node: Any) -> Value:
    """Comprehensions and generators: the order of what is iterated stays."""
    saved = frame.fork()
    order = handed = EMPTY
    for generator in node.generators:
        source = evaluate(engine, frame, generator.iter)
        order = merge(order, orders(iterated(source).atoms))
        handed = merge(handed, handed_order(source))
        bind(engine, frame, generator.target, taken(source))
        for test in generator.ifs:
            evaluate(engine, frame, test)
    if isinstance(node, ast.DictComp):
        key, value = evaluate(engine, frame, node.key), evaluate(engine, frame, node.value)
        frame.env.clear()
        frame.env.update(saved)
        if is_record(value):
            return Value(EMPTY, DictShape({ANY_KEY: value}), merge(order, key.all_atoms()))
        return Value(merge(key.all_atoms(), tabled(value.atoms)), None, merge(order, tabled(value.all_atoms())))
    item = evaluate(engine, frame, node.elt)
    frame.env.clear()
    frame.env.update(saved)
    if isinstance(node, ast.SetComp):
        return Value(unordered(item.all_atoms()), None, set_source(engine, frame, node, "a set"))
    if handed and is_row_of_text(node.elt, item):
        order = merge(order, handed)
    return Value(order, ListShape((item,), False))
