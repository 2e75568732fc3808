"""Calls that turn values into text, into times or into others that hold the same."""

from __future__ import annotations

import ast
from types import NoneType
from typing import TYPE_CHECKING, TypeGuard

from pytest_cachesafe.lint.flow import clock
from pytest_cachesafe.lint.flow.atoms import EMPTY, merge, under
from pytest_cachesafe.lint.flow.classes import annotated_names, class_attribute, mro
from pytest_cachesafe.lint.flow.construct import field_default
from pytest_cachesafe.lint.flow.derive import cut, first_match, record_of
from pytest_cachesafe.lint.flow.names import attribute
from pytest_cachesafe.lint.flow.text import order_told, shown
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    Const,
    DictShape,
    Ext,
    ListShape,
    Obj,
    ParamShape,
    PartShape,
    Shape,
    Value,
    join_all,
)

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["converted", "fields_of", "formatted_clock", "handed_on", "replaces"]

# Their result is one of their arguments, or has its parts.
_KEEPS_SHAPE = frozenset(
    (
        "deepcopy",
        "copy",
        "cast",
        "asdict",
        "vars",
        "Field",
        "field",
        "wait_for",
        "shield",
        "create_task",
        "ensure_future",
        "run",
    )
)


def replaces(node: ast.expr | None) -> bool:
    """`lambda text, pair: text.replace("{" + pair[0] + "}", pair[1])`."""
    if not isinstance(node, ast.Lambda) or not node.args.args or not isinstance(node.body, ast.Call):
        return False
    called = node.body.func
    return (
        isinstance(called, ast.Attribute)
        and called.attr == "replace"
        and isinstance(called.value, ast.Name)
        and called.value.id == node.args.args[0].arg
    )


def converted(engine: Engine, frame: Frame, node: ast.Call, name: str, last: str, arguments: Arguments) -> Value | None:
    """Text, numbers and times made of arguments; None for any other call."""
    if name == "getattr" and len(arguments.positional) > 1:
        return _attribute_of(engine, frame, node, arguments.positional)
    if last in ("str", "repr", "format") and arguments.positional:
        value = order_told(frame, node, shown(engine, frame, arguments.positional[0], node))
        if last == "format" and len(arguments.positional) > 1:
            return _cut_by(value, arguments.written(1))
        return value
    if last in ("int", "round") and len(arguments.positional) == 1:
        return cut(arguments.positional[0].text(), _unit(arguments.nodes[0]) or "second")
    if name == "divmod" and len(arguments.positional) == 2:
        text, size = arguments.positional[0].text(), arguments.positional[1].shape
        unit = clock.of_divisor(ast.unparse(node.args[0]), size.value) if _is_number(size) else None
        return Value(EMPTY, ListShape((cut(text, unit or "second"), cut(text, "second"))))
    if last == "dumps":
        atoms = arguments.positional[0].all_atoms() if arguments.positional else EMPTY
        return order_told(frame, node, Value(atoms)) if atoms else NOTHING
    if last == "Counter" and arguments.positional:
        # How many there are of each says how things stand, nothing of their order or their texts.
        atoms = arguments.positional[0].all_atoms()
        return Value({k: a for k, a in atoms.items() if a.source is not None and a.source.kind == "state"})
    if name.endswith("random.Random") and not arguments.positional:
        return Value(shape=Ext("random"))
    if last == "strftime" and len(arguments.positional) == 2 and not name.startswith("time."):
        return _cut_by(arguments.positional[0].text(), arguments.written(1))
    if last == "strftime" and name.startswith("time.") and len(arguments.positional) > 1:
        return formatted_clock(arguments.positional[1].text(), last, arguments)
    return None


def _is_number(shape: Shape | None) -> TypeGuard[Const]:
    return isinstance(shape, Const) and isinstance(shape.value, int | float)


def _unit(node: ast.expr) -> str | None:
    """How often `seconds / 3600` changes as a whole number."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant):
        size = node.right.value
        return clock.of_divisor(ast.unparse(node.left), size) if isinstance(size, int | float) else None
    return None


def handed_on(engine: Engine, frame: Frame, node: ast.Call, last: str, arguments: Arguments) -> Value:
    """What a function gives back whose result holds what its arguments hold."""
    value = join_all(arguments.every())
    if last in _KEEPS_SHAPE:
        picked = (
            arguments.positional[-1]
            if last == "cast" and arguments.positional
            else arguments.positional[0]
            if arguments.positional
            else value
        )
        if last in ("Field", "field"):
            return field_default(engine, frame, arguments)
        if last in ("asdict", "vars") and isinstance(picked.shape, Obj):
            return fields_of(engine, picked, picked.shape)
        return picked
    record = record_of(arguments.positional[:1]) if last in ("next", "anext", "min", "max") else None
    if record is not None:
        return join_all([record, *arguments.positional[1:]])
    # By what one is chosen is not in it.
    arguments.keywords.pop("key", None)
    atoms = EMPTY
    for item in arguments.every():
        atoms = merge(
            atoms, shown(engine, frame, item, node).atoms if last in ("indent", "dedent") else item.all_atoms()
        )
    if not atoms:
        return NOTHING
    return first_match(Value(atoms)) if last == "next" else Value(atoms)


def _attribute_of(engine: Engine, frame: Frame, node: ast.Call, given: list[Value]) -> Value | None:
    """`getattr(owner, "name", default)` of something unknown: not all that it holds. Objects are not asked: what is put
    into a field of theirs is judged where it is put."""
    owner, name = given[0], given[1].shape
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return None
    if isinstance(owner.shape, DictShape):
        return join_all([attribute(engine, frame, owner, name.value, node), *given[2:]])
    if not isinstance(owner.shape, (ParamShape, PartShape, NoneType)):
        return None
    of_caller = {k: a for k, a in owner.atoms.items() if a.source is None and a.mark is None}
    found = merge(attribute(engine, frame, owner, name.value, node).atoms, under(of_caller, (name.value,)))
    return join_all([Value(found), *given[2:]])


def fields_of(engine: Engine, value: Value, shape: Obj) -> Value:
    """An object as a dict of its fields."""
    cls = shape.cls
    known = {
        n: class_attribute(engine, cls, n)
        for c in mro(engine, cls)
        for n in annotated_names(engine, c)
        if n not in shape.fields
    }
    return Value(
        value.atoms,
        DictShape({**{n: v for n, v in known.items() if v is not None}, **shape.fields}),
    )


def formatted_clock(value: Value, last: str, arguments: Arguments) -> Value:
    """A clock that is printed where it is read, by `strftime(format)`."""
    if last == "strftime" and arguments.positional:
        return _cut_by(value, arguments.written(0))
    return value


def _cut_by(value: Value, spec: str | None) -> Value:
    """A clock after a format string, where that is known."""
    if spec is None:
        return value
    return NOTHING if clock.tells_zone_only(spec) else cut(value, clock.of_format(spec))
