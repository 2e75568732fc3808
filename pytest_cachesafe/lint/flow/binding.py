"""Targets bound to values, without regard to their names."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from cachesafe_rules.model import Step
from pytest_cachesafe.lint.flow.atoms import EMPTY, merge, tabled
from pytest_cachesafe.lint.flow.derive import ANY_KEY, is_record, iterated
from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    DictShape,
    ListShape,
    Obj,
    ParamShape,
    PartShape,
    Value,
    join,
    whole,
)

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["bind", "frozen_atoms"]


def bind(engine: Engine, frame: Frame, target: ast.expr, value: Value, mutated: bool = False) -> None:
    """Bind a target to a value, without looking at its name. `mutated`: the object changed in place."""
    if isinstance(target, ast.Name):
        if value.atoms:
            atoms = value.atoms
            if frame.frozen:
                atoms = frozen_atoms(atoms)
            if not mutated:
                step = Step(frame.module.name, target.lineno, f"assigned to {target.id}")
                atoms = {k: a.at(step) for k, a in atoms.items()}
            value = Value(atoms, value.shape, value.latent)
        if frame.frozen and value.latent:
            value = Value(value.atoms, value.shape, frozen_atoms(value.latent))
        if target.id in frame.outer:
            owner = frame.parent
            while owner is not None and target.id not in owner.env:
                owner = owner.parent
            if owner is not None:
                owner.env[target.id] = join(owner.env[target.id], value)
                return
        if target.id in frame.globals and frame.module.env is not None:
            old = frame.module.env.get(target.id)
            frame.module.env[target.id] = join(old, value) if old is not None else value
            return
        if mutated and target.id not in frame.env:
            owner = frame.parent
            while owner is not None and target.id not in owner.env:
                owner = owner.parent
            if owner is not None:
                owner.env[target.id] = value
                return
        frame.env[target.id] = value
        # What was known of attributes and items of the old object is gone.
        if not mutated and target.id in frame.dotted:
            for key in frame.dotted.pop(target.id):
                frame.env.pop(key, None)
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = (
            value.shape.items
            if isinstance(value.shape, ListShape) and value.shape.exact and len(value.shape.items) == len(target.elts)
            else None
        )
        item = iterated(value) if parts is None else NOTHING
        for i, part in enumerate(target.elts):
            if parts is not None:
                bind(engine, frame, part, Value(merge(parts[i].atoms, value.atoms), parts[i].shape, parts[i].latent))
            else:
                bind(engine, frame, part.value if isinstance(part, ast.Starred) else part, item)
    elif isinstance(target, ast.Attribute):
        name = dotted_name(target)
        if value.atoms and not mutated:
            step = Step(frame.module.name, target.lineno, f"assigned to {name}")
            value = Value({k: a.at(step) for k, a in value.atoms.items()}, value.shape, value.latent)
        first = frame.env.get(name.split(".", 1)[0])
        if isinstance(target.value, ast.Name):
            if first is not None and isinstance(first.shape, Obj) and first.shape.cls is frame.cls:
                old = frame.writes.get(target.attr)
                frame.writes[target.attr] = join(old, value) if old is not None else value
            elif first is not None and isinstance(first.shape, Obj) and target.value.id != "self":
                frame.env[target.value.id] = Value(
                    first.atoms, Obj(first.shape.cls, {**first.shape.fields, target.attr: value})
                )
        frame.env[name] = value
        frame.dotted.setdefault(name.split(".", 1)[0], []).append(name)
    elif isinstance(target, ast.Subscript):
        _bind_item(engine, frame, target, value)
    elif isinstance(target, ast.Starred):
        bind(engine, frame, target.value, value)


def _bind_item(engine: Engine, frame: Frame, target: ast.Subscript, value: Value) -> None:
    owner = evaluate(engine, frame, target.value)
    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
    if isinstance(owner.shape, DictShape) and isinstance(key, str):
        new = Value(
            owner.atoms, DictShape({**owner.shape.fields, key: value}, owner.shape.mark, owner.shape.rest), owner.latent
        )
    elif isinstance(owner.shape, (DictShape, PartShape, type(None))) and is_record(value) and not isinstance(key, str):
        # A table of records: each of their places keeps what it holds, whatever the key.
        fields = owner.shape.fields if isinstance(owner.shape, DictShape) else {}
        old = fields.get(ANY_KEY)
        kept = {**fields, ANY_KEY: value if old is None else join(old, value)}
        mark = owner.shape.mark if isinstance(owner.shape, DictShape) else None
        new = Value(owner.atoms, DictShape(kept, mark, whole(owner)), owner.latent)
    elif owner.shape is None or isinstance(owner.shape, (ParamShape, PartShape)):
        new = (
            Value(owner.atoms, DictShape({key: value}, None, whole(owner)))
            if isinstance(key, str)
            else Value(merge(owner.atoms, tabled(value.all_atoms())), owner.shape, owner.latent)
        )
    else:
        extra = evaluate(engine, frame, target.slice).all_atoms() if not isinstance(target.slice, ast.Slice) else EMPTY
        # The number under which a thing is stored stays with it, however far the counter goes.
        extra = {k: a for k, a in extra.items() if a.source is None or a.source.kind != "state"}
        # A key is only seen where all keys are.
        new = Value(merge(owner.atoms, tabled(value.all_atoms())), owner.shape, merge(owner.latent, extra))
    if frame.orders:
        order = frame.collected(dotted_name(target.value).partition(".")[0])
        new = Value(new.atoms, new.shape, merge(new.latent, order)) if order else new
    if isinstance(target.value, (ast.Name, ast.Attribute, ast.Subscript)):
        bind(engine, frame, target.value, new, mutated=True)


def frozen_atoms(atoms: Any) -> Any:
    """Atoms whose sources are read once, at import."""
    from dataclasses import replace

    return {
        k: a if a.source is None or a.source.frozen else a._replace(source=replace(a.source, frozen=True))
        for k, a in atoms.items()
    }
