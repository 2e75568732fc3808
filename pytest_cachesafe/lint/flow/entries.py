"""Entries of lists that live on: the time that an entry was written with stays with it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow.records import is_stamp, timeless
from pytest_cachesafe.lint.flow.values import DictShape, ListShape, Obj, Value

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.module import FunctionInfo

__all__ = ["entries", "entry"]

# Beside the stamps of any record: the day of a call. A field for the present time says so.
_ENTERED = re.compile(
    r"^_?(?!current|now|today|local|server|system|utc)(?:\w+_)?(?:date|time|datetime|timestamp|when)$"
)


def entry(engine: Engine, frame: Frame, owner: ast.expr, value: Value) -> Value:
    """What is put into a list, as it comes back out of it: one that lives on keeps it with the time of then."""
    kept = _kept(value)
    return kept if kept is not value and _lives_on(engine, frame, owner) else value


def entries(engine: Engine, frame: Frame, owner: ast.expr, shape: ListShape) -> ListShape:
    """The same of all that stands in a list which is added to another."""
    return ListShape(tuple([entry(engine, frame, owner, item) for item in shape.items]), shape.exact)


def _kept(value: Value) -> Value:
    shape = value.shape
    if not isinstance(shape, (DictShape, Obj)):
        return value
    fields = {name: _entered(name, known) for name, known in shape.fields.items()}
    # A time with nothing beside it is no entry.
    if (isinstance(shape, DictShape) and len(fields) < 2) or all(
        fields[name] is known for name, known in shape.fields.items()
    ):
        return value
    if isinstance(shape, Obj):
        return Value(value.atoms, Obj(shape.cls, fields, shape.made, shape.above), value.latent)
    return Value(value.atoms, DictShape(fields, shape.mark, shape.rest, more=shape.more), value.latent)


def _entered(name: str, value: Value) -> Value:
    if not value.atoms or not (is_stamp(name) or _ENTERED.match(name)):
        return _kept(value)
    atoms = timeless(value.atoms)
    return value if len(atoms) == len(value.atoms) else Value(atoms, value.shape, value.latent)


def _lives_on(engine: Engine, frame: Frame, owner: ast.expr) -> bool:
    """Whether a list is an object's or the module's, or a part of such a thing, and neither made anew for each entry
    nor asked for the newest one."""
    function = frame.function
    if function is None:
        return isinstance(owner, ast.Attribute)
    ways = [ast.unparse(owner)]
    root = owner
    while isinstance(root, ast.Subscript):
        root = root.value
        ways.append(ast.unparse(root))
    if isinstance(root, ast.Name):
        if not _is_of_module(engine, frame, function, root.id):
            return False
    elif not isinstance(root, ast.Attribute):
        return False
    body = engine.node(function).body
    if _made(body, frozenset(ways)) or _reads_newest(body, ways[0]):
        return False
    return not any(
        method.name not in ("__init__", function.name)
        and _made(engine.node(method).body, frozenset(ways))
        and _calls(engine.node(method).body, function.name)
        for method in (frame.cls.methods.values() if frame.cls is not None else ())
    )


def _is_of_module(engine: Engine, frame: Frame, function: FunctionInfo, name: str) -> bool:
    """Whether a name is the module's: without `global` an assignment makes it the function's own."""
    if name not in (frame.module.env or {}) or (frame.parent is not None and frame.parent.lookup(name) is not None):
        return False
    if name in frame.globals:
        return True
    taken = (*function.params, *function.keyword_only, function.vararg, function.kwarg)
    return name not in taken and not any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(engine.node(function))
    )


def _reads_newest(body: list[ast.stmt], spelt: str) -> bool:
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.slice, ast.UnaryOp)
        and ast.unparse(node) == f"{spelt}[-1]"
        for stmt in body
        for node in ast.walk(stmt)
    )


def _calls(body: list[ast.stmt], name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
        for stmt in body
        for node in ast.walk(stmt)
    )


def _made(body: list[ast.stmt], ways: frozenset[str]) -> bool:
    """Whether statements make one of these anew, whatever the conditions; what it is cut to is still the same."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.If, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {ast.unparse(t) for t in targets}
            if node.value is not None and not ways.isdisjoint(names) and not _speaks_of(node.value, names):
                return True
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            if isinstance(called, ast.Attribute) and called.attr == "clear" and ast.unparse(called.value) in ways:
                return True
        elif isinstance(node, (ast.stmt, ast.excepthandler)):
            stack += ast.iter_child_nodes(node)
    return False


def _speaks_of(value: ast.expr, names: set[str]) -> bool:
    return any(isinstance(n, (ast.Name, ast.Attribute, ast.Subscript)) and ast.unparse(n) in names
               for n in ast.walk(value))  # fmt: skip
