"""System messages that a later node of a graph adds to the state: they stand behind all that was said before.

`return {"messages": [SystemMessage(...)]}` in a node of a LangGraph graph appends. Where it is not the graph's first
node, what it says is the newest message of that request, and stays as it is in those that follow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.files import Files
from pytest_cachesafe.lint.evidence.running.uses import parsed
from pytest_cachesafe.lint.evidence.trees import Function, called, nodes_of, parents, spelt
from pytest_cachesafe.lint.path_kinds import is_test_path

if TYPE_CHECKING:
    from cachesafe_rules.api import Report

__all__ = ["Appended"]

_MESSAGE = lazy_pattern(r"(?:also )?reaches (?:the )?(?:system message|SystemMessage)\b")
_SYSTEM = frozenset({"system", "developer"})
_ENTRIES = frozenset({"set_entry_point", "set_conditional_entry_point"})
_START = frozenset({"START", "__start__"})


class Appended:
    """Asks of reports. `files` are the names of those of the project, `seen` gives them."""

    def __init__(self, files: Sequence[str], seen: Files) -> None:
        self._files = [name for name in files if name.endswith(".py") and not is_test_path(name)]
        self._seen = seen
        self._later: dict[str, bool] = {}

    def holds(self, report: Report) -> bool:
        """Whether each place of a report is a system message that a node adds to what was said before."""
        span = report.span
        ends = {(span.filename, span.row)} | {(s.filename, s.row) for s in report.steps if _MESSAGE.match(s.message)}
        sink = str(report.data.get("sink"))
        if not sink.startswith(("system message", "SystemMessage")) or not span.filename.endswith(".py"):
            return False
        return all(self._is_added(*end) for end in ends)

    def _is_added(self, name: str, row: int) -> bool:
        function = self._seen.around(name, row)
        if function is None or not any(_added(function, row)):
            return False
        if function.name not in self._later:
            self._later[function.name] = self._is_later(function.name)
        return self._later[function.name]

    def _is_later(self, function: str) -> bool:
        """Whether a function is a node of a graph of the project, and nowhere the first one."""
        word, found = function.encode(), False
        for path in self._files:
            data = self._seen.read(path)
            if data is None or word not in data or b"add_node" not in data:
                continue
            calls = [n for stmt in parsed(data) for n in ast.walk(stmt) if isinstance(n, ast.Call)]
            nodes = {n for call in calls if called(call) == "add_node" for n in _named(call, function)}
            firsts = {n for call in calls for n in _first(call)}
            if nodes & firsts or (nodes and not firsts):
                return False
            found = found or bool(nodes)
        return found


def _added(function: Function, row: int) -> Iterator[bool]:
    """Lists of nothing but system messages that a node gives back as its part of the state, around a row."""
    above = parents(function)
    given = {n.value.id for n in nodes_of(function, ast.Return) if isinstance(n.value, ast.Name)}
    for node in nodes_of(function, ast.Dict):
        parent = above.get(id(node))
        if isinstance(parent, ast.keyword) and parent.arg == "update":
            # `Command(update={"messages": [...]}, goto=...)`
            parent = above.get(id(above.get(id(parent))))
        targets = parent.targets if isinstance(parent, ast.Assign) else [getattr(parent, "target", None)]
        named = isinstance(parent, ast.Assign | ast.AnnAssign) and isinstance(targets[0], ast.Name)
        if not isinstance(parent, ast.Return) and not (named and _target(targets[0]) in given):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            here = value.lineno <= row <= (value.end_lineno or row)
            if here and isinstance(key, ast.Constant) and key.value == "messages" and isinstance(value, ast.List):
                yield bool(value.elts) and all(map(_is_system, value.elts))


def _target(node: ast.AST | None) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_system(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return called(node) == "SystemMessage"
    if not isinstance(node, ast.Dict):
        return False
    pairs = zip(node.keys, node.values, strict=True)
    roles = [v for k, v in pairs if isinstance(k, ast.Constant) and k.value == "role"]
    return any(isinstance(role, ast.Constant) and role.value in _SYSTEM for role in roles)


def _named(call: ast.Call, function: str) -> Iterator[str]:
    """The name of a node that runs a function: `add_node("act", act_node)`, `add_node(act_node)`."""
    if not call.args or spelt(call.args[-1]) != function:
        return
    first = call.args[0]
    yield str(first.value) if isinstance(first, ast.Constant) else function


def _first(call: ast.Call) -> Iterator[str]:
    """The node that a graph begins with; of a choice between several, any of them."""
    names = [*call.args, *(k.value for k in call.keywords)]
    if called(call) in ("add_edge", "add_conditional_edges") and names:
        begins = spelt(names[0]) in _START or (isinstance(names[0], ast.Constant) and names[0].value in _START)
        names = names[1:] if begins else []
    elif called(call) not in _ENTRIES:
        names = []
    for name in names:
        for node in ast.walk(name):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.Name | ast.Attribute):
                yield spelt(node)
