"""Branches that wait for an optional parameter which no call gives: they never run.

Names decide, since nothing is executed. A parameter is given by nobody where every call of a function of that name in
the code of the project, tests aside, leaves it out or passes something empty, there is such a call, and nothing hands
the function on to somebody who may call it otherwise: no foreign decorator or base, no first page or package that
offers it to other projects, no mention of it but calls.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from pytest_cachesafe.lint.evidence.running.called_facts import ProjectFacts
from pytest_cachesafe.lint.evidence.running.uses import holds_any
from pytest_cachesafe.lint.path_kinds import is_test_path

if TYPE_CHECKING:
    from cachesafe_rules.api import Report

__all__ = ["Unpassed"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef
# Callers of callers that pass on a parameter of their own.
_HOPS = 2
# Packages that are no distribution's: nobody else's code can import from them what a project has in them.
_APPLICATIONS = frozenset(("src", "app", "backend", "server"))
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class _Guard(NamedTuple):
    """What a row waits for: a name or an attribute of `self`; `none`: it only has to be something but None."""

    value: ast.expr
    none: bool


class Unpassed:
    """Asks whether reports lie in such branches. `read` gives the bytes of a file of the project; `is_told` says
    whether the pages of a project name a function of a file."""

    def __init__(
        self, files: Iterable[str], read: Callable[[str], bytes | None], is_told: Callable[[str, str], bool]
    ) -> None:
        self._files = {name: None for name in files if name.endswith(".py") and not is_test_path(name)}
        self._read = read
        self._is_told = is_told
        self._facts = ProjectFacts(self._files, read)
        self._given: dict[tuple[str, str, str, bool], bool] = {}
        self._rows: dict[tuple[str, int], bool] = {}
        # The names of the functions around rows.
        self._around: dict[tuple[str, int], set[str]] = {}

    def holds(self, report: Report) -> bool:
        """Whether the place of a report, or each place where its values are read, never runs."""
        # What is lost stands where the history is added, which may be further down.
        lost = report.data.get("lost")
        if any(self._never(report.span.filename, row) for row in (report.span.row, lost) if row):
            return True
        read = [s for s in report.data.get("sources") or () if {"filename", "row", "api"} <= s.keys()]
        dead = [s for s in read if self._never(s["filename"], s["row"])]
        # A call that counts for its name reads what is read inside of the function.
        held = {name for s in dead for name in self._around[s["filename"], s["row"]]}
        return bool(dead) and all(s in dead or s["api"].rstrip("()").rpartition(".")[2] in held for s in read)

    def _never(self, name: str, row: int) -> bool:
        if (name, row) not in self._rows:
            self._rows[name, row] = self._is_behind(name, row)
        return self._rows[name, row]

    def _is_behind(self, name: str, row: int) -> bool:
        data = self._read(name) if name.endswith(".py") else None
        if data is None:
            return False
        path: list[ast.AST] = [ast.Module(self._facts.body(name, data), [])]
        guards: list[tuple[int, _Guard]] = []
        while (below := _below(path[-1], row)) is not None:
            guards += [(len(path), guard) for guard in _guards(path[-1], below)]
            path.append(below)
        self._around[name, row] = {node.name for node in path if isinstance(node, _Function)}
        return any(self._waits(name, path[:depth], guard) for depth, guard in guards)

    def _waits(self, name: str, path: list[ast.AST], guard: _Guard) -> bool:
        """Whether what a branch waits for never comes."""
        value = guard.value
        if isinstance(value, ast.Name):
            for at in range(len(path) - 1, 0, -1):
                node = path[at]
                if isinstance(node, _Function) and (_default(node, value.id) is not None or _stores(node, value.id)):
                    owner = path[at - 1]
                    cls = owner.name if isinstance(owner, ast.ClassDef) else ""
                    outermost = at - bool(cls) == 1
                    return outermost and self._never_given(name, cls, node, value.id, guard.none, _HOPS)
            return False
        cls_ = next((node for node in reversed(path) if isinstance(node, ast.ClassDef)), None)
        if cls_ is None or not isinstance(value, ast.Attribute):
            return False
        made = next((n for n in cls_.body if isinstance(n, _Function) and n.name == "__init__"), None)
        if made is None or cls_ is not path[1]:
            return False
        fills = [node for node in ast.walk(cls_) if _fills(node, value.attr)]
        if len(fills) != 1 or not any(node is fills[0] for node in ast.walk(made)):
            return False
        word = getattr(getattr(fills[0], "value", None), "id", "")
        if not word or not self._never_given(name, cls_.name, made, word, guard.none, _HOPS):
            return False
        return not self._set_elsewhere(name, value.attr, cls_)

    def _set_elsewhere(self, home: str, attribute: str, cls: ast.ClassDef) -> bool:
        """Whether code outside of a class may set an attribute of its objects."""
        for name, body, rows in self._spelling(attribute):
            for top in body:
                if (name == home and top is cls) or not holds_any(top, rows):
                    continue
                if any(_fills(node, attribute) and not _own(node) for node in ast.walk(top)):
                    return True
        return False

    def _never_given(self, file: str, owner: str, node: _Function, word: str, none: bool, hops: int) -> bool:
        """Whether no call gives a parameter, which is empty then."""
        default = _default(node, word)
        if default is None or not _empty(default, none) or _stores(node, word):
            return False
        key = file, f"{owner}.{node.name}", word, none
        if key not in self._given:
            self._given[key] = True
            self._given[key] = not self._left_out(file, owner, node, word, none, hops)
        return not self._given[key]

    def _left_out(self, file: str, owner: str, node: _Function, word: str, none: bool, hops: int) -> bool:
        makes = bool(owner) and node.name == "__init__"
        facts = self._facts.of(file).get(owner if makes else f"{owner}.{node.name}" if owner else node.name)
        if facts is None or facts.open or self._is_told(facts.name, file):
            return False
        asked = owner if makes else node.name
        plain = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
        place = plain.index(word) - bool(owner) if word in plain else 1000
        calls = 0
        for name, body, rows in self._spelling(asked):
            if name.endswith("__init__.py"):
                if _is_offered(name, self._files):
                    return False
                continue
            for call, around in _mentions(body, asked, makes, rows):
                if call is None:
                    return False
                calls += 1
                given = next((k.value for k in call.keywords if k.arg == word), None)
                if any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
                    return False
                if given is None and len(call.args) > place:
                    given = call.args[place]
                if given is None or _empty(given, none):
                    continue
                if not (hops and around and isinstance(given, ast.Name)):
                    return False
                function, cls = around
                if not self._never_given(name, cls, function, given.id, none, hops - 1):
                    return False
        return calls > 0

    def _spelling(self, word: str) -> Iterator[tuple[str, list[ast.stmt], list[int]]]:
        """The files that spell a word, with the rows in which they do."""
        spelt = word.encode()
        for name in self._files:
            data = self._read(name)
            if data is not None and spelt in data:
                yield name, self._facts.body(name, data), _rows(data, spelt)


def _rows(data: bytes, word: bytes) -> list[int]:
    """Rows from 1, in order."""
    rows = [1]
    last = 0
    at = data.find(word)
    while at >= 0:
        rows.append(rows[-1] + data.count(b"\n", last, at))
        last, at = at, data.find(word, at + 1)
    return rows[1:]


def _is_offered(name: str, files: Collection[str]) -> bool:
    """Whether other projects can import from a package."""
    folder = name.rpartition("/")[0]
    while f"{folder.rpartition('/')[0]}/__init__.py" in files:
        folder = folder.rpartition("/")[0]
    return folder.rpartition("/")[2] not in _APPLICATIONS


def _below(node: ast.AST, row: int) -> ast.AST | None:
    """The statement or conditional value under a node that holds a row."""
    for child in ast.iter_child_nodes(node):
        first = getattr(child, "lineno", None)
        if first is None:
            if isinstance(child, ast.ExceptHandler | ast.match_case) and (found := _below(child, row)) is not None:
                return found
        elif first <= row <= (getattr(child, "end_lineno", None) or first) and isinstance(
            child, ast.stmt | ast.ExceptHandler
        ):
            return child
    return None


def _guards(node: ast.AST, below: ast.AST) -> Iterator[_Guard]:
    """What must be given for a statement under a node to run."""
    if isinstance(node, ast.If) and below in node.body:
        yield from _needed(node.test)
    if isinstance(node, ast.If) and below in node.orelse:
        yield from _refused(node.test)
    for part in ("body", "orelse", "finalbody"):
        block = getattr(node, part, None)
        if isinstance(block, list) and below in block:
            for before in block[: block.index(below)]:
                if isinstance(before, ast.If) and isinstance(before.body[-1], _LEAVES):
                    yield from _refused(before.test)


def _needed(test: ast.expr) -> Iterator[_Guard]:
    """What must be given for a test to hold."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _needed(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _refused(test.operand)
    elif _is_compared(test, ast.IsNot):
        yield _Guard(test.left, True)
    elif _plain(test):
        yield _Guard(test, False)


