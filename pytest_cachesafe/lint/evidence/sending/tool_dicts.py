"""Dicts that only look like the definition of a tool: a step of a plan has a description and parameters as well.

A definition is seen to be one by what stands in it (a schema, its type) or by a name around it that speaks of tools.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.running.uses import parsed
from pytest_cachesafe.lint.evidence.trees import called, spelt

if TYPE_CHECKING:
    from cachesafe_rules.api import Report

__all__ = ["ToolDicts"]

_SINK = lazy_pattern(r"(?:name|description|parameters) of a tool$")
_WORDS = lazy_pattern(r"tool|func|schema|declar|plugin|skill|capabilit|mcp|openapi|definition|(?:^|_)spec|manifest")
# Keys that nothing but a definition has, and those of a schema of JSON.
_SCHEMAS = frozenset({"inputSchema", "input_schema", "args_schema", "outputSchema", "strict", "properties"})
_OWN = frozenset({"type", "properties", "$ref", "anyOf", "oneOf"})
_HOPS = 2
_ADDS = frozenset({"append", "extend", "insert", "add"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class ToolDicts:
    """Asks of reports. `read` gives the bytes of a file."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._trees: dict[str, list[ast.stmt]] = {}

    def holds(self, report: Report) -> bool:
        """Whether a report speaks of the definition of a tool that nothing shows to be one."""
        found = _SINK.match(str(report.data.get("sink") or ""))
        name = report.span.filename
        if found is None or not name.endswith(".py") or _WORDS.search(name.lower()):
            return False
        if name not in self._trees:
            self._trees = {name: parsed(self._read(name) or b"")}
        ways = list(_ways(self._trees[name], report.span.row, str(report.data["sink"]).partition(" ")[0]))
        return bool(ways) and not any(_is_tool(way) or _is_told(way, _HOPS) for way in ways)


def _ways(body: list[ast.stmt], row: int, key: str) -> Iterator[list[ast.AST]]:
    """The dicts with a key in a row, each with all that it stands in, the outermost first."""
    stack: list[tuple[ast.AST, list[ast.AST]]] = [(node, []) for node in body]
    while stack:
        node, above = stack.pop()
        first = getattr(node, "lineno", None)
        if first is not None and not first <= row <= (getattr(node, "end_lineno", None) or first):
            continue
        way = [*above, node]
        if isinstance(node, ast.Dict):
            for word, value in zip(node.keys, node.values, strict=True):
                if _text(word) == key and word is not None and word.lineno <= row <= (value.end_lineno or row):
                    yield way
        stack += [(child, way) for child in ast.iter_child_nodes(node)]


def _is_tool(way: list[ast.AST]) -> bool:
    node = way[-1]
    if isinstance(node, ast.Dict):
        fields = dict(zip(map(_text, node.keys), node.values, strict=True))
        if fields.keys() & _SCHEMAS or _text(fields.get("type")) == "function":
            return True
        schemas = [fields[word] for word in ("parameters", "schema", "function") if word in fields]
        if any(isinstance(s, ast.Dict) and _OWN & {_text(k) for k in s.keys} for s in schemas):
            return True
    return False


def _is_told(way: list[ast.AST], hops: int) -> bool:
    """Whether a name speaks of tools under which the last of a way goes on, or a local name for it does."""
    pairs = list(pairwise(way))
    if any(_WORDS.search(word.lower()) for upper, below in pairs for word in _names(upper, below)):
        return True
    home = next((node for node in way if isinstance(node, _FUNCTIONS)), None)
    held = {word for upper, below in pairs for word in _holders(upper, below)}
    if home is None or not held or not hops:
        return False
    here = next((node for node in reversed(way) if isinstance(node, ast.stmt)), None)
    return any(_is_told(found, hops - 1) for found in _reads(home, held, here))


def _holders(node: ast.AST, below: ast.AST) -> Iterator[str]:
    """The local names that hold what stands below: `entry = …`, `entries[key] = …`, `entries.append(…)`."""
    if isinstance(node, ast.Assign) and below is node.value:
        for target in node.targets:
            yield spelt(target.value if isinstance(target, ast.Subscript) else target)
    elif isinstance(node, ast.AnnAssign) and below is node.value:
        yield spelt(node.target)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and called(node) in _ADDS:
        yield spelt(node.func.value)


def _reads(home: ast.AST, names: set[str], here: ast.AST | None) -> Iterator[list[ast.AST]]:
    """Where a function reads names beside the statement it is asked from, each with all that it stands in there;
    where more is added to a list nothing is said of it."""
    stack: list[list[ast.AST]] = [[home]]
    while stack:
        way = stack.pop()
        node = way[-1]
        if node is here:
            continue
        reads = isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load)
        if reads and not (isinstance(way[-2], ast.Attribute) and way[-2].attr in _ADDS):
            yield way
        stack += [[*way, child] for child in ast.iter_child_nodes(node)]


def _names(node: ast.AST, below: ast.AST) -> Iterator[str]:
    """The names under which what stands below goes on."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        if isinstance(node, ast.ClassDef):
            yield from map(ast.unparse, node.bases)
    elif isinstance(node, ast.Assign):
        yield from map(ast.unparse, node.targets)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        yield ast.unparse(node.target)
    elif isinstance(node, ast.keyword):
        yield node.arg or ""
    elif isinstance(node, ast.Call):
        yield called(node)
        if isinstance(node.func, ast.Attribute) and called(node) in _ADDS:
            yield spelt(node.func.value)
    elif isinstance(node, ast.Dict):
        yield from (_text(key) for key, value in zip(node.keys, node.values, strict=True) if value is below)


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
