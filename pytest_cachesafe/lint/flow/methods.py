"""Methods of values of unknown class: strings, lists, dicts, paths, clocks."""

from __future__ import annotations

import ast
from types import NoneType
from typing import TYPE_CHECKING

from cachesafe_rules.policy import WRITTEN_OUT
from pytest_cachesafe.lint.flow import clock
from pytest_cachesafe.lint.flow.atoms import EMPTY, merge, under
from pytest_cachesafe.lint.flow.binding import bind
from pytest_cachesafe.lint.flow.convert import fields_of
from pytest_cachesafe.lint.flow.derive import ANY_KEY, cut, fallback, item_of, iterated, ordered
from pytest_cachesafe.lint.flow.expanded import REPLACERS, expanded
from pytest_cachesafe.lint.flow.external import external
from pytest_cachesafe.lint.flow.filled import fill_template, filled
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.mutate import mutate, shuffled
from pytest_cachesafe.lint.flow.places import of_field, within
from pytest_cachesafe.lint.flow.rewritten import read_anew
from pytest_cachesafe.lint.flow.substitute import part_of
from pytest_cachesafe.lint.flow.text import texted
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    Const,
    DictShape,
    ListShape,
    Obj,
    ParamShape,
    PartShape,
    TemplateShape,
    TextFile,
    Value,
    join,
    join_all,
)
from pytest_cachesafe.lint.tables import sources, transfers

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.atoms import Atoms
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["method"]

_READERS = frozenset(("read_text", "read", "readlines", "read_bytes", "aread_text"))
_RUNS = frozenset(
    (
        "invoke",
        "ainvoke",
        "stream",
        "astream",
        "batch",
        "abatch",
        "format_messages",
        "format_prompt",
        "format",
        "partial",
        "aformat_messages",
        "bind",
    )
)
# Methods that fill the placeholders of a text.
_FILLS = frozenset((
    "format", "format_map", "replace", "substitute", "safe_substitute", "render", "arender", "render_async",
    "safe_format",
))  # fmt: skip
# Their result holds nothing of their arguments.
_ALONE = frozenset((
    "get", "pop", "strip", "split", "encode", "decode", "astimezone", "items", "values", "keys", "result", "to_string",
    "model_dump", "model_dump_json", "dict", "json", "to_dict", "as_dict", "_asdict", "copy",
))  # fmt: skip
# An object of fields as a dict.
_AS_DICT = frozenset(("model_dump", "dict", "to_dict", "as_dict", "_asdict"))


