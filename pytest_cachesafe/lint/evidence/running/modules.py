"""The files of a project as what is followed through them asks: who names, calls and defines what."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.running.uses import parsed
from pytest_cachesafe.lint.evidence.trees import Function, spelt
from pytest_cachesafe.lint.path_kinds import is_test_path
from pytest_cachesafe.lint.project import ProjectIndex

__all__ = ["Module", "Modules"]

_CHAT = lazy_pattern(rb"messages|histor|conversation|turns|dialog|transcript|memory|context")
# Of a name that so many files spell nobody can say whose it is.
_MANY = 40
# A project of so few files is a program or a library as it stands: who runs it does so from outside.
_FEW = 10
# Bytes of files whose trees are held at a time. What lies beyond is not looked at.
_MOST = 1_500_000
# Decorators that hand a function to nobody.
_PLAIN = frozenset(
    {"staticmethod", "classmethod", "property", "cached_property", "cache", "lru_cache", "contextmanager", "wraps",
     "asynccontextmanager", "abstractmethod", "override", "retry", "observe", "traceable", "setter", "overload",
     "dataclass", "unique", "total_ordering"}
)  # fmt: skip
# Bases that load nothing.
_INERT = frozenset(
    {"object", "ABC", "Generic", "Protocol", "BaseModel", "BaseSettings", "Enum", "StrEnum", "str", "dict", "list",
     "NamedTuple", "TypedDict", "Exception"}
)  # fmt: skip
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Module:
    """One file. Functions are those of modules, classes and other functions; None stands for the module's own code."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.body = parsed(data)
        self._parents: dict[int, dict[int, ast.AST]] = {}

    @cached_property
    def _owned(self) -> dict[int, tuple[Function | None, list[ast.AST]]]:
        """For each function (0 for the module) its own nodes."""
        found: dict[int, tuple[Function | None, list[ast.AST]]] = {0: (None, [])}
        stack: list[tuple[ast.AST, int]] = [(node, 0) for node in reversed(self.body)]
        while stack:
            node, home = stack.pop()
            found[home][1].append(node)
            if isinstance(node, Function):
                found[id(node)] = (node, [])
                stack += [(part, home) for part in (*node.decorator_list, node.args)]
                stack += [(part, id(node)) for part in reversed(node.body)]
            else:
                stack += [(part, home) for part in reversed(list(ast.iter_child_nodes(node)))]
        return found

    @cached_property
    def functions(self) -> list[Function]:
        return [function for function, _ in self._owned.values() if function is not None]

    @cached_property
    def named(self) -> dict[str, list[Function]]:
        """Functions by their names, those that make objects by the names of their classes."""
        found: dict[str, list[Function]] = {}
        for function in self.functions:
            found.setdefault(function.name, []).append(function)
        for node in self.nodes(None):
            if isinstance(node, ast.ClassDef):
                made = [f for f in node.body if isinstance(f, Function) and f.name == "__init__"]
                found.setdefault(node.name, []).extend(made)
        return found

    @cached_property
    def _spelt(self) -> dict[str, list[tuple[Function | None, ast.Name | ast.Attribute]]]:
        """Where names and attributes are read, by their last part."""
        found: dict[str, list[tuple[Function | None, ast.Name | ast.Attribute]]] = {}
        for inside, nodes in self._owned.values():
            for node in nodes:
                if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                    found.setdefault(spelt(node), []).append((inside, node))
        return found

    @cached_property
    def runs(self) -> bool:
        """Whether somebody may run the file by itself, or take in what it holds by a decorator or a base."""
        for node in self.body:
            if isinstance(node, ast.If | ast.For | ast.While | ast.With) and any(
                isinstance(part, ast.Call) for part in ast.walk(node)
            ):
                return True
            if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
                return True
        owners = [*self.functions, *(node for node in self.body if isinstance(node, ast.ClassDef))]
        if any(_inherits(owner) for owner in owners if isinstance(owner, ast.ClassDef)):
            return True
        above = (d.func if isinstance(d, ast.Call) else d for owner in owners for d in owner.decorator_list)
        return any(spelt(decorator) not in _PLAIN for decorator in above)

    def nodes(self, function: Function | None) -> list[ast.AST]:
        """The nodes of a function without those of functions in it."""
        return self._owned[0 if function is None else id(function)][1]

    def around(self, row: int) -> Function | None:
        """The innermost function around a row."""
        inside = [f for f in self.functions if f.lineno <= row <= (f.end_lineno or f.lineno)]
        return max(inside, key=lambda f: f.lineno, default=None)

    def parents(self, function: Function | None) -> dict[int, ast.AST]:
        """What each node stands in, by its id."""
        home = 0 if function is None else id(function)
        if home not in self._parents:
            self._parents[home] = {id(c): n for n in self.nodes(function) for c in ast.iter_child_nodes(n)}
        return self._parents[home]

    def uses(self, function: Function | None, name: str) -> Iterator[tuple[Function | None, ast.Name]]:
        """Where a name of a function is read: there, in functions in it, and for the module's in all."""
        last = 1 << 30 if function is None else function.end_lineno or function.lineno
        first = 0 if function is None else function.lineno
        for inside, node in self._spelt.get(name, ()):
            if isinstance(node, ast.Name) and (
                inside is function or (inside is not None and first <= inside.lineno <= last)
            ):
                yield inside, node

    def reads(self, attribute: str) -> Iterator[tuple[Function | None, ast.Attribute]]:
        """Where an attribute is read."""
        for inside, node in self._spelt.get(attribute, ()):
            if isinstance(node, ast.Attribute):
                yield inside, node

    def mentions(self, name: str) -> Iterator[tuple[Function | None, ast.expr, ast.AST | None]]:
        """Where a function of a name is spelt, with what that stands in."""
        for inside, node in self._spelt.get(name, ()):
            yield inside, node, self.parents(inside).get(id(node))

    def in_same_loop(self, function: Function | None, first: int, second: int) -> bool:
        """Whether two rows lie in one loop."""
        return any(
            node.lineno <= min(first, second) and max(first, second) <= (node.end_lineno or 0)
            for node in self.nodes(function)
            if isinstance(node, _LOOPS)
        )


