"""Files as reports ask for them: the functions around a row, texts, constants, callers."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property

from pytest_cachesafe.lint.evidence.running.uses import parsed
from pytest_cachesafe.lint.evidence.trees import Function, called, functions, is_property, nodes_of

__all__ = ["File", "Files"]


class File:
    """A file as far as reports ask: its functions, constants and, as `texts`, its strings with placeholders."""

    def __init__(self, data: bytes) -> None:
        body = parsed(data)
        self.known = functions(body)
        self.constants = _constants(body)
        self.rows = data.count(b"\n")
        self._body = body

    @cached_property
    def texts(self) -> list[str]:
        """Strings that may have placeholders."""
        nodes = (node for stmt in self._body for node in ast.walk(stmt) if isinstance(node, ast.Constant))
        return [node.value for node in nodes if isinstance(node.value, str) and "{" in node.value]

    def calls(self, row: int) -> Iterator[ast.Call]:
        """The calls around a row."""
        for stmt in self._body:
            if stmt.lineno <= row <= (stmt.end_lineno or stmt.lineno):
                for node in ast.walk(stmt):
                    if isinstance(node, ast.Call) and node.lineno <= row <= (node.end_lineno or node.lineno):
                        yield node

    @cached_property
    def _properties(self) -> set[str]:
        """The names of functions that are run by being read."""
        return {name for name, same in self.known.items() if any(map(is_property, same))}

    @cached_property
    def _callers(self) -> dict[str, list[Function]]:
        found: dict[str, list[Function]] = {}
        for same in self.known.values():
            for caller in same:
                names = {called(node) for node in nodes_of(caller, ast.Call)}
                names |= {n.attr for n in nodes_of(caller, ast.Attribute) if n.attr in self._properties}
                for name in names:
                    found.setdefault(name, []).append(caller)
        return found

    def around(self, row: int) -> Function | None:
        """The innermost function around a row."""
        at = bisect_right(self._in_order, row, key=lambda f: f.lineno)
        return next((f for f in reversed(self._in_order[:at]) if row <= (f.end_lineno or f.lineno)), None)

    @cached_property
    def _in_order(self) -> list[Function]:
        return sorted((f for same in self.known.values() for f in same), key=lambda f: f.lineno)

    def enclosing(self, function: Function) -> list[Function]:
        """A function and those that it is written in, the innermost first."""
        last = function.end_lineno or function.lineno
        every = (f for same in self.known.values() for f in same)
        around = [f for f in every if f.lineno <= function.lineno and last <= (f.end_lineno or f.lineno)]
        return sorted(around, key=lambda f: f.lineno, reverse=True)

    def callers(self, function: Function) -> list[Function]:
        """The functions of the file that call one of that name."""
        return [caller for caller in self._callers.get(function.name, ()) if caller is not function]


class Files:
    """Files of a project by their names, each looked at once for all that ask. `read` gives the bytes of one."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self.read = read
        self._made: dict[str, File] = {}

    def __getitem__(self, name: str) -> File:
        if name not in self._made:
            self._made[name] = File((self.read(name) or b"") if name.endswith(".py") else b"")
        return self._made[name]

    def around(self, name: str, row: int) -> Function | None:
        """The innermost function around a row of a file."""
        return self[name].around(row)


def _constants(body: list[ast.stmt]) -> dict[str, str]:
    """The texts that module and classes name."""
    found: dict[str, str] = {}
    for statement in body:
        for inner in (statement, *(statement.body if isinstance(statement, ast.ClassDef) else ())):
            if isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Constant):
                for target in inner.targets:
                    if isinstance(target, ast.Name) and isinstance(inner.value.value, str):
                        found[target.id] = inner.value.value
    return found
