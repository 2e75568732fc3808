"""Calls out of the project: sources, transfers and helpers known by their name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.apply import call_function
from pytest_cachesafe.lint.flow.atoms import EMPTY, merge
from pytest_cachesafe.lint.flow.commands import process
from pytest_cachesafe.lint.flow.construct import text_object
from pytest_cachesafe.lint.flow.containers import container_call
from pytest_cachesafe.lint.flow.convert import converted, formatted_clock, handed_on, replaces
from pytest_cachesafe.lint.flow.derive import ordered
from pytest_cachesafe.lint.flow.drawn import is_seeded
from pytest_cachesafe.lint.flow.expanded import REPLACERS, expanded
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.mutate import shuffled
from pytest_cachesafe.lint.flow.personal import environment
from pytest_cachesafe.lint.flow.places import expands, last_part
from pytest_cachesafe.lint.flow.rewritten import PARSERS, parsed_anew
from pytest_cachesafe.lint.flow.signatures import signature_of
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    Const,
    DictShape,
    Ext,
    Func,
    Lambda,
    Obj,
    ParamShape,
    TextFile,
    Value,
)
from pytest_cachesafe.lint.tables import sources, transfers

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["external"]

_PROCESSES = frozenset(("check_output", "run", "Popen", "getoutput", "create_subprocess_exec", "popen"))
# Clocks that convert a time where one is given, and how many arguments stand before it.
_CONVERTERS = {"time.strftime": 1, "time.gmtime": 0, "time.localtime": 0, "time.ctime": 0, "time.asctime": 0}
# Names of what is looked for: a function that is given no more looks it up.
_LOOKED_FOR = lazy_pattern(
    r"(?:^|_)(?:id|user|session|thread|agent|query|question|message|prompt|input|text|code|name|key|limit|k|top_k)$"
)
_PATHS = frozenset(("Path", "PurePath", "PosixPath", "join", "abspath", "realpath", "expanduser"))


def external(
    engine: Engine, frame: Frame, node: ast.Call, dotted: str, spelt: str, last: str, arguments: Arguments
) -> Value:
    """A call out of the project."""
    name = dotted or spelt
    tables = engine.tables
    if dotted in ("os.getenv", "os.environ.get") or spelt in ("os.getenv", "os.environ.get"):
        return environment(engine, frame, node, arguments.positional[0] if arguments.positional else NOTHING)
    known = tables.calls.get(name) or tables.tails.get(".".join(name.split(".")[-2:]) if "." in name else "")
    if (
        known is not None
        and known[0] == "clock"
        and name in _CONVERTERS
        and len(arguments.positional) > _CONVERTERS[name]
    ):
        # Another time, which is given, is put into another form.
        known = None
        if last != "strftime":
            return arguments.positional[0].text()
    if last == "expanduser" and arguments.positional and not expands(node, arguments.positional[0]):
        known = None
    if known is not None and known[0] == "random" and name.startswith("random.") and is_seeded(engine, frame):
        known = None
    if known is not None:
        kind, granularity = known
        api = spelt or last
        if kind == "user" and arguments.written(0) == "me":
            # Where the machine itself stands.
            kind, granularity = "locale", "host"
        if kind == "listing":
            return Value(EMPTY, None, engine.source(frame, node, kind, granularity, api).atoms)
        value = engine.source(frame, node, kind, granularity, f"{api}()")
        if kind == "clock":
            return formatted_clock(value, last, arguments)
        if kind in ("temp", "build"):
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
    if last == "get" and arguments.positional:
        address = arguments.positional[0].shape
        written = str(address.value) if isinstance(address, Const) else ""
        if node.args and isinstance(node.args[0], ast.JoinedStr):
            written = "".join(str(part.value) for part in node.args[0].values if isinstance(part, ast.Constant))
        if sources.PLACE_SERVICES.search(written):
            return engine.source(frame, node, "user", "user", f"{spelt}()")
    if last == "super":
        if frame.cls is None:
            return NOTHING
        return Value(shape=Obj(frame.cls, above=frame.function.cls if frame.function is not None else None))
    made = container_call(engine, frame, node, name, last, arguments)
    if made is not None:
        return made
    if last in transfers.AWAITERS:
        return _awaited(engine, frame, node, last, arguments)
    if last in PARSERS and arguments.positional:
        read = parsed_anew(engine, frame, node, spelt)
        if read is not None:
            return read
    if last == "open" and arguments.positional:
        opened = arguments.positional[0]
        listed = {k: a for k, a in opened.atoms.items() if a.source is not None and a.source.kind == "listing"}
        return Value(listed or EMPTY, opened.shape if isinstance(opened.shape, (Const, ParamShape)) else None)
    if last in _PATHS and arguments.positional:
        tail = arguments.positional[-1]
        atoms = EMPTY
        for value in arguments.positional:
            atoms = merge(atoms, value.atoms)
        return Value(atoms, tail.shape if isinstance(tail.shape, (Const, ParamShape)) else None)
    if last == "basename" and len(arguments.nodes) == 1:
        return Value(last_part(arguments.positional[0].all_atoms(), arguments.nodes[0]))
    if last == "signature" and arguments.positional:
        return signature_of(engine, frame, node, arguments.positional[0])
    if last == "Schema" and arguments.keywords:
        # A schema written as calls: `types.Schema(type="STRING", enum=names)`.
        return Value(EMPTY, DictShape({key: value for key, (value, _) in arguments.keywords.items()}))
    if last == "import_module" or last in transfers.STABLE:
        return NOTHING
    if spelt.startswith("subprocess.") or last in _PROCESSES:
        return process(engine, frame, node, arguments)
    helper = sources.HELPERS.get(last.lstrip("_"))
    if helper is not None and not (frame.function is not None and frame.function.is_tool):
        value = engine.source(frame, node, *helper, f"{last}()")
        return Value(EMPTY, None, value.atoms) if helper[0] == "listing" else value
    if (
        sources.MEMORY_CALLS.match(last) and not (sources.MEMORY_WRITERS.match(last) and _is_text_given(arguments))
    ) or sources.MEMORY_OWNERS.search(spelt):
        return engine.source(frame, node, "memory", "call", f"{last}()")
    if last in REPLACERS and name.partition(".")[0] in ("re", "regex"):
        return expanded(engine, frame, node, arguments, 1)
    made = converted(engine, frame, node, name, last, arguments)
    if made is not None:
        return made
    if last == "reduce" and len(arguments.positional) > 1 and replaces(node.args[0] if node.args else None):
        # Each round fills a placeholder of its own: the rounds may come in any order.
        arguments.positional[1] = ordered(arguments.positional[1])
    if last in transfers.FUNCTIONS:
        return handed_on(engine, frame, node, last, arguments)
    if transfers.TEXT_CLASSES.search(last) and last[:1].isupper():
        return text_object(engine, frame, node, last, arguments)
    return NOTHING


def _is_text_given(arguments: Arguments) -> bool:
    """Whether something else than whom and what to look for is handed over: then that is what is written."""
    nodes = [*arguments.nodes, *(node for _, node in arguments.keywords.values())]
    words = (dotted_name(node).rpartition(".")[2] for node in nodes if not isinstance(node, ast.Constant))
    return not all(map(_LOOKED_FOR.search, words))


def _awaited(engine: Engine, frame: Frame, node: ast.Call, last: str, arguments: Arguments) -> Value:
    skip = 1 if last == "run_in_executor" else 0
    if len(arguments.positional) <= skip:
        return NOTHING
    target = arguments.positional[skip].shape
    if isinstance(target, Func):
        return call_function(
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
    if isinstance(target, Lambda):
        return target.result
    if isinstance(target, Ext):
        rest = arguments.behind(skip + 1)
        spelt = dotted_name(arguments.nodes[skip])
        return external(engine, frame, node, target.dotted, spelt, target.dotted.rsplit(".", 1)[-1], rest)
    return NOTHING
