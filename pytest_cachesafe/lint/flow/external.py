"""Calls out of the project: sources, transfers and helpers known by their name."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow import clock
from pytest_cachesafe.lint.flow.apply import call_function
from pytest_cachesafe.lint.flow.arguments import Arguments
from pytest_cachesafe.lint.flow.atoms import EMPTY, merge
from pytest_cachesafe.lint.flow.classes import annotated_names, class_attribute, mro
from pytest_cachesafe.lint.flow.construct import field_default, text_object
from pytest_cachesafe.lint.flow.derive import cut, iterated, ordered
from pytest_cachesafe.lint.flow.messages import dict_arrivals
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.mutate import shuffled
from pytest_cachesafe.lint.flow.personal import environment
from pytest_cachesafe.lint.flow.text import shown
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    Const,
    DictShape,
    Ext,
    Func,
    Lambda,
    ListShape,
    Obj,
    ParamShape,
    TextFile,
    Value,
    join_all,
)
from pytest_cachesafe.lint.tables import sources, transfers

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["external"]


def external(
    engine: Engine, frame: Frame, node: ast.Call, dotted: str, spelt: str, last: str, arguments: Arguments
) -> Value:
    """A call out of the project."""
    name = dotted or spelt
    tables = engine.tables
    if dotted in ("os.getenv", "os.environ.get") or spelt in ("os.getenv", "os.environ.get"):
        return environment(engine, frame, node, arguments.positional[0] if arguments.positional else NOTHING)
    known = tables.calls.get(name) or tables.tails.get(".".join(name.split(".")[-2:]) if "." in name else "")
    if known is not None:
        kind, granularity = known
        api = spelt or last
        if kind == "listing":
            return Value(EMPTY, None, engine.source(frame, node, kind, granularity, api).atoms)
        value = engine.source(frame, node, kind, granularity, f"{api}()")
        if kind == "clock":
            return _formatted_clock(value, name, last, arguments)
        if kind == "temp" or kind == "build":
            return Value(value.atoms)
        return value
    if last == "shuffle" and arguments.nodes:
        return shuffled(engine, frame, node, arguments)
    if name == "object" and not arguments.positional:
        return Value(EMPTY, None, engine.source(frame, node, "repr", "process", "the default text of an object").atoms)
    if last == "get_template" and arguments.positional:
        file = arguments.positional[0].shape
        if isinstance(file, Const) and isinstance(file.value, str) and sources.PROMPT_FILES.search(file.value):
            return Value(shape=TextFile(file.value.rsplit("/", 1)[-1]))
    if last == "get" and arguments.positional and isinstance(arguments.positional[0].shape, Const):
        if sources.PLACE_SERVICES.search(str(arguments.positional[0].shape.value)):
            return engine.source(frame, node, "user", "user", f"{spelt}()")
    if last == "super":
        if frame.cls is None:
            return NOTHING
        return Value(shape=Obj(frame.cls, above=frame.function.cls if frame.function is not None else None))
    if last in ("set", "frozenset") and name in ("set", "frozenset"):
        if not arguments.positional:
            return Value(EMPTY, None, engine.source(frame, node, "set", "process", "a set").atoms)
        inner = arguments.positional[0]
        if isinstance(inner.shape, ListShape) and inner.shape.exact and len(inner.shape.items) < 2:
            return Value(inner.all_atoms())
        atoms = {
            k: a for k, a in inner.all_atoms().items() if a.source is None or a.source.kind not in ("set", "listing")
        }
        return Value(atoms, None, engine.source(frame, node, "set", "process", f"{name}()").atoms)
    if last in ("sorted", "natsorted") and arguments.positional:
        return ordered(arguments.positional[0])
    if last in ("list", "tuple") and name in ("list", "tuple") and arguments.positional:
        inner = arguments.positional[0]
        if isinstance(inner.shape, ListShape):
            return Value(merge(inner.atoms, inner.latent), inner.shape)
        return Value(merge(inner.atoms, inner.latent))
    if last == "dict" and name == "dict":
        fields = {k: v for k, (v, _) in arguments.keywords.items()}
        base = arguments.positional[0] if arguments.positional else NOTHING
        if isinstance(base.shape, DictShape):
            fields = {**base.shape.fields, **fields}
        made = Value(merge(base.atoms, arguments.rest.atoms), DictShape(fields))
        return dict_arrivals(engine, frame, node, made, {k: n for k, (_, n) in arguments.keywords.items()})
    if last in ("reversed", "enumerate", "iter", "islice", "zip", "map", "filter", "chain", "from_iterable"):
        if (
            last == "map"
            and len(arguments.positional) > 1
            and isinstance(arguments.positional[0].shape, (Func, Lambda))
        ):
            first = arguments.positional[0].shape
            item = iterated(arguments.positional[1])
            result = (
                first.result
                if isinstance(first, Lambda)
                else call_function(engine, frame, first.functions, [item], {}, first.bound, node, None)
            )
            return Value(merge(item.atoms, result.all_atoms()))
        items = [iterated(v) for v in arguments.positional]
        if last == "enumerate" and items:
            return Value(EMPTY, ListShape((Value(EMPTY, ListShape((NOTHING, items[0]))),), False))
        if last == "zip":
            return Value(EMPTY, ListShape((Value(EMPTY, ListShape(tuple(items))),), False))
        atoms = EMPTY
        for item in items:
            atoms = merge(atoms, item.all_atoms())
        return Value(atoms)
    if last == "gather":
        return Value(EMPTY, ListShape(tuple(arguments.positional)))
    if last in transfers.AWAITERS or (last == "partial" and name in ("functools.partial", "partial")):
        return _awaited(engine, frame, node, last, arguments)
    if last == "open" and arguments.positional:
        return Value(
            EMPTY,
            arguments.positional[0].shape if isinstance(arguments.positional[0].shape, (Const, ParamShape)) else None,
        )
    if last in ("Path", "PurePath", "PosixPath", "join", "abspath", "realpath", "expanduser") and arguments.positional:
        tail = arguments.positional[-1]
        atoms = EMPTY
        for value in arguments.positional:
            atoms = merge(atoms, value.atoms)
        return Value(atoms, tail.shape if isinstance(tail.shape, (Const, ParamShape)) else None)
    if last == "import_module" or last in transfers.STABLE:
        return NOTHING
    if spelt.startswith("subprocess.") or last in (
        "check_output",
        "run",
        "Popen",
        "getoutput",
        "create_subprocess_exec",
        "popen",
    ):
        return _process(engine, frame, node, spelt, arguments)
    helper = sources.HELPERS.get(last.lstrip("_"))
    if helper is not None and not (frame.function is not None and frame.function.is_tool):
        value = engine.source(frame, node, *helper, f"{last}()")
        return Value(EMPTY, None, value.atoms) if helper[0] == "listing" else value
    if sources.MEMORY_CALLS.match(last) or sources.MEMORY_OWNERS.search(spelt):
        return engine.source(frame, node, "memory", "call", f"{last}()")
    if last in ("str", "repr", "format") and arguments.positional:
        value = shown(engine, frame, arguments.positional[0], node)
        if last == "format" and len(arguments.positional) > 1:
            spec = arguments.positional[1].shape
            if isinstance(spec, Const) and isinstance(spec.value, str):
                return cut(value, clock.of_format(spec.value))
        return value
    if last == "int" and arguments.positional:
        return cut(arguments.positional[0].text(), "second")
    if last in ("dumps",):
        atoms = arguments.positional[0].all_atoms() if arguments.positional else EMPTY
        return Value(atoms) if atoms else NOTHING
    if name.endswith("random.Random") and not arguments.positional:
        return Value(shape=Ext("random"))
    if last == "strftime" and len(arguments.positional) == 2 and not name.startswith("time."):
        spec = arguments.positional[1].shape
        clock_value = arguments.positional[0].text()
        return (
            cut(clock_value, clock.of_format(spec.value))
            if isinstance(spec, Const) and isinstance(spec.value, str)
            else clock_value
        )
    if last == "strftime" and name.startswith("time.") and len(arguments.positional) > 1:
        return _formatted_clock(arguments.positional[1].text(), name, last, arguments)
    if last in transfers.FUNCTIONS:
        value = join_all(arguments.every())
        if last in (
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
        ):
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
                cls = picked.shape.cls
                known = {
                    n: class_attribute(engine, cls, n)
                    for c in mro(engine, cls)
                    for n in annotated_names(c)
                    if n not in picked.shape.fields
                }
                return Value(
                    picked.atoms,
                    DictShape({**{n: v for n, v in known.items() if v is not None}, **picked.shape.fields}),
                )
            return picked
        atoms = EMPTY
        for item in arguments.every():
            atoms = merge(
                atoms, shown(engine, frame, item, node).atoms if last in ("indent", "dedent") else item.all_atoms()
            )
        return Value(atoms) if atoms else NOTHING
    if transfers.TEXT_CLASSES.search(last) and last[:1].isupper():
        return text_object(engine, frame, node, last, arguments)
    return NOTHING


def _formatted_clock(value: Value, name: str, last: str, arguments: Arguments) -> Value:
    if last == "strftime" and arguments.positional:
        spec = arguments.positional[0].shape
        if isinstance(spec, Const) and isinstance(spec.value, str):
            return cut(value, clock.of_format(spec.value))
    return value


def _awaited(engine: Engine, frame: Frame, node: ast.Call, last: str, arguments: Arguments) -> Value:
    skip = 1 if last == "run_in_executor" else 0
    if len(arguments.positional) <= skip:
        return NOTHING
    target = arguments.positional[skip].shape
    if isinstance(target, Func):
        result = call_function(
            engine,
            frame,
            target.functions,
            arguments.positional[skip + 1 :],
            arguments.keywords,
            target.bound,
            node,
            None,
            arguments.nodes[skip + 1 :],
        )
        return Value(shape=Lambda(result)) if last == "partial" else result
    if isinstance(target, Lambda):
        return target.result
    if isinstance(target, Ext):
        rest = Arguments()
        rest.positional, rest.nodes = arguments.positional[skip + 1 :], arguments.nodes[skip + 1 :]
        rest.keywords = arguments.keywords
        spelt = dotted_name(arguments.nodes[skip])
        result = external(engine, frame, node, target.dotted, spelt, target.dotted.rsplit(".", 1)[-1], rest)
        return Value(shape=Lambda(result)) if last == "partial" else result
    return NOTHING


def _process(engine: Engine, frame: Frame, node: ast.Call, spelt: str, arguments: Arguments) -> Value:
    if not arguments.positional:
        return NOTHING
    words = [
        v.shape.value for v in arguments.positional if isinstance(v.shape, Const) and isinstance(v.shape.value, str)
    ]
    shape = arguments.positional[0].shape
    if isinstance(shape, ListShape):
        words += [v.shape.value for v in shape.items if isinstance(v.shape, Const) and isinstance(v.shape.value, str)]
    command = " ".join(words)
    if re.match(r"git\b", command):
        return engine.source(frame, node, "build", "call", f"git {command[4:].split(' ')[0]}".strip())
    if re.match(r"date\b", command):
        return engine.source(frame, node, "clock", "second", "the date command")
    if re.match(r"(?:uname|hostname|whoami|sw_vers|lsb_release)\b", command):
        return engine.source(frame, node, "host", "host", command.split(" ")[0])
    if re.match(r"(?:ls|tree|find)\b", command):
        return engine.source(frame, node, "state", "call", f"{command.split(' ')[0]} command")
    return NOTHING