def _refused(test: ast.expr) -> Iterator[_Guard]:
    """What must be given for a test to fail."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        for value in test.values:
            yield from _refused(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _needed(test.operand)
    elif _is_compared(test, ast.Is):
        yield _Guard(test.left, True)


def _plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    )


def _is_compared(test: ast.expr, how: type[ast.cmpop]) -> TypeGuard[ast.Compare]:
    """Whether a test compares something with None."""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], how)
        and _is_none(test.comparators[0])
        and _plain(test.left)
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _empty(node: ast.expr, none: bool) -> bool:
    """Whether a value is one that a branch does not run for."""
    return _is_none(node) if none else isinstance(node, ast.Constant) and not node.value


def _default(node: _Function, word: str) -> ast.expr | None:
    plain = [*node.args.posonlyargs, *node.args.args]
    pairs = [
        *zip(reversed(plain), reversed(node.args.defaults), strict=False),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    ]
    return next((default for arg, default in pairs if arg.arg == word), None)


def _stores(node: _Function, word: str) -> bool:
    """Whether a function gives a name a value of its own."""
    return any(isinstance(n, ast.Name) and n.id == word and not isinstance(n.ctx, ast.Load) for n in ast.walk(node))


def _fills(node: ast.AST, attribute: str) -> bool:
    """Whether a statement gives an attribute of that name a value, or may."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "setattr" and attribute in ast.unparse(node)
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return isinstance(node, ast.stmt | ast.NamedExpr) and any(
        isinstance(n, ast.Attribute) and n.attr == attribute for t in targets if t is not None for n in ast.walk(t)
    )