def method(engine: Engine, frame: Frame, node: ast.Call, receiver: Value, name: str, arguments: Arguments) -> Value:
    """`receiver.name(…)`."""
    shape = receiver.shape
    if isinstance(shape, TemplateShape) and name in _RUNS:
        return fill_template(engine, frame, shape, name, arguments)
    if _is_time(receiver):
        unit = arguments.first("unit")
        same, granularity = clock.of_method(name, str(arguments.written(0) or (unit[0] if unit else "")))
        if same:
            return cut(Value(receiver.atoms), granularity)
    if name in transfers.MUTATORS and isinstance(node.func, ast.Attribute):
        return mutate(engine, frame, node, receiver, name, arguments)
    if name == "sort" and isinstance(node.func, ast.Attribute):
        bind(engine, frame, node.func.value, ordered(receiver))
        return NOTHING
    if name == "shuffle" and arguments.nodes:
        return shuffled(engine, frame, node, arguments)
    if sources.MEMORY_OWNERS.search(dotted_name(node.func)):
        return engine.source(frame, node, "memory", "call", f"{dotted_name(node.func)}()")
    if name in _READERS:
        return _read(engine, frame, node, receiver)
    known = sources.METHODS.get(name)
    if known is not None:
        value = engine.source(frame, node, *known, f"{name}()")
        return Value(EMPTY, None, value.atoms) if known[0] == "listing" else value
    if name == "glob" and isinstance(node.func, ast.Attribute):
        return Value(EMPTY, None, engine.source(frame, node, "listing", "host", "glob()").atoms)
    if isinstance(shape, DictShape):
        found = _dict_method(frame, node, receiver, shape, name, arguments)
        if found is not None:
            return found
    if name == "copy":
        return receiver
    if name in _AS_DICT and isinstance(shape, Obj):
        return fields_of(engine, receiver, shape)
    clocked = _clock_method(receiver, name, arguments)
    if clocked is not None:
        return clocked
    if name == "join" and arguments.positional:
        parts = arguments.positional[0]
        atoms = merge(receiver.text().atoms, parts.all_atoms())
        return texted(frame, node, atoms, "joined into a string")
    if name in _FILLS:
        return filled(engine, frame, node, receiver, name, arguments)
    if name == "relative_to":
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and arguments.positional:
            frame.below[node.func.value.id] = arguments.positional[0]
        return Value(within(merge(receiver.atoms, receiver.latent)))
    if name in transfers.STRING_METHODS:
        atoms = receiver.all_atoms() if shape is not None else merge(receiver.atoms, receiver.latent)
        if name not in _ALONE:
            for value in arguments.every():
                atoms = merge(atoms, value.all_atoms())
        if name in ("items", "values", "keys"):
            return iterated(Value(atoms))
        if name in ("get", "setdefault", "pop") and isinstance(shape, (ParamShape, PartShape, NoneType)):
            part = _part(receiver, arguments)
            if part is not None:
                return part
            atoms = _under_key(atoms, arguments)
        if name in ("get", "setdefault") or (name == "pop" and len(arguments.positional) > 1):
            key = arguments.positional[0].shape if arguments.positional else None
            if isinstance(key, Const) and isinstance(key.value, str):
                atoms = of_field(atoms)
            return item_of(Value(atoms)) if atoms else NOTHING
        return Value(atoms) if atoms else NOTHING
    if name in transfers.STABLE:
        return NOTHING
    if name in REPLACERS:
        # Of a compiled pattern.
        return expanded(engine, frame, node, arguments, 0)
    # A project's own helper on an object of unknown class, known by its name only.
    return (
        external(engine, frame, node, "", dotted_name(node.func), name, arguments)
        if name in sources.HELPERS
        or sources.MEMORY_CALLS.match(name)
        or sources.MEMORY_OWNERS.search(dotted_name(node.func))
        or dotted_name(node.func) in engine.tables.calls
        or ".".join(dotted_name(node.func).split(".")[-2:]) in engine.tables.tails
        else NOTHING
    )


def _is_time(receiver: Value) -> bool:
    """Whether a value is a time and nothing else: a text that holds one has the methods of texts."""
    return bool(receiver.atoms) and all(
        a.source is not None
        and clock.tells_time(a.source)
        and not any(map(WRITTEN_OUT.match, (s.message for s in a.steps)))
        for a in receiver.atoms.values()
    )


def _under_key(atoms: Atoms, arguments: Arguments) -> Atoms:
    """What a constant key finds."""
    key = arguments.positional[0].shape if arguments.positional else None
    return under(atoms, (key.value,)) if isinstance(key, Const) and isinstance(key.value, str) else atoms


def _part(receiver: Value, arguments: Arguments) -> Value | None:
    """What a constant key finds in a dict that the caller gives."""
    key = arguments.positional[0].shape if arguments.positional else None
    return part_of(receiver, (key.value,)) if isinstance(key, Const) and isinstance(key.value, str) else None


