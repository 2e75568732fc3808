"""What the project's own code says of a name that would say something else by itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.classes import annotated_names, find_method, mro
from pytest_cachesafe.lint.flow.frame import Frame
from pytest_cachesafe.lint.flow.imports import module_attribute
from pytest_cachesafe.lint.flow.values import Cls, Const, DictShape, Func, Value
from pytest_cachesafe.lint.tables.sinks import FLAG_PACKAGES, FLAGS
from pytest_cachesafe.lint.tables.sources import MEMORY_WRITERS

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.module import FunctionInfo

__all__ = ["is_own_switch", "only_frames", "returns_constants", "writes_given"]

_OBJECTS = frozenset(("self", "cls"))
_TEXT_METHODS = frozenset(("strip", "lstrip", "rstrip", "format", "join", "replace"))
_TRIMMERS = frozenset(("dedent", "cleandoc"))
_FRAMES = _TEXT_METHODS - {"join"}
_ASKED = frozenset(("len", "str", "isinstance"))
# Calls that bring something from elsewhere, and words for what is kept there.
_BRINGS = lazy_pattern(
    r"_?a?(?:get_\w+|(?:read|load|fetch|recall|search|retriev|quer|find|select|collect|recent|relevant|remember|summar|"
    r"latest|snapshot|scan|list_|build_|render_|format_)\w*|execute\w*|all|open|top)$"
)
_STORE = lazy_pattern(
    r"memor|recall|fact|note|entr(?:y|ies)|episode|stor(?:e|age)|profile|summar|history|insight|lesson|items?$|"
    r"records?$|rows?$|db$|cache",
    re.IGNORECASE,
)
# What a text alone has no use for: a store can be gone through as well.
_NO_FRAME = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Global, ast.Import, ast.ImportFrom, ast.For, ast.While,
    ast.comprehension, ast.Subscript, ast.Starred, ast.Yield, ast.YieldFrom, ast.With, ast.Try,
)  # fmt: skip


def returns_constants(engine: Engine, function: FunctionInfo) -> bool:
    """Whether all that a function returns is made of constants, so that it changes with nothing.

    Not asked of methods, which another class may override.
    """
    if function.cls is not None and function.kind != "static":
        return False
    node = engine.node(function)
    given: list[ast.expr] = []
    for inner in _own(node):
        if isinstance(inner, (ast.Yield, ast.YieldFrom)):
            return False
        if isinstance(inner, ast.Return) and inner.value is not None:
            given.append(inner.value)
    return bool(given) and all(_is_fixed(engine, function, value) for value in given)


def only_frames(engine: Engine, function: FunctionInfo) -> bool:
    """Whether a function only writes constants around a text that it is given, which then says what kind it is.

    Not asked of methods, which may read what their object holds.
    """
    if function.cls is not None and function.kind != "static":
        return False
    node = engine.node(function)
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return False
    inside = [inner for stmt in node.body for inner in (stmt, *_own(stmt))]
    known = {inner.id for inner in inside if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
    known |= {*function.params, *function.keyword_only}
    for inner in inside:
        if isinstance(inner, _NO_FRAME) or (isinstance(inner, ast.Attribute) and inner.attr not in _FRAMES):
            return False
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id not in _ASKED:
            return False
        if isinstance(inner, ast.Name) and inner.id not in known | _ASKED and not _is_fixed(engine, function, inner):
            return False
    return True


def writes_given(engine: Engine, function: FunctionInfo) -> bool:
    """Whether a function named after writing (`format_memory`) is given what it writes: it calls nothing that brings
    something, waits for nothing, and looks into no store of its object or module. What it is given says what it is."""
    given = [*function.params[1 if function.cls is not None and function.kind != "static" else 0 :]]
    if not MEMORY_WRITERS.match(function.name) or not (given or function.keyword_only):
        return False
    inside = list(_own(engine.node(function)))
    known = {*function.params, *function.keyword_only}
    known |= {inner.id for inner in inside if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
    called = {id(inner.func) for inner in inside if isinstance(inner, ast.Call)}
    for inner in inside:
        if isinstance(inner, (ast.Await, ast.AsyncFor, ast.AsyncWith)):
            return False
        word = inner.attr if isinstance(inner, ast.Attribute) else inner.id if isinstance(inner, ast.Name) else ""
        if id(inner) in called:
            if _BRINGS.match(word):
                return False
        elif _STORE.search(word):
            # Of the object, or of the module; a constant is none.
            owner = inner.value if isinstance(inner, ast.Attribute) else inner
            kept = isinstance(owner, ast.Name) and (owner.id in _OBJECTS or (owner is inner and word not in known))
            if kept and not word.isupper():
                return False
    return True


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a function without the functions in it."""
    todo = list(ast.iter_child_nodes(node))
    while todo:
        inner = todo.pop()
        if not isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield inner
            todo += ast.iter_child_nodes(inner)


