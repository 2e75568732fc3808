"""Objects made by calls of classes, the project's and others'."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.lint.flow.apply import bind_arguments, call_function
from pytest_cachesafe.lint.flow.atoms import EMPTY, merge
from pytest_cachesafe.lint.flow.classes import (
    annotated_names,
    attributes_with_parameters,
    base_words,
    default_of,
    find_method,
    mro,
)
from pytest_cachesafe.lint.flow.substitute import substitute
from pytest_cachesafe.lint.flow.values import NOTHING, DictShape, Ext, Func, Lambda, Obj, Value, join
from pytest_cachesafe.lint.tables import transfers

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.module import ClassInfo

__all__ = ["construct", "field_default", "text_object"]


def construct(engine: Engine, frame: Frame, node: ast.Call, cls: ClassInfo, arguments: Arguments) -> Value:
    """An object of a class of the project: volatile per field, unless the class is text."""
    frame.module.used.add(cls.module.name)
    init = find_method(engine, cls, "__init__")
    fields: dict[str, Value] = {}
    made = Value(shape=Obj(cls))
    if init is not None:
        if any(map(_may_bring, arguments.every())):
            # Its methods say what becomes of what it is made with.
            for base in mro(engine, cls):
                for method in base.methods.values():
                    if method is not init:
                        engine.summary(method, cls)
        call_function(
            engine,
            frame,
            (init,),
            arguments.positional,
            arguments.keywords,
            made,
            node,
            cls,
            arguments.nodes,
            arguments.rest,
        )
        given = {
            k: v
            for k, (v, _) in bind_arguments(
                init, arguments.positional, arguments.keywords, made, arguments.nodes, node, arguments.rest
            ).items()
        }
        if not any(value.all_atoms() for value in arguments.every()):
            # What others of its class are made with is none of its business, if all that it is given is seen.
            return made if _is_open(node) else Value(shape=Obj(cls, None, (init.key, given)))
        for name, value in attributes_with_parameters(engine, cls).items():
            fields[name] = substitute(value, init.key, given, None)
        return Value(_text_of(fields) if _is_text(engine, cls) else EMPTY, Obj(cls, fields, (init.key, given)))
    names = [n for c in reversed(mro(engine, cls)) for n in annotated_names(engine, c)]
    for name, value in zip(names, arguments.positional, strict=False):
        fields[name] = value
    for name, (value, _) in arguments.keywords.items():
        fields[name] = value
    defaults = {name: default_of(engine, cls, name) for name in names if name not in fields}
    text = _is_text(engine, cls)
    if not text:
        for name, value in fields.items():
            if any(a.source is not None for a in value.atoms.values()):
                old = cls.constructed.get(name)
                cls.constructed[name] = value if old is None else join(old, value)
                engine.grown.add(cls.key)
    # What is made anew for this very object is no stamp of one that was kept.
    fields |= {name: value for name, value in defaults.items() if value is not None and value.atoms}
    return Value(_text_of(fields) if text else EMPTY, Obj(cls, fields))


def _may_bring(value: Value) -> bool:
    """Whether a value is volatile, or a function that may give something volatile when it is called."""
    handed = isinstance(value.shape, (Ext, Func, Lambda))
    return handed or any(a.source is not None for a in value.all_atoms().values())


def _is_open(node: ast.Call) -> bool:
    """Whether a call hands over more than it names: `*args`, `**options`."""
    return any(keyword.arg is None for keyword in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args)


def _is_text(engine: Engine, cls: ClassInfo) -> bool:
    return any(transfers.TEXT_CLASSES.search(w) for w in base_words(engine, cls))


def _text_of(fields: dict[str, Value]) -> Any:
    atoms = EMPTY
    for name in ("content", "text", "template", "prompt", "parts", "value"):
        if name in fields:
            atoms = merge(atoms, fields[name].all_atoms())
    return atoms


def field_default(engine: Engine, frame: Frame, arguments: Arguments) -> Value:
    """`field(default=…)`, `Field(default_factory=…)`: made anew for each object."""
    given = arguments.keywords.get("default_factory")
    if given is not None:
        shape = given[0].shape
        if isinstance(shape, Lambda):
            return shape.result
        if isinstance(shape, Func):
            return call_function(engine, frame, shape.functions, [], {}, shape.bound, given[1], None)
        if isinstance(shape, Ext):
            known = engine.tables.calls.get(shape.dotted)
            if known is not None:
                return engine.source(frame, given[1], *known, f"{shape.dotted}()")
        return NOTHING
    if "default" in arguments.keywords:
        return arguments.keywords["default"][0]
    return arguments.positional[0] if arguments.positional else NOTHING


def text_object(engine: Engine, frame: Frame, node: ast.Call, last: str, arguments: Arguments) -> Value:
    """An object of a class outside the project whose name says that it is text."""
    atoms = EMPTY
    fields = {name: value for name, (value, _) in arguments.keywords.items()}
    for name in ("content", "text", "template", "prompt", "parts", "body", "messages"):
        if name in fields:
            atoms = merge(atoms, fields[name].all_atoms())
    if not any(n in fields for n in ("content", "text", "template", "parts")):
        for value in arguments.positional[:2]:
            atoms = merge(atoms, value.all_atoms())
    return Value(atoms, DictShape(fields)) if fields else Value(atoms)
