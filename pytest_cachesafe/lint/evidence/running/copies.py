"""Copies of files that nobody runs: `agent_old.py` beside the `agent.py` that is taken in.

A file that no code, tests aside, takes in may be there for whoever installs the project. Where the file beside it that
somebody takes in goes by the same word and defines the same function or class, it is not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.evidence.trees import Function
from pytest_cachesafe.lint.path_kinds import is_test_path

if TYPE_CHECKING:
    from cachesafe_rules.api import Report
    from pytest_cachesafe.lint.evidence.running.modules import Modules

__all__ = ["Copies"]

_ENDS = re.compile(r"(?:also )?reaches ")
# What platforms call in a file that they are told of elsewhere.
_ENTRY = re.compile(r"^(?:main|run|start|(?:\w+_)?handler)$")
# Code that takes files in by names which nobody spells.
_LOADS = re.compile(
    rb"\b(?:import_module|__import__)\(\s*(?![\"'][\w.]+[\"'])|"
    rb"\b(?:iter_modules|walk_packages|spec_from_file_location|exec_module|run_path|load_module|SourceFileLoader|"
    rb"entry_points)\b"
)
# Where settings, instructions and first pages name what is run by its file, in each folder above it.
_SETTINGS = (
    "pyproject.toml", "setup.cfg", "setup.py", "README.md", "langgraph.json", "Dockerfile", "docker-compose.yml",
    "docker-compose.yaml", "Makefile", "Procfile", "package.json", "serverless.yml", "template.yaml", "justfile",
)  # fmt: skip


class Copies:
    """Asks of reports. `files` are those of the project, `read` gives the bytes of one."""

    def __init__(self, files: Sequence[str], read: Callable[[str], bytes | None]) -> None:
        self._files = [name for name in files if name.endswith(".py") and not is_test_path(name)]
        self._read = read
        self._known: dict[tuple[str, str], bool] = {}

    @cached_property
    def _modules(self) -> Modules:
        # Few projects have such a file: nothing of it need be imported.
        from pytest_cachesafe.lint.evidence.running.modules import Modules

        return Modules(self._files, self._read)

    @cached_property
    def _loads(self) -> bool:
        return any(_LOADS.search(self._read(name) or b"") for name in self._files)

    def holds(self, report: Report) -> bool:
        """Whether a report is about a function or class that nobody runs, while a file beside it has the one in use."""
        name = report.span.filename
        beside = list(self._beside(name))
        # What goes on in another file may be sent there.
        if not beside or any(step.filename != name and _ENDS.match(step.message) for step in report.steps):
            return False
        self._modules.release()
        around = next((n for n in self._modules[name].body if _is_around(n, report.span.row)), None)
        # What stands in no function is run by whoever loads the file, by whatever name.
        if not isinstance(around, Function | ast.ClassDef) or _ENTRY.match(around.name):
            return False
        key = name, around.name
        if key not in self._known:
            self._known[key] = self._is_copy(name, around.name, beside)
        return self._known[key]

    def _beside(self, name: str) -> Iterator[str]:
        """The files of a folder that go by the same word: `agent.py` of `agent_old.py`, and the other way round."""
        folder, _, last = name.rpartition("/")
        for other in self._files:
            where, _, file = other.rpartition("/")
            if where == folder and other != name and _is_alike(file[:-3], last[:-3]):
                yield other

    def _is_copy(self, name: str, word: str, beside: Sequence[str]) -> bool:
        defines = re.compile(rb"^(?:async def|def|class) " + re.escape(word.encode()) + rb"\b", re.MULTILINE)
        same = [other for other in beside if defines.search(self._read(other) or b"")]
        if not same or self._modules.is_taken_in(self._modules[name]) or self._is_named(name) or self._loads:
            return False
        return any(self._is_imported(other) for other in same)

    def _is_imported(self, name: str) -> bool:
        """Whether an import spells a file, from wherever it is taken in."""
        stem = re.escape(_stem(name))
        imported = re.compile(rb"\b(?:from|import)\b[^\n]*\b" + stem + rb"\b")
        return any(imported.search(self._read(other) or b"") for other in self._files if other != name)

    def _is_named(self, name: str) -> bool:
        """Whether other code, or the settings of a folder around it, spell the name of a file."""
        spelt = re.compile(rb"\b" + re.escape(_stem(name)) + rb"\b")
        parts = name.split("/")[:-1]
        folders = ["/".join([*parts[:depth], ""]) for depth in range(len(parts) + 1)]
        others = (other for other in self._files if other != name)
        settings = (folder + file for folder in folders for file in _SETTINGS)
        return any(spelt.search(self._read(other) or b"") for other in (*settings, *others))


def _stem(name: str) -> bytes:
    return name.rpartition("/")[2][:-3].encode()


def _is_alike(first: str, second: str) -> bool:
    """Whether of two names one is the other with a word before or behind it."""
    short, long = sorted((first, second), key=len)
    rest = long.removeprefix(short) if long.startswith(short) else long.removesuffix(short)
    return len(short) > 2 and rest != long and re.match(r"_|v?\d+$|\w+_$", rest) is not None


def _is_around(node: ast.stmt, row: int) -> bool:
    return node.lineno <= row <= (node.end_lineno or node.lineno)
