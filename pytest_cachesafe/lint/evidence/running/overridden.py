"""Methods of a base that never run: the base makes no objects, and every class below it has a method of its own.

Names decide, since nothing is executed. A base makes no objects where it has an abstract method; its method is called
all the same where a class below does not override it, or calls it by `super()`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

from pytest_cachesafe.lint.parse import tree_of

__all__ = ["Overridden"]

# Classes below classes.
_LEVELS = 4


class Overridden:
    """Asks whether a row lies in such a method. `read` gives the bytes of a file of the project."""

    def __init__(self, files: Iterable[str], read: Callable[[str], bytes | None]) -> None:
        self._files = files
        self._read = read

    def rows(self, name: str, rows: Iterable[int]) -> set[int]:
        """Those of the rows of a file that never run."""
        data = self._read(name) if name.endswith(".py") else None
        if data is None or b"abstractmethod" not in data:
            return set()
        asked = sorted(set(rows))
        out: set[int] = set()
        for cls in _classes(data):
            if not _makes_no_objects(cls):
                continue
            for method in cls.body:
                if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) or method.name.startswith("__"):
                    continue
                inside = {row for row in asked if method.lineno <= row <= (method.end_lineno or method.lineno)}
                if inside and self._never_runs(cls.name, method.name):
                    out |= inside
        return out

    def _never_runs(self, base: str, method: str) -> bool:
        """Whether there are classes below and all of them have the method, without asking the base for its own."""
        own = re.compile(rf"\bsuper\([^()]*\)\s*\.\s*{method}\b|\b{base}\s*\.\s*{method}\b".encode())
        bases, found = {base}, 0
        for _ in range(_LEVELS):
            below: set[str] = set()
            words = re.compile(
                rb"\bclass\s+\w+\s*\([^)]*\b(?:" + b"|".join(b.encode() for b in sorted(bases)) + rb")\b"
            )
            for name in self._files:
                data = self._read(name)
                if data is None or b"class " not in data or words.search(data) is None:
                    continue
                for cls in _classes(data):
                    if not any(_last(above) in bases for above in cls.bases) or cls.name in bases:
                        continue
                    if not any(getattr(node, "name", "") == method for node in cls.body):
                        if not _makes_no_objects(cls):
                            return False
                        below.add(cls.name)
                        continue
                    if own.search(data) is not None:
                        return False
                    found += 1
            if not below:
                break
            bases = below
        return found > 0


def _classes(data: bytes) -> list[ast.ClassDef]:
    tree = tree_of(data)
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)] if tree is not None else []


def _makes_no_objects(cls: ast.ClassDef) -> bool:
    """Whether a method of the class is abstract."""
    return any(
        _last(decorator) in ("abstractmethod", "abstractproperty")
        for node in cls.body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for decorator in node.decorator_list
    )


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
