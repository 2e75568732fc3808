"""Texts of reports that are kept, counted or shown instead of sent: a record of a store, what a memory is told, what is
printed, a text whose tokens are estimated, a tool's result.

A record that a manager or store writes under an id changes when it is written anew, not with the next request. What is
printed, or given back as the result of a tool, comes once and behind everything else. Both only where all is seen: what
is asked of, under which id, what becomes of the result, each place that reads the text.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.files import Files
from pytest_cachesafe.lint.evidence.running.uses import parsed
from pytest_cachesafe.lint.evidence.sending.measured import is_measured, is_measured_there
from pytest_cachesafe.lint.evidence.sending.written import TESTS, is_test, remembers, writes
from pytest_cachesafe.lint.evidence.trees import Function, called, nodes_of, own_nodes, parents, spelt
from pytest_cachesafe.lint.path_kinds import is_test_path

if TYPE_CHECKING:
    from cachesafe_rules.api import Report

__all__ = ["KeptTexts"]

_END = lazy_pattern(r"reaches (?:the )?(.+)$")
_ARGUMENT = lazy_pattern(r"argument (\w+) of (?:\w+\.)*(\w+)(\(\))?$")
_KEY = lazy_pattern(r"'(\w+)' of a request$")
_RETURNED = lazy_pattern(r"return value of (\w+)\(\)$")
# A message is kept where the display that it is written as is.
_MESSAGE = "system message"
_PASSED = lazy_pattern(r"passed to (\w+)\(\)$")
_PRINTS = lazy_pattern(r"_?(?:p?print|rprint|log|debug|info|warn|warning|error|exception|critical|echo|secho|len)$")
# What gives the number of a text's tokens.
_COUNTS = lazy_pattern(
    r"_*a?(?:get_)?(?:count|estimate|approximate|measure|num)_(?:\w+_)?(?:tok|tokens?)(?:_\w+)?$|"
    r"_*(?:tok|tokens?)_(?:count(?:er)?|len|length|estimate|size)$"
)
# The text inside of which, or of whose part, nothing is asked.
_SAME = (ast.FormattedValue, ast.JoinedStr, ast.BinOp, ast.Dict, ast.List, ast.keyword)
_HOPS = 2
# What of a call in a function says that the text stays there.
_Keeps = Callable[[ast.Call, Function], bool]


class KeptTexts:
    """Asks of reports. `files` are the names of those of the project, `seen` gives them."""

    def __init__(self, files: Sequence[str], seen: Files) -> None:
        self._files = [name for name in files if name.endswith(".py") and not is_test_path(name)]
        self._seen = seen

    def holds(self, report: Report) -> bool:
        """Whether the text of a report is seen to be kept, counted, shown or given back by a tool, and nothing else."""
        span = report.span
        ends = [(span.filename, span.row, str(report.data.get("sink") or ""))]
        ends += [(s.filename, s.row, found[1]) for s in report.steps if (found := _END.match(s.message)) is not None]
        # Where a caller passes it on, the last call is a row of the function it calls.
        told = {sink for *_, sink in ends}
        # Of a text that a function called on the way gives back, what becomes of it there.
        called_by = [(s.filename, s.row, found[1]) for s in report.steps if (found := _PASSED.match(s.message))]
        told -= {f"return value of {word}()" for name, row, word in called_by if self._is_dropped(name, row, word)}
        return all(any(self._is_kept(*end) for end in ends if end[2] == sink) for sink in told) and not any(
            self._is_sent(*end) for end in ends
        )

    def _is_dropped(self, name: str, row: int, word: str) -> bool:
        """Whether what the calls of a function in a row give back is kept or shown."""
        calls = self._calls(name, row, word)
        return bool(calls) and all(_goes(call, function, _HOPS) for call, function in calls)

    def _is_sent(self, name: str, row: int, sink: str) -> bool:
        """Whether a call of a sink in a row is something else than the writing of a record."""
        found = _ARGUMENT.match(sink)
        return (
            found is not None and not found[3] and not all(writes(*call) for call in self._calls(name, row, found[2]))
        )

    def _is_kept(self, name: str, row: int, sink: str) -> bool:
        function = self._seen.around(name, row)
        if function is None:
            return False
        argument, returned, key = _ARGUMENT.match(sink), _RETURNED.match(sink), _KEY.match(sink)
        if sink == _MESSAGE:
            # In a store of anything else it may be a part of a chat that is sent later.
            messages = list(_displays(function, row, "content"))
            known = self._seen[name].known
            return bool(messages) and all(
                _goes(message, function, _HOPS, remembers) or is_measured_there(message, function, known, _tells)
                for message in messages
            )
        if key is not None:
            dicts = list(_displays(function, row, key[1]))
            return bool(dicts) and all(_goes(display, function, _HOPS) for display in dicts)
        if argument is not None and argument[3]:
            # A function of this file, by what it does with its parameter.
            same = self._seen[name].known.get(argument[2], ())
            return bool(same) and all(self._stays(argument[1], one, name) for one in same)
        if argument is not None:
            calls = self._calls(name, row, argument[2])
            return bool(calls) and all(writes(*call) for call in calls)
        if returned is None:
            return sink.isidentifier() and self._stays(sink, function, name)
        if returned[1] == function.name:
            given = list(nodes_of(function, ast.Return))
            if given and all(_is_result(node) for node in given):
                return True
        found = False
        for shown in self._uses(returned[1]):
            if not shown:
                return False
            found = True
        return found

    def _stays(self, word: str, function: Function, name: str) -> bool:
        """Whether a name's text is kept or shown, by itself or in all that functions of the file make of it."""
        return _goes_nowhere(word, function, _HOPS) or is_measured(word, function, self._seen[name].known, _looks)

    def _calls(self, name: str, row: int, word: str) -> list[tuple[ast.Call, Function]]:
        function = self._seen.around(name, row)
        if function is None:
            return []
        return [(call, function) for call in self._seen[name].calls(row) if called(call) == word]

    def _uses(self, name: str) -> Iterator[bool]:
        """Of each mention of a function in the project, but imports, whether its text goes nowhere."""
        word = name.encode()
        for path in self._files:
            data = self._seen.read(path)
            if data is None or word not in data:
                continue
            for stmt in parsed(data):
                for node in ast.walk(stmt):
                    if isinstance(node, ast.Constant) and node.value == name:
                        yield False
                    elif isinstance(node, ast.Name | ast.Attribute) and spelt(node) == name:
                        yield self._is_only_shown(path, node)

    def _is_only_shown(self, path: str, node: ast.expr) -> bool:
        function = self._seen.around(path, node.lineno)
        for call in nodes_of(function, ast.Call) if function is not None else ():
            at = (node.lineno, node.col_offset)
            if (call.func.lineno, call.func.col_offset) == at and function is not None:
                return called(call) == spelt(node) and bool(_goes(call, function, _HOPS))
        return False


