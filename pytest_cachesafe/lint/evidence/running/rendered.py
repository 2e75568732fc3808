"""Whether anybody renders a prompt template: code that is called names its file, for more than a comparison."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from pytest_cachesafe.lint.evidence.running.called import Called
from pytest_cachesafe.lint.evidence.running.uses import parsed
from pytest_cachesafe.lint.path_kinds import is_test_path

__all__ = ["Rendered"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Spelt(NamedTuple):
    """Where code names a template or a constant that holds one; `row` 0 in a module's own code."""

    file: str
    row: int
    constant: str = ""


class Rendered:
    """The templates of one project. `read` gives the bytes of a file of the project."""

    def __init__(self, files: Iterable[str], read: Callable[[str], bytes | None]) -> None:
        self._all = list(files)
        self._read = read

    @cached_property
    def _files(self) -> list[str]:
        return [name for name in self._all if name.endswith(".py") and not is_test_path(name)]

    @cached_property
    def _called(self) -> Called:
        return Called(self._all, self._read)

    def holds(self, name: str) -> bool:
        """Whether a template may be rendered. One that no code names may be found by its folder, or be another
        program's; where all that names it is dead or compares with it, nobody sends it."""
        base = name.rpartition("/")[2]
        stem = base.partition(".")[0]
        words = re.compile(rb"[\"'/\\]" + re.escape(os.fsencode(stem)) + rb"[\"'.]")
        spelt = [place for file in self._files for place in self._spelt(file, words, (base, stem))]
        return not spelt or any(self._alive(place) for place in spelt)

    def _spelt(self, file: str, words: re.Pattern[bytes], names: tuple[str, str]) -> Iterator[_Spelt]:
        data = self._read(file)
        if data is None or not words.search(data):
            return
        for node, above in _with_parents(parsed(data)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                last = node.value.replace("\\", "/").rpartition("/")[2]
                if last in names and not isinstance(above[-1], ast.Expr) and not _compared(above):
                    yield _place(file, above)

    def _alive(self, place: _Spelt) -> bool:
        if place.row:
            return place.row not in self._called.dead({place.file: [place.row]}).get(place.file, ())
        if not place.constant:
            return True
        word = place.constant.encode()
        for file in self._files:
            data = self._read(file)
            if data is None or word not in data:
                continue
            for node, above in _with_parents(parsed(data)):
                spelt = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
                if spelt == place.constant and isinstance(getattr(node, "ctx", None), ast.Load):
                    use = _place(file, above)
                    if not _compared(above) and (use.constant or not use.row or self._alive(use)):
                        return True
        return False


def _with_parents(body: list[ast.stmt]) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """Every node with those around it, the outermost first."""
    stack: list[tuple[ast.AST, list[ast.AST]]] = [(node, []) for node in reversed(body)]
    while stack:
        node, above = stack.pop()
        yield node, above
        inner = [*above, node]
        stack += [(child, inner) for child in ast.iter_child_nodes(node)]


def _compared(above: list[ast.AST]) -> bool:
    """Whether something only compares: what a template is compared with is not what is sent."""
    around = next((node for node in reversed(above) if not isinstance(node, ast.List | ast.Tuple | ast.Set)), None)
    return isinstance(around, ast.Compare)


def _place(file: str, above: list[ast.AST]) -> _Spelt:
    functions = [node for node in above if isinstance(node, _Function)]
    if functions:
        return _Spelt(file, functions[-1].lineno)
    statement = above[0]
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(statement, ast.AnnAssign):
        target = statement.target
    return _Spelt(file, 0, target.id if isinstance(target, ast.Name) else "")