def _dict_method(
    frame: Frame, node: ast.Call, receiver: Value, shape: DictShape, name: str, arguments: Arguments
) -> Value | None:
    """Methods that look into a dict; None for any other."""
    if name in ("get", "pop", "setdefault") and arguments.positional:
        key = arguments.positional[0].shape
        default = arguments.positional[1] if len(arguments.positional) > 1 else NOTHING
        default = fallback(default, frame.module.name, node.lineno)
        if isinstance(key, Const):
            found = shape.fields.get(key.value) if isinstance(key.value, str) else None
            if found is None:
                found = shape.fields.get(ANY_KEY)
            if found is None and len(receiver.atoms) == 1 and shape.rest == frozenset(receiver.atoms):
                # A copy of what the caller gives.
                found = _part(Value(receiver.atoms, PartShape()), arguments)
            return (
                join(default, Value(_under_key(receiver.atoms, arguments))) if found is None else join(found, default)
            )
        return join_all([*shape.fields.values(), default])
    if name in ("values", "items", "keys"):
        if name == "keys":
            return Value(receiver.atoms, None, receiver.latent)
        if name == "values":
            # In order, so that they can be unpacked again.
            return Value(receiver.atoms, ListShape(tuple(shape.fields.values())), receiver.latent)
        item = join_all(list(shape.fields.values()))
        pairs = ListShape((Value(EMPTY, ListShape((NOTHING, item))),), False)
        return Value(receiver.atoms, pairs, receiver.latent)
    if name in ("copy", "model_copy"):
        return receiver
    return None


def _clock_method(receiver: Value, name: str, arguments: Arguments) -> Value | None:
    """Methods that format or cut a clock; None for any other."""
    if name == "strftime" and receiver.atoms:
        written = arguments.written(0) or ""
        return NOTHING if clock.tells_zone_only(written) else cut(Value(receiver.atoms), clock.of_format(written))
    if name in ("date", "to_date_string", "to_formatted_date_string") and not arguments.positional:
        return cut(Value(receiver.atoms), "day")
    if name in ("weekday", "isoweekday", "isocalendar", "toordinal"):
        return cut(Value(receiver.atoms), "day")
    if name in ("hour", "floor") and arguments.positional and isinstance(arguments.positional[0].shape, Const):
        return cut(Value(receiver.atoms), str(arguments.positional[0].shape.value))
    if name == "isoformat":
        timespec = arguments.first("timespec")
        words = timespec[0].shape.value if timespec and isinstance(timespec[0].shape, Const) else None
        given = {"hours": "hour", "minutes": "minute", "seconds": "second"}.get(str(words))
        return cut(Value(receiver.atoms), given)
    if name == "replace" and arguments.keywords and not arguments.positional:
        zeroed = {k for k, (v, _) in arguments.keywords.items() if isinstance(v.shape, Const)}
        return cut(Value(receiver.atoms), clock.of_replace(zeroed) if zeroed & set(clock.GRANULARITIES) else None)
    if (
        name == "format"
        and receiver.atoms
        and arguments.positional
        and any(a.source is not None and a.source.kind == "clock" for a in receiver.atoms.values())
    ):
        spec = arguments.positional[0].shape
        if isinstance(spec, Const) and isinstance(spec.value, str) and len(receiver.atoms) == 1:
            return cut(Value(receiver.atoms), clock.of_spec(spec.value))
    return None


def _read(engine: Engine, frame: Frame, node: ast.Call, receiver: Value) -> Value:
    spelt = dotted_name(node.func).lower()
    words = []
    shape = receiver.shape
    if isinstance(shape, Const):
        words.append(str(shape.value))
    elif isinstance(shape, ParamShape) and shape.default is not None:
        words.append(str(shape.default))
    words += [n.value for n in ast.walk(node.func) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    for word in words:
        if sources.REWRITTEN_FILES.search(word):
            return engine.source(frame, node, "file", "call", f"the text of {word}")
    for word in words:
        if sources.PROMPT_FILES.search(word):
            return Value(shape=TextFile(word.replace("\\", "/").rsplit("/", 1)[-1]))
    if frame.function is not None and sources.RULE_READERS.match(frame.function.name):
        return engine.source(frame, node, "file", "call", f"{dotted_name(node.func)}()")
    named = read_anew(engine, frame, node)
    if named is not None:
        return named
    if "memory" in spelt or "soul" in spelt:
        return engine.source(frame, node, "memory", "call", f"{dotted_name(node.func)}()")
    # The texts of files come in the order in which the files were listed.
    listed = {k: a for k, a in receiver.all_atoms().items() if a.source is not None and a.source.kind == "listing"}
    return Value(listed) if listed else NOTHING
