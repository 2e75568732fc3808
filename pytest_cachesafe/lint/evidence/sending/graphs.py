"""The graphs of states that a project builds (`StateGraph(State)`), and what is done with each of them.

A graph is followed by names, attributes and what functions give back, from where it is made to each call on it: the
nodes and edges it is given, how it is compiled and what it is run with. Where it goes to a place that is not looked at,
nothing is known of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from pytest_cachesafe.lint.evidence.running.modules import Module, Modules
from pytest_cachesafe.lint.evidence.trees import Function, called, spelt

__all__ = ["RUNS", "Done", "Unseen", "bindings", "followed", "made", "mentions"]

# Methods that give back the graph, or what it is compiled to.
_BUILDS = frozenset(
    {"add_node", "add_edge", "add_conditional_edges", "set_entry_point", "set_conditional_entry_point",
     "set_finish_point", "compile", "with_config"}
)  # fmt: skip
RUNS = frozenset({"invoke", "ainvoke", "stream", "astream", "astream_events"})
_READS = frozenset(
    {"get_graph", "aget_graph", "get_state", "aget_state", "get_state_history", "aget_state_history", "validate"}
)


class Unseen(Exception):
    """Something is not shown by the code."""


class Done(NamedTuple):
    """A call of a graph's method."""

    name: str
    call: ast.Call
    module: Module
    function: Function | None


_Place = tuple[ast.AST, Module, Function | None]


def made(module: Module) -> Iterator[tuple[ast.Call, Function | None]]:
    """Where a file makes graphs."""
    for inside, _, parent in module.mentions("StateGraph"):
        if isinstance(parent, ast.Call) and called(parent) == "StateGraph":
            yield parent, inside


def followed(modules: Modules, graph: ast.Call, module: Module, function: Function | None) -> list[Done]:
    """All that is done with a graph. Raises Unseen."""
    done: list[Done] = []
    todo: list[_Place] = [(graph, module, function)]
    seen: set[int] = set()
    while todo:
        place = todo.pop()
        if id(place[0]) not in seen:
            seen.add(id(place[0]))
            todo.extend(_next(modules, place, done))
    return done


def _next(modules: Modules, place: _Place, done: list[Done]) -> Iterator[_Place]:
    """Where a graph goes on from an expression that holds it."""
    node, module, function = place
    above = module.parents(function)
    parent = above.get(id(node))
    if isinstance(parent, ast.Attribute):
        call = above.get(id(parent))
        if not isinstance(call, ast.Call) or call.func is not parent:
            raise Unseen
        if parent.attr in _BUILDS:
            yield call, module, function
        elif parent.attr not in RUNS | _READS:
            raise Unseen
        done.append(Done(parent.attr, call, module, function))
    elif isinstance(parent, ast.Await) or (isinstance(parent, ast.IfExp) and parent.test is not node):
        yield parent, module, function
    elif isinstance(parent, ast.Assign | ast.AnnAssign):
        for target in parent.targets if isinstance(parent, ast.Assign) else [parent.target]:
            yield from _held(modules, target, module, function)
    elif isinstance(parent, ast.Return) and function is not None:
        yield from _given_back(modules, function, module)
    elif not isinstance(parent, ast.Expr | ast.Compare | ast.If | ast.IfExp | ast.UnaryOp | ast.Assert):
        raise Unseen


def _held(modules: Modules, target: ast.expr, module: Module, function: Function | None) -> Iterator[_Place]:
    """Where a name or an attribute that has a graph is read."""
    if isinstance(target, ast.Name) and function is not None:
        shared = any(isinstance(n, ast.Global | ast.Nonlocal) and target.id in n.names for n in module.nodes(function))
        if not shared:
            yield from ((node, module, inside) for inside, node in module.uses(function, target.id))
            return
    elif not isinstance(target, ast.Name | ast.Attribute):
        raise Unseen
    yield from mentions(modules, spelt(target), module)


def _given_back(modules: Modules, function: Function, module: Module) -> Iterator[_Place]:
    """The calls of a function that gives back a graph."""
    kinds = {spelt(decorator) for decorator in function.decorator_list}
    for node, other, inside in mentions(modules, function.name, module):
        parent = other.parents(inside).get(id(node))
        if kinds & {"property", "cached_property"}:
            yield node, other, inside
        elif isinstance(parent, ast.Call) and parent.func is node:
            yield parent, other, inside
        else:
            raise Unseen


def mentions(modules: Modules, name: str, home: Module) -> Iterator[_Place]:
    """Where what a file has under a name may be read. Raises Unseen where there are too many places.

    An attribute of `self` in another file is that of another class, unless it is one that is built on a class of this
    file; a bare name there is this one only if it is taken in.
    """
    yield from ((node, home, inside) for inside, node, _ in home.mentions(name))
    others = modules.everywhere(name, home)
    if others is None:
        raise Unseen
    classes = {node.name for node in _all(home) if isinstance(node, ast.ClassDef)}
    for module in others:
        taken = [a for n in _all(module) if isinstance(n, ast.ImportFrom) for a in n.names if a.name in (name, "*")]
        if any(alias.asname not in (None, name) for alias in taken):
            raise Unseen
        bases = {spelt(b) for n in _all(module) if isinstance(n, ast.ClassDef) for b in n.bases}
        for inside, node, _ in module.mentions(name):
            if isinstance(node, ast.Attribute):
                foreign = spelt(node.value) in ("self", "cls") and classes.isdisjoint(bases)
            else:
                foreign = not taken
            if not foreign:
                yield node, module, inside


def _all(module: Module) -> Iterator[ast.AST]:
    for function in (None, *module.functions):
        yield from module.nodes(function)


def bindings(module: Module, function: Function | None, name: str) -> list[ast.expr]:
    """What a name of a function is given. Raises Unseen where that is not only done by plain assignments."""
    found: list[ast.expr] = []
    stored = 0
    for node in module.nodes(function):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            stored += 1
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            found += [node.value for target in targets if isinstance(target, ast.Name) and target.id == name]
    if stored != len(found):
        raise Unseen
    return found
