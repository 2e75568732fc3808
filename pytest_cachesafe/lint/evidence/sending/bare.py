"""Values that are no text: the time at which a prompt was read is kept beside it, under a name that speaks of it.

A clock that gives a number or an object becomes text by being formatted. Where a name, an attribute or a key gets it
as it is, that name alone makes a prompt of it; whoever writes it out later is reported there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.files import Files
from pytest_cachesafe.lint.evidence.prefix.fixed import is_at, sources_of
from pytest_cachesafe.lint.evidence.trees import Function, called, nodes_of, own_nodes, spelt

if TYPE_CHECKING:
    from cachesafe_rules.api import Report

__all__ = ["Bare"]

# Sinks that only a name or a key makes one.
_NAMED = lazy_pattern(r"[\w.]+$|'\w+' of a request$")
_CLOCKS = lazy_pattern(
    r"(?:^|\.)(?:time|time_ns|monotonic|monotonic_ns|perf_counter|perf_counter_ns|now|utcnow|today)(?:\(\))?$"
)
# A number stays one.
_NUMBERS = frozenset({"int", "float", "round", "abs"})


class Bare:
    """Asks of reports."""

    def __init__(self, seen: Files) -> None:
        self._seen = seen

    def holds(self, report: Report) -> bool:
        """Whether all values of a report are clocks that a name gets as they are, without a text in between."""
        sources, name = sources_of(report), report.span.filename
        if not sources or not _NAMED.match(str(report.data.get("sink") or "")) or not name.endswith(".py"):
            return False
        if any(s["kind"] != "clock" or s["filename"] != name or not _CLOCKS.search(s["api"]) for s in sources):
            return False
        function = self._seen.around(name, report.span.row)
        return function is not None and all(_is_bare(function, report.span.row, source) for source in sources)


def _is_bare(function: Function, row: int, source: Mapping[str, Any]) -> bool:
    """Whether the values that are given to names in a row are a clock itself, or a local name that is one."""
    given = [value for value in _given(function) if value.lineno <= row <= (value.end_lineno or row)]
    clocks = {
        spelt(node.targets[0])
        for node in nodes_of(function, ast.Assign)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        if is_at(_number(node.value), source)
    }
    return any(is_at(value, source) or (isinstance(value, ast.Name) and value.id in clocks) for value in given)


def _given(function: Function) -> Iterator[ast.expr]:
    """What names, attributes and keys of a function get."""
    for node in own_nodes(function):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            yield _number(node.value)
        elif isinstance(node, ast.Dict):
            yield from map(_number, node.values)


def _number(node: ast.expr) -> ast.expr:
    """The value that another number is made of: `int(time.time())`."""
    while isinstance(node, ast.Call) and called(node) in _NUMBERS and node.args:
        node = node.args[0]
    return node
