"""Parts of syntax trees that are asked for in many places: names, calls, what a function holds by itself."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from heapq import merge
from operator import itemgetter
from typing import TypeVar, overload

__all__ = [
    "Function",
    "called",
    "functions",
    "is_property",
    "names_in",
    "nodes_of",
    "own_nodes",
    "parents",
    "spelt",
    "statements",
]

# What statements stand in, and the parts that hold them, in the order of the tree.
_Block = ast.stmt | ast.ExceptHandler | ast.match_case
_PARTS = ("body", "handlers", "orelse", "finalbody", "cases")
A = TypeVar("A", bound=ast.AST)
B = TypeVar("B", bound=ast.AST)
C = TypeVar("C", bound=ast.AST)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def spelt(node: ast.expr) -> str:
    """The last part of a name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def called(node: ast.Call) -> str:
    """The last part of the name of what is called."""
    return spelt(node.func)


def is_property(function: Function) -> bool:
    """Whether reading an attribute runs a function."""
    return any(spelt(decorator) in ("property", "cached_property") for decorator in function.decorator_list)


@lru_cache(maxsize=32)
def parents(function: Function) -> dict[int, ast.AST]:
    """What each node below a function's body stands in, by its id."""
    return {id(child): node for node in own_nodes(function) for child in ast.iter_child_nodes(node)}


@lru_cache(maxsize=32)
def names_in(function: Function) -> dict[str, list[tuple[ast.AST, ast.Name]]]:
    """Where each name stands in a function, with what it stands in."""
    found: dict[str, list[tuple[ast.AST, ast.Name]]] = {}
    for node in own_nodes(function):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Name):
                found.setdefault(child.id, []).append((node, child))
    return found


@lru_cache(maxsize=32)
def own_nodes(function: Function) -> tuple[ast.AST, ...]:
    """The nodes of a function's body, without those of the functions in it."""
    return tuple(_walked(function))


@lru_cache(maxsize=32)
def _by_kind(function: Function) -> dict[type[ast.AST], list[tuple[int, ast.AST]]]:
    found: dict[type[ast.AST], list[tuple[int, ast.AST]]] = {}
    for at, node in enumerate(own_nodes(function)):
        found.setdefault(type(node), []).append((at, node))
    return found


@overload
def nodes_of(function: Function, kind: type[A], /) -> Iterator[A]: ...
@overload
def nodes_of(function: Function, kind: type[A], other: type[B], /) -> Iterator[A | B]: ...
@overload
def nodes_of(function: Function, kind: type[A], other: type[B], third: type[C], /) -> Iterator[A | B | C]: ...
@overload
def nodes_of(function: Function, /, *kinds: type[A]) -> Iterator[A]: ...
def nodes_of(function: Function, /, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    """Those of a function's own nodes that are of these kinds, in the order of the source; no kinds of kinds.

    Each report asks, and a function may have thousands of nodes of which few are dicts or returns.
    """
    known = _by_kind(function)
    found = [known.get(kind, []) for kind in kinds]
    return (node for _, node in (found[0] if len(found) == 1 else merge(*found, key=itemgetter(0))))


@lru_cache(maxsize=32)
def statements(function: Function) -> tuple[ast.stmt, ...]:
    """The statements among a function's own nodes."""
    return tuple(node for node in own_nodes(function) if isinstance(node, ast.stmt))


def _walked(function: Function) -> Iterator[ast.AST]:
    stack: list[ast.AST] = list(reversed(function.body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def functions(body: list[ast.stmt]) -> dict[str, list[Function]]:
    """All functions below, by their name."""
    found: dict[str, list[Function]] = {}
    for statement in body:
        # No function stands in an expression, so only what holds statements is looked into.
        below: deque[_Block] = deque([statement])
        while below:
            node = below.popleft()
            if isinstance(node, Function):
                found.setdefault(node.name, []).append(node)
            for part in _PARTS:
                below.extend(getattr(node, part, ()))
    return found
