"""Methods that change a list, dict or set in place."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow.arrive import arrive
from pytest_cachesafe.lint.flow.atoms import merge
from pytest_cachesafe.lint.flow.binding import bind
from pytest_cachesafe.lint.flow.derive import iterated
from pytest_cachesafe.lint.flow.drawn import Keys, draws, followed, has_own_seed, is_seeded
from pytest_cachesafe.lint.flow.marks import list_positions
from pytest_cachesafe.lint.flow.messages import user_text
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.parts import is_row_of_text
from pytest_cachesafe.lint.flow.records import kept
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    Const,
    DictShape,
    ListShape,
    ParamShape,
    PartShape,
    Value,
    join,
    whole,
)
from pytest_cachesafe.lint.tables import sinks

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["mutate", "shuffled"]


def mutate(engine: Engine, frame: Frame, node: ast.Call, receiver: Value, name: str, arguments: Arguments) -> Value:
    """`receiver.append(…)` and the like: the receiver is bound anew."""
    assert isinstance(node.func, ast.Attribute)
    shape = receiver.shape
    items = arguments.positional
    new = receiver
    drawn = followed(frame, dotted_name(node.func.value).partition(".")[0], receiver)
    if items and sinks.is_user_name(dotted_name(node.func.value).rpartition(".")[2]):
        # `request.user_content_parts.append(…)`: it goes out as the user's, whatever it was called before.
        user_text(engine, frame, items[-1])
    if name in ("append", "appendleft", "push") and items:
        lives_on = isinstance(node.func.value, ast.Attribute)
        new = _put(engine, frame, receiver, (kept(items[-1]) if lives_on else items[-1],), name == "appendleft", drawn)
    elif name == "insert" and len(items) > 1:
        at = items[0].shape
        new = _put(engine, frame, receiver, (items[1],), isinstance(at, Const) and at.value == 0)
    elif name in ("extend", "extendleft") and items:
        added = items[0]
        if isinstance(added.shape, ListShape):
            new = _put(engine, frame, receiver, added.shape.items, name == "extendleft", drawn | added.shape.drawn)
            if isinstance(new.shape, ListShape) and (not added.shape.exact or draws(added.atoms)):
                new = Value(
                    merge(new.atoms, added.atoms),
                    ListShape(new.shape.items, new.shape.exact and added.shape.exact, new.shape.drawn),
                    new.latent,
                )
        else:
            item = iterated(added)
            new = _put(engine, frame, receiver, (Value(item.all_atoms()),), False, drawn)
            if isinstance(new.shape, ListShape):
                atoms = merge(new.atoms, draws(added.atoms))
                new = Value(atoms, ListShape(new.shape.items, False, new.shape.drawn), new.latent)
    elif name == "update" and _are_sets(receiver, items):
        new = receiver
        for value in items:
            new = Value(merge(new.atoms, value.atoms), None, merge(new.latent, value.latent))
    elif name == "update":
        fields = dict(shape.fields) if isinstance(shape, DictShape) else {}
        atoms = receiver.atoms
        rest = whole(receiver)
        for value in items:
            if isinstance(value.shape, DictShape):
                fields.update(value.shape.fields)
            else:
                atoms = merge(atoms, value.atoms)
                rest |= whole(value)
        fields.update({k: v for k, (v, _) in arguments.keywords.items()})
        new = Value(
            atoms,
            DictShape(fields, shape.mark if isinstance(shape, DictShape) else None, rest)
            if shape is None or isinstance(shape, (DictShape, ParamShape, PartShape))
            else shape,
            receiver.latent,
        )
        for key, (value, where) in arguments.keywords.items():
            if key in ("content", "system_prompt") and "system" in dotted_name(node.func.value).lower():
                arrive(engine, frame, where, value, f"{dotted_name(node.func.value)}")
        for value, where in zip(items, arguments.nodes, strict=True):
            if (
                isinstance(value.shape, DictShape)
                and "content" in value.shape.fields
                and "system" in dotted_name(node.func.value).lower()
            ):
                arrive(engine, frame, where, value.shape.fields["content"], f"{dotted_name(node.func.value)}")
    elif name == "setdefault" and len(items) > 1:
        field = items[0].shape
        if (
            isinstance(field, Const)
            and isinstance(field.value, str)
            and (shape is None or isinstance(shape, (DictShape, ParamShape, PartShape)))
        ):
            known = dict(shape.fields) if isinstance(shape, DictShape) else {}
            known[field.value] = join(known[field.value], items[1]) if field.value in known else items[1]
            bind(
                engine,
                frame,
                node.func.value,
                Value(
                    receiver.atoms,
                    DictShape(known, shape.mark if isinstance(shape, DictShape) else None, whole(receiver)),
                    receiver.latent,
                ),
                mutated=True,
            )
            return known[field.value]
    elif name in ("add", "write", "writelines") and items:
        new = Value(merge(receiver.atoms, items[0].all_atoms()), shape, receiver.latent)
    if (frame.orders or frame.handed) and new is not receiver:
        root = dotted_name(node.func.value).partition(".")[0]
        adds_text = name in ("append", "write") and items and is_row_of_text(node.args[-1], items[-1])
        order = frame.collected_text(root) if adds_text else frame.collected(root)
        if order and isinstance(new.shape, DictShape):
            new = Value(new.atoms, new.shape, merge(new.latent, order))
        elif order and name != "add":
            new = Value(merge(new.atoms, order), new.shape, new.latent)
    if new is not receiver:
        bind(engine, frame, node.func.value, new, mutated=True)
    return NOTHING


def _are_sets(receiver: Value, items: Sequence[Value]) -> bool:
    """`names.update(others)` of a set that takes in others."""
    return (
        bool(receiver.latent)
        and receiver.shape is None
        and any(value.latent for value in items)
        and not any(isinstance(value.shape, DictShape) for value in items)
    )


def _put(
    engine: Engine, frame: Frame, receiver: Value, added: tuple[Value, ...], front: bool, drawn: Keys = frozenset()
) -> Value:
    shape = receiver.shape
    if isinstance(shape, ListShape):
        if front:
            return Value(receiver.atoms, ListShape((*added, *shape.items), shape.exact, shape.drawn), receiver.latent)
        list_positions(engine, frame, added, shape.items, shape.exact)
        return Value(receiver.atoms, ListShape((*shape.items, *added), shape.exact, drawn), receiver.latent)
    if not front:
        list_positions(engine, frame, added, (), False)
    return Value(receiver.atoms, ListShape(added, False, drawn), receiver.latent)


def shuffled(engine: Engine, frame: Frame, node: ast.Call, arguments: Arguments) -> Value:
    """`random.shuffle(items)`."""
    value = arguments.positional[0]
    if is_seeded(engine, frame) or has_own_seed(engine, frame, node):
        return NOTHING
    atoms = engine.source(frame, node, "random", "call", f"{dotted_name(node.func)}()").atoms
    bind(engine, frame, arguments.nodes[0], Value(merge(value.atoms, atoms), value.shape, value.latent), mutated=True)
    return NOTHING