def _own(node: ast.AST) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return all(isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name) and t.value.id == "self" for t in targets)


def _mentions(
    body: list[ast.stmt], word: str, makes: bool, rows: Sequence[int]
) -> Iterator[tuple[ast.Call | None, tuple[_Function, str] | None]]:
    """The calls of a name, each with the function and class around it; None for what may hand the name on."""
    stack: list[tuple[ast.AST, tuple[_Function, str] | None, str]] = [(node, None, "") for node in body]
    while stack:
        node, around, cls = stack.pop()
        if not holds_any(node, rows):
            continue
        children: list[ast.AST] = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.ClassDef):
            cls = node.name
        elif isinstance(node, _Function):
            around = (node, cls) if around is None else around
            if makes:
                children = [*node.body, *node.decorator_list, *(d for d in node.args.defaults)]
        elif isinstance(node, ast.AnnAssign) and makes:
            children = [node.target, *([node.value] if node.value is not None else [])]
        elif isinstance(node, ast.Call):
            last = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if last == word or (makes and last == "cls" and cls == word):
                yield node, around
                children = [*([node.func.value] if isinstance(node.func, ast.Attribute) else []), *node.args]
                children += [k.value for k in node.keywords]
            elif last in ("isinstance", "issubclass", "cast"):
                children = [*node.args[:1]]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == word and makes:
            children = []
        elif (isinstance(node, ast.Name) and node.id == word) or (
            isinstance(node, ast.Attribute) and node.attr == word
        ):
            if isinstance(node.ctx, ast.Load):
                yield None, None
        elif (isinstance(node, ast.Constant) and node.value == word) or (
            # Called by another name from here on.
            isinstance(node, ast.alias) and node.asname is not None and node.name == word
        ):
            yield None, None
        elif isinstance(node, ast.Subscript) and makes:
            children = [node.value]
        stack += [(child, around, cls) for child in children]
