"""Files that a short file reads for each request, and that people or agents rewrite meanwhile: known by a name that the
file spells out, or by what the function says that it reads."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.moment import is_excerpt
from pytest_cachesafe.lint.tables import sources

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["PARSERS", "parsed_anew", "read_anew"]

# What reads an open file to its end.
PARSERS = frozenset(("load", "safe_load", "full_load"))
_FORMATS = lazy_pattern(r"^(?:json|yaml|toml|tomllib|tomli|orjson|ujson)\.")
_QUOTED = lazy_pattern(r"[\"']([\w./~\\-]+\.\w+)[\"']")


def read_anew(engine: Engine, frame: Frame, node: ast.Call) -> Value | None:
    """`(root / name).read_text()` where the names that the file spells out are such files; None for anything else, and
    where it is read once."""
    own = frame.function
    if own is None or own.is_tool or frame.frozen or not is_excerpt(engine, frame.module):
        return None
    if sources.WORK_READERS.match(own.name):
        return engine.source(frame, node, "file", "call", f"{dotted_name(node.func)}()")
    # A path that is written out where it is read says itself what it is.
    if any(isinstance(n, ast.Constant) and "." in str(n.value) for n in ast.walk(node.func)):
        return None
    named = [name for line in engine.lines(frame.module) for name in _QUOTED.findall(line)]
    known = next(filter(sources.REWRITTEN_FILES.search, named), None)
    return engine.source(frame, node, "file", "call", f"the text of {known}") if known is not None else None


def parsed_anew(engine: Engine, frame: Frame, node: ast.Call, spelt: str) -> Value | None:
    """`yaml.safe_load(file)` in a function that by its name reads work in hand; None for anything else."""
    own = frame.function
    if own is None or own.is_tool or frame.frozen or not _FORMATS.match(spelt):
        return None
    if not sources.WORK_READERS.match(own.name) or not is_excerpt(engine, frame.module):
        return None
    return engine.source(frame, node, "file", "call", f"{spelt}()")