class Modules:
    """The files, each parsed once when it is asked for. `read` gives the bytes of one."""

    def __init__(self, files: Sequence[str], read: Callable[[str], bytes | None]) -> None:
        self._files = [name for name in files if name.endswith(".py") and not is_test_path(name)]
        self._tests = [name for name in files if name.endswith(".py") and is_test_path(name)]
        self._read = read
        self._made: dict[str, Module] = {}
        self._spelling: dict[str, list[str]] = {}
        self._used: dict[str, bool] = {}
        self._size = 0

    def __getitem__(self, name: str) -> Module:
        if name not in self._made:
            data = self._read(name) or b""
            if self._size + len(data) > _MOST:
                return self._made.setdefault(name, Module(name, b""))
            self._size += len(data)
            self._made[name] = Module(name, data)
        return self._made[name]

    @cached_property
    def _index(self) -> ProjectIndex:
        return ProjectIndex(self._files)

    @cached_property
    def _chats(self) -> list[str]:
        return [name for name in self._files if _CHAT.search(self._read(name) or b"")]

    def is_used(self, module: Module) -> bool:
        """Whether a file runs by itself, or is taken in, by a test or another one; also where the project would not go
        on without it: no other file takes in what it takes in, so whoever runs it does so from outside."""
        if module.name not in self._used:
            used = self.is_taken_in(module) or self._is_imported(module.name, self._tests)
            self._used[module.name] = used or self._is_alone(module.name)
        return self._used[module.name]

    def is_taken_in(self, module: Module) -> bool:
        """Whether a file runs by itself or another one, tests aside, takes it in; true of those of a small project."""
        return len(self._files) <= _FEW or module.runs or self._is_imported(module.name, self._files)

    def _is_alone(self, name: str) -> bool:
        below = self._taken_in(name)
        if len(below) > _MANY:
            return False
        others = [other for other in self._files if other not in below]
        return not any(self._is_imported(one, others) for one in below if one != name)

    def _taken_in(self, name: str) -> list[str]:
        """A file with those that it takes in, one by way of another."""
        found = [name]
        for one in found:
            for dotted, level in _imports(parsed(self._read(one) or b"")):
                taken = self._index.resolve(dotted, one, level)
                if taken is not None and taken not in found:
                    found.append(taken)
        return found

    def _is_imported(self, name: str, others: Sequence[str]) -> bool:
        parts = name.removesuffix("/__init__.py").removesuffix(".py").split("/")
        stem = re.escape(parts[-1].encode())
        # Files that hold such a line are looked at; `"app.plugins.chat"` is for whoever loads it by its name.
        near = re.compile(rb"\b(?:from|import)\b[^\n]*\b" + stem + rb"\b|\bimport \([^)]*\b" + stem + rb"\b")
        named = re.compile(rb"[\"'.]" + re.escape(".".join(parts[-2:]).encode()) + rb"[\"':.]")
        for other in others:
            data = self._read(other) or b"" if other != name else b""
            if parts[-1].encode() not in data:
                continue
            if len(parts) > 1 and named.search(data):
                return True
            if near.search(data) and any(
                self._index.resolve(dotted, other, level) == name for dotted, level in _imports(parsed(data))
            ):
                return True
        return False

    def spelling(self, word: str, home: Module) -> Iterator[Module]:
        """The files that spell a name, the one it is asked from first."""
        yield home
        if word not in self._spelling:
            self._spelling[word] = [name for name in self._chats if self._spells(name, word)]
        found = self._spelling[word]
        if len(found) <= _MANY:
            yield from (self[name] for name in found if name != home.name)

    def _spells(self, name: str, word: str) -> bool:
        data, letters = self._read(name) or b"", word.encode()
        return letters in data and re.search(rb"\b" + re.escape(letters) + rb"\b", data) is not None

    def release(self) -> None:
        """Lets go of the trees, so that an answer does not depend on what was asked before."""
        self._made.clear()
        self._size = 0

    def defining(self, name: str, home: Module) -> Iterator[tuple[Module, Function]]:
        """The functions of a name: those of the file it is called in, or else of all."""
        if name in home.named:
            yield from ((home, function) for function in home.named[name])
            return
        for module in self.spelling(name, home):
            yield from ((module, function) for function in module.named.get(name, ()))


def _inherits(node: ast.ClassDef) -> bool:
    return any(spelt(base.value if isinstance(base, ast.Subscript) else base) not in _INERT for base in node.bases)


def _imports(body: list[ast.stmt]) -> Iterator[tuple[str, int]]:
    """The modules that a file may take in: dotted names and how many dots stand in front."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield base, node.level
            yield from ((f"{base}.{alias.name}".lstrip("."), node.level) for alias in node.names)
        elif not isinstance(node, ast.expr):
            stack.extend(ast.iter_child_nodes(node))
