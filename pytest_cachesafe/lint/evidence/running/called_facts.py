"""What is known of a project's functions and classes before anybody looks for their uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.running.uses import Definition, definitions, parsed
from pytest_cachesafe.lint.path_kinds import is_test_path
from pytest_cachesafe.lint.project import ProjectIndex

__all__ = ["Facts", "ProjectFacts"]

# `@DeprecationWarning`: what is bound to the name then is the warning.
_RAISED = lazy_pattern(r"(?:Warning|Error|Exception)$")
# Decorators that hand the function to nobody.
_PLAIN = frozenset(
    ("staticmethod", "classmethod", "property", "cached_property", "cache", "lru_cache", "contextmanager",
     "asynccontextmanager", "no_grad", "inference_mode", "override", "retry", "observe", "traceable", "trace", "wraps",
     "abstractmethod", "typechecked", "timer", "timeit", "dataclass")
)  # fmt: skip
# Bases that call no method by a name of the user's.
_INERT = frozenset(
    ("object", "ABC", "Generic", "Protocol", "BaseModel", "BaseSettings", "Module", "Enum", "StrEnum", "str", "dict",
     "list", "NamedTuple", "TypedDict", "Exception")
)  # fmt: skip
# Called by whoever runs the program.
_ENTRIES = lazy_pattern(
    r"^(?:main|_main|cli|run|app|setup|handler|lambda_handler|create_app|get_app|register|__\w+__)$"
)
# Code that looks functions up by names which nobody spells.
_PICKS = lazy_pattern(rb"\b(?:globals\(\)\[|getmembers|fire\.Fire)")
_FOREIGN = "?"
_DEPTH = 6
# Files whose syntax trees are held.
_KEPT = 2


class Facts(NamedTuple):
    """A function, a method (`owner` is its class) or a class. `bases`: the names of the class's bases and theirs;
    `open`: somebody outside of the code may call it; `private`: its name says that nobody outside does; `raised`: it is
    not what it looks like, since a warning took its name."""

    name: str
    owner: str
    bases: tuple[str, ...]
    first: int
    last: int
    open: bool
    private: bool
    raised: bool

    @property
    def qualname(self) -> str:
        return f"{self.owner}.{self.name}" if self.owner else self.name


class _File(NamedTuple):
    classes: Mapping[str, ast.ClassDef]
    # Names that are imported, with module, level and the name there.
    imports: Mapping[str, tuple[str, int, str]]


class ProjectFacts:
    """Facts by file, worked out once."""

    def __init__(self, files: Iterable[str], read: Callable[[str], bytes | None]) -> None:
        self._files = files
        self._read = read
        self._facts: dict[str, dict[str, Facts]] = {}
        self._known: dict[str, _File] = {}
        self._made: ProjectIndex | None = None
        self._rows: dict[str, dict[int, list[Facts]]] = {}
        # Of the last files asked for: a user and what it uses are looked at in turns.
        self._bodies: dict[str, list[ast.stmt]] = {}
        self._nodes: dict[str, dict[str, Definition]] = {}

    def of(self, name: str) -> Mapping[str, Facts]:
        """The functions and classes of a file by their qualified names."""
        known = self._facts.get(name)
        if known is None:
            data = self._read(name) or b""
            body = self.body(name, data)
            self._known[name] = _file(body)
            known = self._facts[name] = {f.qualname: f for f in self._all(name, data, body)}
        return known

    def body(self, name: str, data: bytes) -> list[ast.stmt]:
        """The statements of a file, kept until two others are asked for."""
        known = self._bodies.pop(name, None)
        self._bodies[name] = parsed(data) if known is None else known
        if len(self._bodies) > _KEPT:
            gone = next(iter(self._bodies))
            del self._bodies[gone]
            self._nodes.pop(gone, None)
        return self._bodies[name]

    def node(self, name: str, qualname: str) -> Definition | None:
        """The function or method of a name, the last one where it has several; the file may be parsed anew for it."""
        if name not in self._nodes or name not in self._bodies:
            body = self.body(name, self._read(name) or b"")
            self._nodes[name] = {d.qualname: d for d in definitions(body)}
        return self._nodes[name].get(qualname)

    def around(self, name: str, row: int) -> Iterator[Facts]:
        """What a row lies in."""
        if name not in self._rows:
            rows = self._rows[name] = {}
            for facts in self.of(name).values():
                for inside in range(facts.first, facts.last + 1):
                    rows.setdefault(inside, []).append(facts)
        yield from self._rows[name].get(row, ())

    def _all(self, name: str, data: bytes, body: list[ast.stmt]) -> Iterator[Facts]:
        found = list(definitions(body))
        outside = name.endswith("__init__.py") or is_test_path(name) or _PICKS.search(data) is not None
        # A file with a single function is there for it.
        outside = outside or len(found) < 2
        patterns = _dispatched(body) if b"getattr(" in data else []
        exported = _exported(body)
        # In a package it is the package that offers a class to others.
        alone = bool(exported) and f"{name.rpartition('/')[0]}/__init__.py".lstrip("/") not in self._files
        bases = {c.name: tuple(self._bases(name, c.name)) for c in self._known[name].classes.values()}
        for definition in found:
            node, owner = definition.node, definition.owner
            above = [*node.decorator_list, *(owner.decorator_list if owner is not None else ())]
            own = bases.get(owner.name, (_FOREIGN,)) if owner is not None else ()
            private = node.name.startswith("_")
            yield Facts(
                node.name,
                owner.name if owner is not None else "",
                own,
                node.lineno,
                node.end_lineno or node.lineno,
                outside
                or _ENTRIES.match(node.name) is not None
                or any(_last(d) not in _PLAIN for d in node.decorator_list)
                or _FOREIGN in own
                or any(pattern.fullmatch(node.name) for pattern in patterns)
                or (not private and (owner.name if owner is not None and alone else node.name) in exported),
                private,
                any(isinstance(d, ast.Name) and _RAISED.search(d.id) for d in above),
            )
        for node_ in body:
            if isinstance(node_, ast.ClassDef):
                yield Facts(
                    node_.name,
                    "",
                    bases[node_.name],
                    node_.lineno,
                    node_.end_lineno or node_.lineno,
                    outside
                    or _FOREIGN in bases[node_.name]
                    or node_.name in exported
                    or any(_last(d) not in _PLAIN for d in node_.decorator_list),
                    node_.name.startswith("_"),
                    False,
                )

    def _bases(self, file: str, name: str) -> Iterator[str]:
        """The names of a class's bases and theirs; `?` for one that lies outside of the project."""
        todo = [(file, name)]
        seen = set(todo)
        for _ in range(_DEPTH):
            above: list[tuple[str, str]] = []
            for place in (self._class(*pair) for pair in todo):
                if place is None:
                    yield _FOREIGN
                    continue
                where, cls = place
                for base in cls.bases:
                    last = _last(base)
                    if last in _INERT:
                        continue
                    yield last
                    if last == cls.name:
                        # `class Agent(Agent)`: the other one was taken in by the same name.
                        yield _FOREIGN
                    elif (where, last) not in seen:
                        seen.add((where, last))
                        above.append((where, last))
            todo = above
        if todo:
            yield _FOREIGN

    def _class(self, file: str, name: str, hops: int = 4) -> tuple[str, ast.ClassDef] | None:
        """Where a class is that a file knows by a name."""
        if file not in self._known:
            self._known[file] = _file(self.body(file, self._read(file) or b""))
        known = self._known[file]
        if name in known.classes:
            return file, known.classes[name]
        if name not in known.imports or not hops:
            return None
        if self._made is None:
            self._made = ProjectIndex(self._files)
        module, level, there = known.imports[name]
        other = self._made.resolve(module, file, level)
        return self._class(other, there, hops - 1) if other is not None and other != file else None


