"""Commands that a program runs: which print something volatile, and the helpers that run what they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.atoms import merge
from pytest_cachesafe.lint.flow.moment import is_excerpt
from pytest_cachesafe.lint.flow.values import NOTHING, Const, ListShape, Value

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.module import FunctionInfo

__all__ = ["process", "run_by_helper"]

_COMMAND = lazy_pattern(r"(?:git|date|uname|hostname|whoami|sw_vers|lsb_release|ls|tree|find)\b")
_GIT = lazy_pattern(r"git\b")
_DATE = lazy_pattern(r"date\b")
_HOST = lazy_pattern(r"(?:uname|hostname|whoami|sw_vers|lsb_release)\b")
_LISTING = lazy_pattern(r"(?:ls|tree|find)\b")
# A command that is set somewhere else, and what is told of it.
_CONFIGURED = lazy_pattern(r"(?:^|_)(?:cmd|command)$")
_OUTPUT = "the output of a command"
# What takes a command line apart.
_SPLITS = frozenset(("split", "list", "tuple"))


def process(engine: Engine, frame: Frame, node: ast.Call, arguments: Arguments) -> Value:
    """What a command prints that is run here; one that is a parameter is noted for the callers."""
    if not arguments.positional:
        return NOTHING
    words = _words(arguments.positional)
    if not words:
        words = _front(node.args[0])
    if not words and frame.function is not None:
        frame.summary.runs = _parameter(frame.function, node.args)
        if not frame.summary.runs and _is_configured(engine, frame, node.args[:1]):
            return engine.source(frame, node, "state", "call", _OUTPUT)
    return _printed(engine, frame, node, " ".join(words))


def run_by_helper(
    engine: Engine, frame: Frame, node: ast.Call, functions: Sequence[FunctionInfo], arguments: Arguments, value: Value
) -> Value:
    """The result of a function, with what the command prints that it is given to run: `sh("git", "status")`."""
    every = [*arguments.positional, *(given for given, _ in arguments.keywords.values())]
    configured = not _words(every) and _is_configured(engine, frame, arguments.nodes)
    if not configured and not any(map(_COMMAND.match, _words(every))):
        # Before its body is looked at, which most calls need not.
        return value
    for function in functions:
        if function.is_tool:
            continue
        name = engine.summary(function).runs
        if not name:
            continue
        if name == function.vararg:
            given = arguments.positional[len(function.params) - (function.kind in ("method", "class")) :]
        elif name in arguments.keywords:
            given = [arguments.keywords[name][0]]
        else:
            own = function.params[1:] if function.kind in ("method", "class") else function.params
            at = own.index(name) if name in own else len(arguments.positional)
            given = arguments.positional[at : at + 1]
        printed = (
            engine.source(frame, node, "state", "call", _OUTPUT)
            if configured and given
            else _printed(engine, frame, node, " ".join(_words(given)))
        )
        if printed.atoms:
            return Value(merge(value.atoms, printed.atoms), value.shape, value.latent)
    return value


def _is_configured(engine: Engine, frame: Frame, nodes: Sequence[ast.expr]) -> bool:
    """`run(config.context_cmd)` in a short file: a command of the user's, whose output is put into each request."""
    own = frame.function
    return (
        own is not None
        and not own.is_tool
        and not frame.frozen
        and any(isinstance(one, ast.Attribute) and _CONFIGURED.search(one.attr) for one in nodes)
        and is_excerpt(engine, frame.module)
    )


def _words(values: Iterable[Value]) -> list[str]:
    """The words of a command, as far as they are written down."""
    words = []
    for value in values:
        shape = value.shape
        parts = shape.items if isinstance(shape, ListShape) else (value,)
        for part in parts:
            if isinstance(part.shape, Const) and isinstance(part.shape.value, str):
                words.append(part.shape.value)
    return words


def _front(node: ast.expr) -> list[str]:
    """What an f-string begins with: `f"git {command}"`."""
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else None
    return [first.value] if isinstance(first, ast.Constant) and isinstance(first.value, str) else []


def _parameter(function: FunctionInfo, nodes: Sequence[ast.expr]) -> str:
    """The parameter that a command is made of as a whole, or begins with."""
    node: ast.expr | None = nodes[0]
    while node is not None:
        if isinstance(node, ast.Starred):
            node = node.value
        elif isinstance(node, ast.List | ast.Tuple):
            node = node.elts[0] if node.elts else None
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            owner = node.func.value if isinstance(node.func, ast.Attribute) and not node.args else None
            node = (node.args[0] if node.args else owner) if called in _SPLITS else None
        else:
            break
    name = node.id if isinstance(node, ast.Name) else ""
    known = {*function.params, *function.keyword_only, function.vararg}
    return name if name in known else ""


def _printed(engine: Engine, frame: Frame, node: ast.Call, command: str) -> Value:
    if _GIT.match(command):
        return engine.source(frame, node, "build", "call", f"git {command[4:].split(' ')[0]}".strip())
    if _DATE.match(command):
        return engine.source(frame, node, "clock", "second", "the date command")
    if _HOST.match(command):
        return engine.source(frame, node, "host", "host", command.split(" ")[0])
    if _LISTING.match(command):
        return engine.source(frame, node, "state", "call", f"{command.split(' ')[0]} command")
    return NOTHING
