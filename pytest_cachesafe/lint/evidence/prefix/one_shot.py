"""Requests of which nothing is sent again behind the volatile value: one system text, one question, no chat.

A value at the end of a long system text spoils nothing then: what follows is the question, another one in each
request. It must be visible that the messages are these alone; where a list comes from elsewhere or goes elsewhere, it
may be a chat, and the report stays. A job that a timer starts is one request, whatever its messages are.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.files import File, Files
from pytest_cachesafe.lint.evidence.prefix.behind import Around, Place, around
from pytest_cachesafe.lint.evidence.prefix.chats import in_loop
from pytest_cachesafe.lint.evidence.prefix.single_requests import CLOSING, Sent, single_requests
from pytest_cachesafe.lint.evidence.trees import Function, called, names_in, nodes_of, own_nodes, parents

if TYPE_CHECKING:
    from cachesafe_rules.api import Report

__all__ = ["OneShot"]

# Rules on values in system texts. Text that is recalled is kept only where a chat or an agent is to be seen.
_CODES = frozenset(
    {"CSF101", "CSF102", "CSF103", "CSF104", "CSF105", "CSF106", "CSF107", "CSF108", "CSF109", "CSF201", "CSF202"}
)
_MEMORY = "CSF109"
_TIME = "CSF101"
# What is given back is sent as it is, or begins a chat that keeps its text: a clock in it is read once.
_CLOCKS = frozenset({"CSF101", "CSF103"})
# Requests that one text goes into; with more nobody looks at all of them.
_MOST = 50
# Orders: behind the question they are new with it.
_ORDERS = frozenset({"CSF201", "CSF202"})
# The order of a set: what is in front of it is no more kept than what is behind.
_LOOSE = frozenset({"CSF201"})
# Jobs that a timer starts, by the names of their files and functions: hours lie between two of them, no cache lives so
# long, and the rounds of one job share its text.
_JOB = lazy_pattern(r"(?:^|[_/])(?:cron|digests?|briefings?|newsletters?|reminders?|scheduler|scheduled)(?=[_/.]|$)")
_RETURNED = lazy_pattern(r"returned by ")
# More fixed text than ends the line that a value stands in.
_SENTENCE = 30
# Calls that take a text for a moment: counted, told to somebody.
_LOOKED_AT = frozenset({"len", "print", "debug", "info", "warning", "log", "count_tokens", "encode", "str", "strip"})


class OneShot:
    """The one-shot requests of one of the files. `is_alone` says of a short file whether it is complete as it
    stands."""

    def __init__(self, name: str, files: Files, is_alone: Callable[[str], bool] | None = None) -> None:
        self._name = name
        self._files = files
        self._is_alone = is_alone
        self._sent: dict[int, _Requests] = {}
        self._returned: set[int] = set()
        self._found: dict[tuple[int, int, int, int], list[tuple[ast.expr, Function]]] = {}

    def holds(self, code: str, report: Report) -> bool:
        """Whether nothing behind the value of a report is sent again."""
        try:
            return self._holds(code, report)
        except RecursionError:
            # A text of hundreds of parts; the report stays.
            return False

    def _holds(self, code: str, report: Report) -> bool:
        if code not in _CODES or report.data.get("part") != "system" or not self._name.endswith(".py"):
            return False
        kinds = {source.get("kind") for source in report.data.get("sources", ())}
        row, end = report.span.row, report.span.end_row
        function = self._file.around(row)
        if function is None:
            return False
        if code == _TIME and _JOB.search(f"{self._name}/{function.name}") and not self._is_read_in_rounds(report):
            return True
        starts = frozenset(
            (s["row"], s["column"]) for s in report.data.get("sources", ()) if s.get("filename") == self._name
        )
        rows = frozenset(step.row for step in report.steps if step.filename == self._name)
        place = Place(function, rows | {start[0] for start in starts}, starts, self._file.known, self._file.constants)
        recalled = code == _MEMORY and kinds == {"memory"}
        ordered = code in _ORDERS
        texts = _texts(function, row, end, said=ordered) if recalled or ordered else ()
        if any(_follows_question(text, place) for text in texts):
            return True
        sent = self._requests(function, row, end)
        if any(id(system) in self._returned for system, _ in sent):
            if code not in _CLOCKS:
                return False
            # Whose callers are not looked at, a text of which nothing is seen may be a word.
            place = place._replace(unknown=0)
        alone = code in _LOOSE and self._is_alone is not None and self._is_alone(self._name)
        return 0 < len(sent) <= _MOST and all(
            _at_the_end(around(system, place._replace(function=where)), loose=recalled or code in _LOOSE, alone=alone)
            for system, where in sent
        )

    def _is_read_in_rounds(self, report: Report) -> bool:
        """Whether the rounds of a job read the clock, each for its own request."""
        reads = [(step.filename, step.row) for step in report.steps if _RETURNED.match(step.message)]
        reads += [(source["filename"], source["row"]) for source in report.data.get("sources", ())]
        for name, row in reads:
            function = self._files.around(name, row)
            if function is not None and in_loop(function, row):
                return True
        return False

    def is_single(self, row: int, end: int) -> bool:
        """Whether the text of a statement goes into requests of one question alone, all of them seen."""
        function = self._file.around(row)
        return function is not None and 0 < len(self._requests(function, row, end)) <= _MOST

    @property
    def _file(self) -> File:
        return self._files[self._name]

    def _requests(self, function: Function, row: int, end: int, depth: int = 2) -> list[tuple[ast.expr, Function]]:
        """The system texts of the requests that the text of a statement goes into; none if one of them may be a chat,
        or if it goes elsewhere as well."""
        key = (id(function), row, end, depth)
        if key not in self._found:
            self._found[key] = self._looked_for(function, row, end, depth)
        return self._found[key]

    def _looked_for(self, function: Function, row: int, end: int, depth: int) -> list[tuple[ast.expr, Function]]:
        if id(function) not in self._sent:
            self._sent[id(function)] = _Requests(function, self._file.known)
            self._returned |= {id(sent.system) for sent in self._sent[id(function)].whole if sent.returned}
        requests = self._sent[id(function)]
        out = [(sent.system, function) for sent in requests.whole if _overlaps(sent.system, row, end)]
        if out:
            return out
        names: set[str] = set()
        returned = False
        for node in requests.statements(row, end):
            if isinstance(node, ast.Return):
                returned = True
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
            if not all(isinstance(target, ast.Name) for target in targets):
                return []
        if returned:
            return self._of_callers(function, depth)
        for use in _uses(function, names):
            if id(use.node) in requests.into:
                out.append((requests.into[id(use.node)].system, function))
            elif isinstance(use.parent, ast.Return):
                found = self._of_callers(function, depth)
                if not found:
                    return []
                out += found
            elif not use.harmless:
                return []
        return out

    def _of_callers(self, function: Function, depth: int) -> list[tuple[ast.expr, Function]]:
        out: list[tuple[ast.expr, Function]] = []
        if not depth:
            return []
        calls = self._calls.get(function.name, ())
        if len(calls) > _MOST:
            return []
        for caller, node in calls:
            if caller is not function:
                found = self._requests(caller, node.lineno, _end(node), depth - 1)
                if not found:
                    return []
                out += found
        return out

    @cached_property
    def _calls(self) -> dict[str, list[tuple[Function, ast.Call]]]:
        """The calls in the functions of the file, by the last part of their names."""
        found: dict[str, list[tuple[Function, ast.Call]]] = {}
        for same in self._file.known.values():
            for caller in same:
                for node in nodes_of(caller, ast.Call):
                    found.setdefault(called(node), []).append((caller, node))
        return found


def _texts(function: Function, row: int, end: int, *, said: bool) -> Iterator[ast.expr]:
    """What a function returns, and what is named, handed on or `said` by a message between two rows of it."""
    for node in own_nodes(function):
        if isinstance(node, ast.Return):
            if node.value is not None:
                yield node.value
        elif isinstance(node, ast.Assign | ast.AugAssign):
            if node.lineno <= end and row <= _end(node):
                yield node.value
        elif isinstance(node, ast.keyword) and isinstance(node.value, ast.Name) and _overlaps(node.value, row, end):
            yield node.value
        elif said and isinstance(node, ast.Dict) and _overlaps(node, row, end):
            yield from (v for k, v in zip(node.keys, node.values, strict=True) if _is_content(k))


def _is_content(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and key.value == "content"


def _follows_question(text: ast.expr, place: Place) -> bool:
    """Whether recalled text, or an order, stands behind the question: what is there is new with it."""
    seen = around(text, place)
    return seen is not None and seen.asked


def _at_the_end(seen: Around | None, *, loose: bool, alone: bool) -> bool:
    if seen is None:
        # Recalled text, or an order, in a request that is no chat: where it stands in it is not to be seen.
        return loose
    if alone and seen.behind > _SENTENCE and not seen.asked and seen.front < CLOSING:
        # Nothing of a short text is in front of the order: no two processes share any of it.
        return False
    if loose and (seen.asked or seen.behind <= CLOSING):
        return True
    # A short text with a value in it is not yet one that is kept stable in front of it.
    return seen.front >= CLOSING >= seen.near


def _end(node: ast.stmt | ast.expr) -> int:
    return node.end_lineno or node.lineno


def _overlaps(expr: ast.expr, row: int, end: int) -> bool:
    return expr.lineno <= end and row <= _end(expr)


_Statement = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return


class _Requests:
    """What a function sends as a whole, worked out once for all reports in it."""

    def __init__(self, function: Function, known: dict[str, list[Function]]) -> None:
        self.whole = list(single_requests(function, known))
        self.into: dict[int, Sent] = {id(n): sent for sent in self.whole for n in ast.walk(sent.system)}
        # None stands in another one, so in the order of their rows both ends are sorted.
        nodes = [node for node in own_nodes(function) if isinstance(node, _Statement)]
        self._statements = sorted(nodes, key=lambda node: (node.lineno, _end(node)))

    def statements(self, row: int, end: int) -> list[_Statement]:
        """What gives a name a value, or returns one, between two rows."""
        first = bisect_left(self._statements, row, key=_end)
        return self._statements[first : bisect_right(self._statements, end, key=lambda node: node.lineno)]


class _Use(NamedTuple):
    node: ast.Name
    parent: ast.AST
    harmless: bool


def _uses(function: Function, names: set[str]) -> Iterator[_Use]:
    """Where names are read, in the order of the source, and whether that hands their text to nobody."""
    found = [use for name in names for use in names_in(function).get(name, ())]
    for node, child in sorted(found, key=lambda use: (use[1].lineno, use[1].col_offset)):
        if isinstance(child.ctx, ast.Load):
            test = isinstance(node, ast.If | ast.While | ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Slice)
            told = isinstance(node, ast.Call) and called(node) in _LOOKED_AT
            own = isinstance(node, ast.Attribute | ast.Subscript | ast.FormattedValue | ast.BinOp)
            yield _Use(child, node, test or told or (own and _to_itself(function, node, names)))


def _to_itself(function: Function, inner: ast.AST, names: set[str]) -> bool:
    """Whether a text that holds a name becomes the name's own new text, or is only looked at."""
    around = parents(function)
    node: ast.AST | None = inner
    while node is not None:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            # A name that is an index of the target is handed to somebody as well.
            inside = any(part is inner for target in targets for part in ast.walk(target))
            return not inside and all(isinstance(target, ast.Name) and target.id in names for target in targets)
        if isinstance(node, ast.stmt):
            call = node.value if isinstance(node, ast.Expr) else None
            return isinstance(call, ast.Call) and called(call) in _LOOKED_AT
        node = around.get(id(node))
    return False
