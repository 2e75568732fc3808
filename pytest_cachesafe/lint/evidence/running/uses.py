"""Where a file spells a name as something that may be called: the evidence that a function is used at all."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from pytest_cachesafe.lint.parse import tree_of

__all__ = ["Definition", "Use", "definitions", "holds_any", "parsed", "uses"]

Function = ast.FunctionDef | ast.AsyncFunctionDef
# Characters of a string that may be the path of a function.
_LONGEST = 200


class Use(NamedTuple):
    """One place that spells a name. `form`: `name`, `attribute` (of a module or object), `own` (of `self`), `import`,
    `string`; `base` the root of an attribute or the module of an import; `level` an import's dots; `inside` the
    function or method of the file it stands in, "" for the module's own code; `looked_up` of a string whether
    it is an argument of `getattr`."""

    word: str
    form: str
    row: int
    base: str = ""
    level: int = 0
    inside: str = ""
    looked_up: bool = False


class Definition(NamedTuple):
    """A function of a module or a method of one of its classes."""

    name: str
    owner: ast.ClassDef | None
    node: Function

    @property
    def qualname(self) -> str:
        return f"{self.owner.name}.{self.name}" if self.owner is not None else self.name


def parsed(data: bytes) -> list[ast.stmt]:
    """The statements of a file, none if it cannot be parsed."""
    tree = tree_of(data)
    return [] if tree is None else tree.body


def definitions(body: list[ast.stmt], owner: ast.ClassDef | None = None) -> Iterator[Definition]:
    """Functions and methods, those under an `if` or `try` as well, without those inside of functions."""
    # A chain of `elif` is a statement in a statement in a statement.
    stack: list[tuple[ast.stmt, ast.ClassDef | None]] = [(node, owner) for node in reversed(body)]
    while stack:
        node, owner = stack.pop()
        if isinstance(node, Function):
            yield Definition(node.name, owner, node)
            continue
        inner: list[ast.stmt] = []
        if isinstance(node, ast.ClassDef):
            inner, owner = node.body, node
        else:
            for handler in getattr(node, "handlers", ()):
                inner += handler.body
            for part in ("body", "orelse", "finalbody"):
                inner += getattr(node, part, None) or ()
        stack += [(below, owner) for below in reversed(inner)]


def uses(body: list[ast.stmt], words: Collection[str], rows: Sequence[int]) -> Iterator[Use]:
    """The uses of some names in a file, in the given rows, sorted. A name that the function around gives a value itself
    is another one; what is a key of a dict or an index means data, not code; recursion is the caller's to leave out."""
    found = {id(d.node): d for d in definitions(body)}
    stack: list[tuple[ast.AST, str, frozenset[str], ast.Call | None]] = [(node, "", frozenset(), None) for node in body]
    while stack:
        node, inside, bound, call = stack.pop()
        if not holds_any(node, rows):
            continue
        if isinstance(node, Function):
            known = found.get(id(node))
            inside = known.qualname if known is not None else inside
            bound |= _bound(node, words)
            # Evaluated where the definition stands.
            stack += [(above, "", frozenset(), None) for above in node.decorator_list]
        elif isinstance(node, ast.Name):
            if node.id in words and isinstance(node.ctx, ast.Load) and node.id not in bound:
                yield Use(node.id, "name", node.lineno, "", 0, inside)
        elif isinstance(node, ast.Attribute):
            if node.attr in words and isinstance(node.ctx, ast.Load):
                yield _attribute(node, inside)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name in words:
                    yield Use(alias.name, "import", node.lineno, node.module or "", node.level, inside)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < _LONGEST:
            last = node.value.replace(":", ".").rpartition(".")[2]
            if last in words:
                looked_up = call is not None and ast.unparse(call.func).endswith(("attr", "methodcaller"))
                yield Use(last, "string", node.lineno, node.value, 0, inside, looked_up=looked_up)
        skipped = _data(node)
        around = node if isinstance(node, ast.Call) else call if isinstance(node, ast.keyword | ast.Starred) else None
        for child in ast.iter_child_nodes(node):
            if child not in skipped:
                stack.append((child, inside, bound, around))


def holds_any(node: ast.AST, rows: Sequence[int]) -> bool:
    """Whether one of the rows lies in a node; nodes without a place are looked into."""
    first = getattr(node, "lineno", None)
    if first is None:
        return True
    first = min([first, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    at = bisect_left(rows, first)
    return at < len(rows) and rows[at] <= (getattr(node, "end_lineno", None) or first)


def _data(node: ast.AST) -> list[ast.AST]:
    """Strings under a node that name data: documentation, keys, what something is compared with."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return [node.value]
    if isinstance(node, ast.Dict):
        return [key for key in node.keys if isinstance(key, ast.Constant)]
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return [node.slice]
    if isinstance(node, ast.Compare):
        return [
            p for p in (node.left, *node.comparators) if isinstance(p, ast.Constant | ast.List | ast.Tuple | ast.Set)
        ]
    if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
        # `SYSTEM_MESSAGE = "system_message"`, a name for itself.
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        words = {t.id.lower() for t in targets if isinstance(t, ast.Name)}
        return [node.value] if node.value.value in words else []
    if isinstance(node, ast.JoinedStr):
        return [part for part in node.values if isinstance(part, ast.Constant)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
        return [part for part in node.args[:1] if isinstance(part, ast.Constant)]
    return []


def _attribute(node: ast.Attribute, inside: str) -> Use:
    base: ast.AST = node.value
    if isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super":
        return Use(node.attr, "super", node.lineno, "", 0, inside)
    while isinstance(base, ast.Attribute):
        base = base.value
    root = base.id if isinstance(base, ast.Name) else ""
    direct = isinstance(node.value, ast.Name)
    form = "own" if direct and root in ("self", "cls") else "attribute"
    return Use(node.attr, form, node.lineno, root, 0, inside)


def _bound(function: Function, words: Collection[str]) -> frozenset[str]:
    """Which of the names are a function's own variables."""
    own: set[str] = set()
    shared: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            shared.update(node.names)
        elif isinstance(node, Function) and node is not function:
            own.add(node.name)
    return frozenset(own.intersection(words) - shared)
