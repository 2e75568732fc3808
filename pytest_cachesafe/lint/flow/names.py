"""Values of names and attributes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.lint.flow import clock
from pytest_cachesafe.lint.flow.apply import call_function
from pytest_cachesafe.lint.flow.atoms import EMPTY, UNORDERED_KINDS, merge
from pytest_cachesafe.lint.flow.classes import class_attribute, find_method
from pytest_cachesafe.lint.flow.derive import finer
from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.imports import forced, module_attribute, star_imported
from pytest_cachesafe.lint.flow.kept_state import state_attribute
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.moment import work_in_hand
from pytest_cachesafe.lint.flow.people import person_attribute
from pytest_cachesafe.lint.flow.personal import only_parameters, personal_attribute
from pytest_cachesafe.lint.flow.places import LAST_PARTS, last_part
from pytest_cachesafe.lint.flow.present import present_attribute, present_name
from pytest_cachesafe.lint.flow.requested import request_attribute
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    Bound,
    Cls,
    Const,
    DictShape,
    Ext,
    Func,
    Lazy,
    ModShape,
    Obj,
    ParamShape,
    PartShape,
    RequestShape,
    Value,
)
from pytest_cachesafe.lint.tables import sources, transfers

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.atoms import Atom
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["attribute", "evaluate_attribute", "evaluate_name"]

# What is still volatile of a place that was looked up, and of something recalled.
_OF_PLACES = frozenset(("city", "country", "region", "county", "postal", "latlng", "lat", "lng", "address", "timezone"))
_PARTS = {
    "memory": frozenset(("memory", "memories", "summary", "fact", "facts", "topics", "input", "page_content")),
    "user": _OF_PLACES,
    "locale": _OF_PLACES,
    "state": frozenset(("status", "state", "done", "title", "text", "label", "path", "uri")),
}
_BUILTINS = frozenset((
    "id", "hash", "str", "repr", "list", "tuple", "dict", "set", "frozenset", "sorted", "reversed", "map", "filter",
    "zip", "enumerate", "format", "open", "len", "min", "max", "sum", "int", "float", "round", "getattr", "next",
    "iter", "vars", "super", "print", "isinstance", "bytes", "any", "all", "type", "bool", "object", "abs", "range",
    "hasattr", "setattr", "Exception",
))  # fmt: skip


def evaluate_name(engine: Engine, frame: Frame, node: ast.Name) -> Value:
    """`name`."""
    value = frame.lookup(node.id)
    if value is None:
        env = frame.module.env
        value = forced(engine, frame.module, env, node.id) if env is not None else None
        if value is None:
            if node.id in _BUILTINS:
                return Value(shape=Ext(node.id))
            value = star_imported(engine, frame.module, node.id) if frame.module.stars else None
            if value is None:
                return NOTHING
    elif isinstance(value.shape, Lazy):
        env = frame.env if frame.env.get(node.id) is value else {node.id: value}
        value = forced(engine, frame.module, env, node.id) or NOTHING
    if isinstance(value.shape, RequestShape):
        return Value(merge(value.atoms, engine.source(frame, node, "user", "user", node.id).atoms), value.shape)
    if (
        isinstance(value.shape, (ParamShape, PartShape, type(None)))
        and node.id in sources.PERSONAL_NAMES
        and only_parameters(value)
    ):
        kind, granularity = sources.PERSONAL_NAMES[node.id]
        return Value(merge(value.atoms, engine.source(frame, node, kind, granularity, node.id).atoms), value.shape)
    if (
        isinstance(value.shape, (ParamShape, PartShape, type(None)))
        and node.id in sources.STATE_NAMES
        and only_parameters(value)
    ):
        kind, granularity = sources.STATE_NAMES[node.id]
        return Value(merge(value.atoms, engine.source(frame, node, kind, granularity, node.id).atoms), value.shape)
    if isinstance(value.shape, ParamShape) and sources.MEMORY_NAMES.match(node.id) and only_parameters(value):
        return Value(merge(value.atoms, engine.source(frame, node, "memory", "call", node.id).atoms), value.shape)
    if isinstance(value.shape, ParamShape) and only_parameters(value):
        present = present_name(engine, frame, node)
        if present is not None:
            return Value(merge(value.atoms, present.atoms), value.shape)
    return value


def _near(frame: Frame, shape: Obj, value: Value) -> Value:
    """What objects of a class hold, for one of them that was made elsewhere: not the order of a set or a directory that
    another file has put into some object of that class."""
    files = (frame.module.name, shape.cls.module.name)
    far = {
        k
        for k, a in value.atoms.items()
        if a.source is not None and a.source.kind in UNORDERED_KINDS and a.source.span.filename not in files
    }
    if not far:
        return value
    return Value({k: a for k, a in value.atoms.items() if k not in far}, value.shape, value.latent)


def evaluate_attribute(engine: Engine, frame: Frame, node: ast.Attribute) -> Value:
    """`owner.name` as an expression."""
    # What this very function wrote last is truer than what the class knows.
    if isinstance(node.value, ast.Name):
        written = frame.lookup(f"{node.value.id}.{node.attr}")
        if written is not None:
            return written
    env = frame.module.env
    if env:
        whole = env.get(dotted_name(node))
        if whole is not None and isinstance(whole.shape, (Lazy, ModShape)):
            # import a.b
            return forced(engine, frame.module, env, dotted_name(node)) or NOTHING
    owner = evaluate(engine, frame, node.value)
    value = attribute(engine, frame, owner, node.attr, node)
    asking = (
        request_attribute(engine, frame, node)
        or state_attribute(engine, frame, node)
        or work_in_hand(engine, frame, node, dotted_name(node))
        or person_attribute(engine, frame, owner, node, value)
    )
    if asking is not None:
        return asking
    if not value.atoms and not isinstance(value.shape, (Func, Cls, ModShape, Const)):
        personal = personal_attribute(engine, frame, node)
        if personal is not None:
            return Value(personal.atoms, value.shape)
    if not value.atoms or only_parameters(value):
        present = present_attribute(engine, frame, node, value)
        if present is not None:
            return Value(merge(value.atoms, present.atoms), value.shape)
    return value


def attribute(engine: Engine, frame: Frame, owner: Value, name: str, node: ast.expr) -> Value:
    """`owner.name`."""
    shape = owner.shape
    if isinstance(shape, Ext):
        dotted = f"{shape.dotted}.{name}"
        known = sources.ATTRIBUTES.get(dotted)
        if known is not None:
            return Value(engine.source(frame, node, *known, dotted).atoms, Ext(dotted))
        return Value(owner.atoms, Ext(dotted))
    if isinstance(shape, ModShape):
        return module_attribute(engine, frame, shape.module, name) or NOTHING
    if isinstance(shape, Obj):
        if name in shape.fields:
            return shape.fields[name]
        method = find_method(engine, shape.cls, name, shape.above)
        if method is not None:
            if method.kind == "property":
                return call_function(engine, frame, (method,), [], {}, owner, node, shape.cls)
            return Value(shape=Func((method,), owner))
        found = class_attribute(engine, shape.cls, name)
        return _near(frame, shape, found) if found is not None else Value(shape=Bound(owner, name))
    if isinstance(shape, Cls):
        method = find_method(engine, shape.cls, name)
        if method is not None:
            return Value(shape=Func((method,), Value(shape=shape) if method.kind == "class" else None))
        return class_attribute(engine, shape.cls, name) or Value(shape=Ext(f"{shape.cls.name}.{name}"))
    if isinstance(shape, DictShape) and name in shape.fields and name not in transfers.STRING_METHODS:
        return shape.fields[name]
    atoms: dict[Any, Atom] = {}
    part = clock.of_attribute(name)
    for key, atom in owner.atoms.items():
        if atom.source is None:
            continue
        if part is not None and clock.tells_time(atom.source):
            atoms[key] = finer(atom, part)
        elif name == "tzinfo" and atom.source.kind == "clock":
            # The time zone, not the time.
            continue
        elif name in transfers.KEPT_ATTRIBUTES or name in _PARTS.get(atom.source.kind, ()):
            atoms[key] = atom
    if name in LAST_PARTS and atoms and isinstance(node, ast.Attribute):
        atoms = dict(last_part(atoms, node.value))
    if name in sources.FILE_TIMES:
        return engine.source(frame, node, "file", "microsecond", f"the time of a file ({name})")
    known_method = sources.METHODS.get(name)
    if known_method is not None and name == "hexsha":
        return engine.source(frame, node, *known_method, name)
    return Value(atoms or EMPTY, Bound(owner, name))
