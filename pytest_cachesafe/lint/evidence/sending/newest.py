"""Whether what reads a chat with a limit takes its newest messages: only then does a window slide.

`get_history(limit=20)` may as well give the first twenty for ever, or those that suit the question. Where the project
has the function, its text decides, and that of what it hands the limit on to.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.running.uses import definitions, parsed
from pytest_cachesafe.lint.evidence.trees import Function, called
from pytest_cachesafe.lint.path_kinds import is_test_path

if TYPE_CHECKING:
    from cachesafe_rules.api import Report

__all__ = ["Newest"]

_READER = lazy_pattern(r"(?:[\w.]+\.)?(\w+)\(limit=…\) is a sliding window")
# From the end: a slice, an order of SQL or of a query builder, a frame's tail, a reversed or bounded queue, a list of
# Redis from below zero or one that grows at its head.
_FROM_END = lazy_pattern(
    r"\[\s*-[^]\n:]*:|\bDESC\b|\bdesc\b|\bdescending\b|\btail\(|\breversed\(|\.reverse\(|\[::-1\]|\bdeque\b|"
    r"ScanIndexForward|\blatest\b|\bnewest\b|\brecent|\bx?revrange\b|\bzrevrange\b|"
    r"\blrange\([^)\n]*,\s*-|order_by\(\s*[\"']-|sort\([^)\n]*-1",
    re.IGNORECASE,
)
_HOPS = 3


class Newest:
    """Asks of windows that a limit makes. `read` gives the bytes of one of the project's files."""

    def __init__(self, files: Sequence[str], read: Callable[[str], bytes | None]) -> None:
        self._files = files
        self._read = read
        self._taken: dict[str, bool] = {}

    def holds(self, report: Report) -> bool:
        """Whether the project's own reader of a chat is not seen to take the end of it."""
        found = _READER.match(report.message)
        if found is None:
            return False
        name = found[1]
        if name not in self._taken:
            self._taken[name] = self._is_from_end(name)
        return not self._taken[name] and not self._is_turned(report)

    def _is_turned(self, report: Report) -> bool:
        """Whether the function that asks turns round what it is given, as one does with the newest first."""
        name, row = report.span.filename, report.span.row
        data = self._read(name) or b""
        rows = data.decode("utf-8", "replace").splitlines()
        around = [d.node for d in definitions(parsed(data)) if d.node.lineno <= row <= (d.node.end_lineno or 0)]
        return any(_FROM_END.search("\n".join(rows[node.lineno : node.end_lineno])) for node in around)

    def _is_from_end(self, name: str) -> bool:
        """Of a function that the project does not have nothing is known: its name and its limit say enough."""
        asked, seen = {name}, set[str]()
        for hop in range(_HOPS):
            inner: set[str] = set()
            for text, function in self._functions(asked):
                if _FROM_END.search(text):
                    return True
                inner |= _handed_on(function)
                seen.add(function.name)
            if not hop and not seen:
                return True
            asked = inner - seen
            if not asked:
                break
        return False

    def _functions(self, names: set[str]) -> Iterator[tuple[str, Function]]:
        spelt = re.compile(rb"def (?:" + b"|".join(re.escape(name.encode()) for name in sorted(names)) + rb")\(")
        for path in self._files:
            data = self._read(path) if path.endswith(".py") and not is_test_path(path) else None
            if data is None or spelt.search(data) is None:
                continue
            rows = data.decode("utf-8", "replace").splitlines()
            for definition in definitions(parsed(data)):
                node = definition.node
                if node.name in names:
                    yield "\n".join(rows[node.lineno : node.end_lineno]), node


def _handed_on(function: Function) -> set[str]:
    """What a function calls with one of its parameters, as that with the limit is."""
    own = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)} - {"self", "cls"}
    names = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and (name := called(node)):
            given = (*node.args, *(word.value for word in node.keywords))
            if any(isinstance(part, ast.Name) and part.id in own for one in given for part in ast.walk(one)):
                names.add(name)
    return names