def _displays(function: Function, row: int, key: str) -> Iterator[ast.Dict]:
    """The dicts with a key in a row of a function: `{"system_prompt": …}`."""
    for node in nodes_of(function, ast.Dict):
        if not node.lineno <= row <= (node.end_lineno or row):
            continue
        for word, value in zip(node.keys, node.values, strict=True):
            named = isinstance(word, ast.Constant) and word.value == key
            if named and word is not None and word.lineno <= row <= (value.end_lineno or row):
                yield node


def _goes_nowhere(name: str, function: Function, hops: int, keeps: _Keeps = writes) -> bool:
    """Whether each place that reads a local name keeps or shows it, and one does."""
    inside = list(ast.walk(function))
    every = [n for n in inside if isinstance(n, ast.Name) and n.id == name]
    own = {id(node) for node in own_nodes(function)}
    # A function inside may be called by anybody, a name of the module read by others, all names taken at once.
    if any(id(node) not in own for node in every) or any(isinstance(n, ast.Global | ast.Nonlocal) for n in inside):
        return False
    if any(isinstance(n, ast.Call) and called(n) in ("locals", "vars", "globals") for n in inside):
        return False
    uses = [_goes(node, function, hops, keeps) for node in every if isinstance(node.ctx, ast.Load)]
    return any(uses) and all(use is not False for use in uses)


def _goes(node: ast.expr, function: Function, hops: int, keeps: _Keeps = writes) -> bool | None:
    """Whether a text is kept or shown where an expression stands; None where it is only asked for."""
    above = parents(function)
    here: ast.AST = node
    parent = above.get(id(here))
    while isinstance(parent, _SAME):
        here, parent = parent, above.get(id(parent))
    if isinstance(parent, ast.Call):
        if here is parent.func:
            return False
        if called(parent) == "TextContent":
            return _is_given_back(parent, above)
        return _looks(parent, function, keeps)
    if isinstance(parent, TESTS):
        return None if is_test(here, parent) else False
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        return bool(hops) and _goes_nowhere(parent.targets[0].id, function, hops - 1, keeps)
    return False


def _looks(call: ast.Call, function: Function, keeps: _Keeps = writes) -> bool:
    """Whether a call prints, counts or keeps what it is given."""
    shows = _PRINTS.match(called(call)) or _COUNTS.match(called(call))
    return shows is not None or keeps(call, function)


def _tells(call: ast.Call, function: Function) -> bool:
    """Whether a call prints or counts what it is given, and does not keep it."""
    return _looks(call, function, _keeps_nothing)


def _keeps_nothing(call: ast.Call, function: Function) -> bool:
    return False


def _is_given_back(call: ast.AST, above: dict[int, ast.AST]) -> bool:
    """Whether a part of a tool's result is returned by itself or in a list: `return [TextContent(text=…)]`."""
    parent = above.get(id(call))
    if isinstance(parent, ast.List):
        parent = above.get(id(parent))
    return isinstance(parent, ast.Return)


def _is_result(node: ast.Return) -> bool:
    """Whether what is returned is the result of a tool."""
    parts = node.value.elts if isinstance(node.value, ast.List) else [node.value]
    return bool(parts) and all(isinstance(part, ast.Call) and called(part) == "TextContent" for part in parts)
