"""Constants that nobody reads and functions that nobody can call: what is built in them is sent to nobody."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cachesafe_rules.model import Arrival

__all__ = ["Dead", "parsed", "unused"]

_DEFINES = re.compile(rb"^(?:async def|def|class) ", re.MULTILINE)


def unused(name: str, arrival: Arrival, files: Iterable[str], read: Callable[[str], bytes | None]) -> bool:
    """Whether an arrival is the text of a constant that stands unused beside the code of its module.

    A module of nothing but texts is there for others, maybe in another project. `read` gives the bytes of a file.
    """
    if arrival.function or not arrival.sink.isidentifier() or not name.endswith(".py"):
        return False
    data = read(name)
    word = arrival.sink.encode()
    spelt = re.compile(rb"\b" + re.escape(word) + rb"\b")
    if data is None or not _DEFINES.search(data) or len(spelt.findall(data)) > 1:
        return False
    folder, _, last = name.rpartition("/")
    stem = (folder.rpartition("/")[2] if last == "__init__.py" else last[:-3]).encode()
    for other in files:
        text = read(other) if other != name else None
        # Whoever imports it spells its module, or takes all there is.
        if text is not None and word in text and (stem in text or b"import *" in text):
            return False
    return True


# `@DeprecationWarning`: what is bound to the name then is the warning.
_RAISED = re.compile(r"(?:Warning|Error|Exception)$")
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Dead:
    """The code of one file that cannot run. `read` gives the bytes of a file of the project."""

    def __init__(self, name: str, files: Iterable[str], read: Callable[[str], bytes | None]) -> None:
        self._name = name
        self._files = files
        self._read = read
        self._data = (read(name) if name.endswith(".py") else None) or b""
        self._body = parsed(self._data)
        self._known: dict[tuple[str, bool], bool] = {}

    def holds(self, row: int, public: bool) -> bool:
        """Whether a row lies in what is hidden by its decorator, in a private function that is spelt nowhere else, or
        (where `public` ones are asked about) in a function of a module of which others use other functions alone."""
        for node, top in _around(self._body, row):
            if any(isinstance(d, ast.Name) and _RAISED.search(d.id) for d in node.decorator_list):
                return True
            if isinstance(node, ast.ClassDef) or node.decorator_list:
                continue
            private = node.name.startswith("_") and not node.name.startswith("__")
            if not private and not (public and top):
                continue
            key = node.name, private
            if key not in self._known:
                self._known[key] = self._unspelt(node.name, private)
            if self._known[key]:
                return True
        return False

    def _unspelt(self, function: str, private: bool) -> bool:
        word = function.encode()
        if len(re.findall(rb"\b" + re.escape(word) + rb"\b", self._data)) > 1:
            return False
        others = [n.name.encode() for n in self._body if isinstance(n, _Definition) and n.name != function]
        folder, _, last = self._name.rpartition("/")
        if not others or last == "__init__.py":
            return False
        imports = re.compile(rb"(?:from|import)\b[^\n]*\b" + re.escape(last[:-3].encode()) + rb"\b")
        used = private
        for other in sorted(self._files, key=lambda file: file.rpartition("/")[0] != folder):
            text = self._read(other) if other != self._name else None
            if text is None:
                continue
            if word in text:
                return False
            if imports.search(text):
                if b"import *" in text:
                    return False
                used = used or any(name in text for name in others)
        return used


def parsed(data: bytes) -> list[ast.stmt]:
    """The statements of a module; none where it cannot be parsed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(data).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []


def _around(body: list[ast.stmt], row: int) -> Iterator[tuple[_Definition, bool]]:
    """The definitions around a row, of a module and of its classes, and whether they stand in the module itself."""
    for node in body:
        if isinstance(node, _Definition) and node.lineno <= row <= (node.end_lineno or node.lineno):
            yield node, True
            if isinstance(node, ast.ClassDef):
                yield from ((inner, False) for inner, _ in _around(node.body, row))