def _is_fixed(engine: Engine, function: FunctionInfo, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):
        found = _constant(engine, function, node)
        return found is not None and isinstance(found.shape, Const)
    if isinstance(node, ast.Subscript):
        return _is_table(engine, function, node.value)
    if isinstance(node, ast.Call):
        return _is_fixed_text(engine, function, node)
    if isinstance(node, ast.IfExp):
        # Whatever decides, what is chosen from was not remembered.
        return _is_fixed(engine, function, node.body) and _is_fixed(engine, function, node.orelse)
    if isinstance(node, (ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.List, ast.Tuple)):
        inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return all(_is_fixed(engine, function, child) for child in inner)
    return False


def _is_fixed_text(engine: Engine, function: FunctionInfo, node: ast.Call) -> bool:
    """Whether a call only trims, fills or looks up constants."""
    parts = [*node.args, *(keyword.value for keyword in node.keywords)]
    if isinstance(node.func, ast.Name):
        name = node.func.id
    elif isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name == "get":
            return _is_table(engine, function, node.func.value) and all(
                _is_fixed(engine, function, part) for part in parts[1:]
            )
        if name not in _TRIMMERS:
            parts.append(node.func.value)
    else:
        return False
    return name in _TRIMMERS | _TEXT_METHODS and all(_is_fixed(engine, function, part) for part in parts)


def _is_table(engine: Engine, function: FunctionInfo, node: ast.expr) -> bool:
    """Whether something looked into is a constant dict of constants."""
    found = _constant(engine, function, node) if isinstance(node, ast.Name) else None
    if found is None or not isinstance(found.shape, DictShape) or not found.shape.fields:
        return False
    return all(isinstance(value.shape, Const) for value in found.shape.fields.values())


def _constant(engine: Engine, function: FunctionInfo, node: ast.Name) -> Value | None:
    """A constant of the module or of one that it imports from; other names may be set again elsewhere."""
    if not node.id.isupper():
        return None
    return module_attribute(engine, Frame(function.module), function.module, node.id)


def is_own_switch(engine: Engine, called: Value, name: str) -> bool:
    """Whether a switch that frameworks have is declared by the project's own code, which means by it what it likes.

    A function or constructor that hands on a keyword of that name may hand it to the framework.
    """
    if name not in FLAGS:
        # A switch that the project's settings name.
        return False
    functions: list[FunctionInfo] = []
    if isinstance(called.shape, Func):
        functions += called.shape.functions
    elif isinstance(called.shape, Cls):
        chain = mro(engine, called.shape.cls)
        init = find_method(engine, called.shape.cls, "__init__")
        functions += [init] if init is not None else []
        fields = [cls for cls in chain if name in annotated_names(engine, cls)]
        if fields:
            return not any(_is_framework(cls.module.name) for cls in fields)
    declaring = [f for f in functions if name in (*f.params, *f.keyword_only)]
    return bool(declaring) and not any(
        _is_framework(function.module.name) or _hands_on(engine, function, name) for function in declaring
    )


def _is_framework(file: str) -> bool:
    return not FLAG_PACKAGES.isdisjoint(file.split("/")[:-1])


def _hands_on(engine: Engine, function: FunctionInfo, name: str) -> bool:
    nodes = (node for node in ast.walk(engine.node(function)) if isinstance(node, ast.Call))
    return any(keyword.arg == name for node in nodes for keyword in node.keywords)