def _file(body: list[ast.stmt]) -> _File:
    classes: dict[str, ast.ClassDef] = {}
    imports: dict[str, tuple[str, int, str]] = {}
    todo = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ClassDef):
            classes.setdefault(node.name, node)
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                imports[alias.asname or alias.name] = node.module or "", node.level, alias.name
        if isinstance(node, ast.If | ast.Try | ast.ClassDef):
            todo += [n for part in ("body", "orelse") for n in getattr(node, part, ())]
    return _File(classes, imports)


def _exported(body: list[ast.stmt]) -> set[str]:
    """The names of `__all__`."""
    out: set[str] = set()
    for node in body:
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
                out.update(str(n.value) for n in ast.walk(node.value) if isinstance(n, ast.Constant))
    return out


def _dispatched(body: list[ast.stmt]) -> list[re.Pattern[str]]:
    """What `getattr(self, f"do_{word}")` may find."""
    out = []
    for node in ast.walk(ast.Module(body, [])):
        if isinstance(node, ast.Call) and _last(node.func) == "getattr" and len(node.args) > 1:
            asked = node.args[1]
            if isinstance(asked, ast.JoinedStr):
                # Both ends alone: where places in between could end anywhere, all of that would be tried.
                parts = [str(p.value) if isinstance(p, ast.Constant) else "" for p in asked.values] or [""]
                out.append(re.compile(re.escape(parts[0]) + r"\w*" + re.escape(parts[-1] if parts[1:] else "")))
            elif isinstance(asked, ast.BinOp) and isinstance(asked.left, ast.Constant):
                out.append(re.compile(re.escape(str(asked.left.value)) + r"\w*"))
            elif isinstance(asked, ast.Name) and isinstance(node.args[0], ast.Name) and node.args[0].id == "self":
                out.append(re.compile(r"\w+"))
    return out


def _last(node: ast.expr) -> str:
    """The last part of a dotted name, also of one that is called or indexed."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else _FOREIGN
