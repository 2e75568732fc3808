"""Methods of values of unknown class: strings, lists, dicts, paths, clocks, templates."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from cachesafe_rules.model import Step
from pytest_cachesafe.lint.flow import clock
from pytest_cachesafe.lint.flow.arrive import arrive, list_positions
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import (
    EMPTY,
    NOTHING,
    Const,
    DictShape,
    ListShape,
    ParamShape,
    TemplateShape,
    TextFile,
    Value,
    join,
    join_all,
    merge,
)
from pytest_cachesafe.lint.tables import sources, transfers

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.calls import Arguments
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["method", "shuffled"]

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


def method(engine: Engine, frame: Frame, node: ast.Call, receiver: Value, name: str, arguments: Arguments) -> Value:
    """`receiver.name(…)`."""
    from pytest_cachesafe.lint.flow.evaluate import cut, iterated

    shape = receiver.shape
    if isinstance(shape, TemplateShape) and name in _RUNS:
        return _fill(engine, frame, shape, name, arguments)
    if name in transfers.MUTATORS and isinstance(node.func, ast.Attribute):
        return _mutate(engine, frame, node, receiver, name, arguments)
    if name == "sort" and isinstance(node.func, ast.Attribute):
        from pytest_cachesafe.lint.flow.calls import ordered
        from pytest_cachesafe.lint.flow.execute import bind

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
        if name in ("get", "pop", "setdefault") and arguments.positional:
            key = arguments.positional[0].shape
            default = arguments.positional[1] if len(arguments.positional) > 1 else NOTHING
            if isinstance(key, Const):
                found = shape.fields.get(key.value) if isinstance(key.value, str) else None
                return join(found, default) if found is not None else join(default, Value(receiver.atoms))
            return join_all([*shape.fields.values(), default])
        if name in ("values", "items", "keys"):
            if name == "keys":
                return Value(receiver.atoms)
            item = join_all(list(shape.fields.values()))
            return Value(
                receiver.atoms,
                ListShape((item if name == "values" else Value(EMPTY, ListShape((NOTHING, item))),), False),
            )
        if name in ("copy", "model_copy"):
            return receiver
    if name == "copy":
        return receiver
    if name == "strftime" and receiver.atoms:
        spec = arguments.positional[0].shape if arguments.positional else None
        return cut(
            Value(receiver.atoms),
            clock.of_format(spec.value) if isinstance(spec, Const) and isinstance(spec.value, str) else None,
        )
    if name in ("date", "to_date_string") and not arguments.positional:
        return cut(Value(receiver.atoms), "day")
    if name in ("weekday", "isoweekday", "isocalendar", "toordinal"):
        return cut(Value(receiver.atoms), "day")
    if name in ("hour", "floor") and arguments.positional and isinstance(arguments.positional[0].shape, Const):
        return cut(Value(receiver.atoms), str(arguments.positional[0].shape.value))
    if name == "isoformat":
        spec = arguments.first("timespec")
        words = spec[0].shape.value if spec and isinstance(spec[0].shape, Const) else None
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
    if name == "join" and arguments.positional:
        parts = arguments.positional[0]
        atoms = merge(receiver.text().atoms, parts.all_atoms())
        return _texted(frame, node, atoms, "joined into a string")
    if name in (
        "format",
        "format_map",
        "replace",
        "substitute",
        "safe_substitute",
        "render",
        "arender",
        "render_async",
        "safe_format",
    ):
        return _filled(engine, frame, node, receiver, name, arguments)
    if name in transfers.STRING_METHODS:
        atoms = receiver.all_atoms() if shape is not None else merge(receiver.atoms, receiver.latent)
        if name not in (
            "get",
            "pop",
            "strip",
            "split",
            "encode",
            "decode",
            "astimezone",
            "items",
            "values",
            "keys",
            "result",
            "to_string",
        ):
            for value in arguments.every():
                atoms = merge(atoms, value.all_atoms())
        if name in ("items", "values", "keys"):
            return iterated(Value(atoms))
        return Value(atoms) if atoms else NOTHING
    from pytest_cachesafe.lint.flow.calls import external

    if name in transfers.STABLE:
        return NOTHING
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


def _texted(frame: Frame, node: ast.AST, atoms: Any, words: str) -> Value:
    if not atoms:
        return NOTHING
    step = Step(frame.module.name, getattr(node, "lineno", 1), words)
    return Value({k: a.at(step) for k, a in atoms.items()})


def _filled(
    engine: Engine, frame: Frame, node: ast.Call, receiver: Value, name: str, arguments: Arguments
) -> Value:
    from pytest_cachesafe.lint.flow.evaluate import shown

    atoms = receiver.text().atoms
    fields = None
    if isinstance(receiver.shape, Const) and isinstance(receiver.shape.value, str) and name in ("format", "format_map"):
        fields = _fields(receiver.shape.value)
    file = receiver.shape.name if isinstance(receiver.shape, TextFile) else None
    for i, (value, where) in enumerate(zip(arguments.positional, arguments.nodes, strict=False)):
        if fields is None or i in fields or name != "format":
            shown_value = _printed(shown(engine, frame, value, node), fields, i)
            atoms = merge(atoms, shown_value.atoms)
            if file is not None:
                arrive(engine, frame, where, shown_value, f"template {file}", "system", atoms=shown_value.atoms)
    for key, (value, where) in arguments.keywords.items():
        if fields is not None and key not in fields:
            # Given, but not printed.
            continue
        found = _printed(shown(engine, frame, value, where), fields, key).atoms
        if found:
            step = Step(frame.module.name, getattr(where, "lineno", 1), f"fills {{{key}}}")
            found = {k: a.at(step) for k, a in found.items()}
            atoms = merge(atoms, found)
            if file is not None:
                arrive(engine, frame, where, value, f"template {file}", "system", atoms=found)
    atoms = merge(atoms, arguments.rest.atoms)
    return _texted(frame, node, atoms, f"put into text by .{name}()")


def _printed(value: Value, fields: dict[str | int, tuple[str, str]] | None, key: str | int) -> Value:
    """A value as a format string prints it: `{now:%Y}` and `{now.year}` cut a clock."""
    if fields is None or not value.atoms or key not in fields:
        return value
    from pytest_cachesafe.lint.flow.evaluate import cut

    path, spec = fields[key]
    granularity = clock.of_format(spec) if "%" in spec else clock.of_attribute(path.rsplit(".", 1)[-1]) if path else None
    return cut(value, granularity)


def _fields(text: str) -> dict[str | int, tuple[str, str]] | None:
    """What a format string prints: argument -> (attribute path, format); None where it cannot be read."""
    from string import Formatter

    out: dict[str | int, tuple[str, str]] = {}
    try:
        for i, (name, spec) in enumerate((n, f) for _, n, f, _ in Formatter().parse(text) if n is not None):
            first, dot, rest = name.partition(".")
            first = first.split("[")[0]
            out[i if not first else int(first) if first.isdigit() else first] = (rest if dot else "", spec or "")
    except ValueError:
        return None
    return out


def _fill(engine: Engine, frame: Frame, shape: TemplateShape, name: str, arguments: Arguments) -> Value:
    given = dict(arguments.keywords)
    if arguments.positional and isinstance(arguments.positional[0].shape, DictShape):
        for key, value in arguments.positional[0].shape.fields.items():
            node = arguments.nodes[0]
            if isinstance(node, ast.Dict):
                node = next(
                    (v for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant) and k.value == key), node
                )
            given.setdefault(key, (value, node))
    for key, (value, node) in given.items():
        if key in shape.system:
            arrive(engine, frame, node, value, f"placeholder {{{key}}} of a system message template")
    return Value(EMPTY, shape) if name in ("partial", "bind") else NOTHING


def _mutate(engine: Engine, frame: Frame, node: ast.Call, receiver: Value, name: str, arguments: Arguments) -> Value:
    from pytest_cachesafe.lint.flow.evaluate import iterated
    from pytest_cachesafe.lint.flow.execute import bind

    assert isinstance(node.func, ast.Attribute)
    shape = receiver.shape
    items = arguments.positional
    new = receiver
    if name in ("append", "appendleft", "push") and items:
        new = _put(engine, frame, receiver, (items[-1],), name == "appendleft")
    elif name == "insert" and len(items) > 1:
        at = items[0].shape
        new = _put(engine, frame, receiver, (items[1],), isinstance(at, Const) and at.value == 0)
    elif name in ("extend", "extendleft") and items:
        added = items[0]
        if isinstance(added.shape, ListShape):
            new = _put(engine, frame, receiver, added.shape.items, name == "extendleft")
            if not added.shape.exact and isinstance(new.shape, ListShape):
                new = Value(merge(new.atoms, added.atoms), ListShape(new.shape.items, False), new.latent)
        else:
            item = iterated(added)
            new = _put(engine, frame, receiver, (Value(item.all_atoms()),), False)
            if isinstance(new.shape, ListShape):
                new = Value(new.atoms, ListShape(new.shape.items, False), new.latent)
    elif name == "update":
        fields = dict(shape.fields) if isinstance(shape, DictShape) else {}
        atoms = receiver.atoms
        for value in items:
            if isinstance(value.shape, DictShape):
                fields.update(value.shape.fields)
            else:
                atoms = merge(atoms, value.atoms)
        fields.update({k: v for k, (v, _) in arguments.keywords.items()})
        new = Value(
            atoms,
            DictShape(fields, shape.mark if isinstance(shape, DictShape) else None)
            if shape is None or isinstance(shape, (DictShape, ParamShape))
            else shape,
            receiver.latent,
        )
        for key, (value, where) in arguments.keywords.items():
            if key in ("content", "system_prompt") and "system" in dotted_name(node.func.value).lower():
                arrive(engine, frame, where, value, f"{dotted_name(node.func.value)}")
        for value, where in zip(items, arguments.nodes):
            if (
                isinstance(value.shape, DictShape)
                and "content" in value.shape.fields
                and "system" in dotted_name(node.func.value).lower()
            ):
                arrive(engine, frame, where, value.shape.fields["content"], f"{dotted_name(node.func.value)}")
    elif name == "setdefault" and len(items) > 1:
        key = items[0].shape
        if (
            isinstance(key, Const)
            and isinstance(key.value, str)
            and (shape is None or isinstance(shape, (DictShape, ParamShape)))
        ):
            known = dict(shape.fields) if isinstance(shape, DictShape) else {}
            known[key.value] = join(known[key.value], items[1]) if key.value in known else items[1]
            bind(
                engine,
                frame,
                node.func.value,
                Value(
                    receiver.atoms,
                    DictShape(known, shape.mark if isinstance(shape, DictShape) else None),
                    receiver.latent,
                ),
                mutated=True,
            )
            return known[key.value]
    elif name in ("add", "write", "writelines") and items:
        new = Value(merge(receiver.atoms, items[0].all_atoms()), shape, receiver.latent)
    if new is not receiver:
        bind(engine, frame, node.func.value, new, mutated=True)
    return NOTHING


def _put(engine: Engine, frame: Frame, receiver: Value, added: tuple[Value, ...], front: bool) -> Value:
    shape = receiver.shape
    if isinstance(shape, ListShape):
        if front:
            return Value(receiver.atoms, ListShape((*added, *shape.items), shape.exact), receiver.latent)
        list_positions(engine, frame, added, shape.items, shape.exact)
        return Value(receiver.atoms, ListShape((*shape.items, *added), shape.exact), receiver.latent)
    if not front:
        list_positions(engine, frame, added, (), False)
    return Value(receiver.atoms, ListShape(added, False), receiver.latent)


def shuffled(engine: Engine, frame: Frame, node: ast.Call, arguments: Arguments) -> Value:
    from pytest_cachesafe.lint.flow.execute import bind

    value = arguments.positional[0]
    atoms = engine.source(frame, node, "random", "call", f"{dotted_name(node.func)}()").atoms
    bind(engine, frame, arguments.nodes[0], Value(merge(value.atoms, atoms), value.shape, value.latent), mutated=True)
    return NOTHING


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
    if "memory" in spelt or "soul" in spelt:
        return engine.source(frame, node, "memory", "call", f"{dotted_name(node.func)}()")
    return NOTHING
