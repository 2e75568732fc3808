"""Texts that a function looks at, to measure or print them, and no more: a report on the size of a prompt, a dump of a
conversation.

Where the text is a part of something, as of a list of messages, that must not go on either.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from pytest_cachesafe.lint.evidence.sending.held import held
from pytest_cachesafe.lint.evidence.trees import Function, called, own_nodes

__all__ = ["is_measured", "is_measured_there"]

# Calls that give back what they are given or asked of, or a part of it.
_TAKES = frozenset(
    {"get", "pop", "popleft", "items", "values", "copy", "deepcopy", "strip", "list", "tuple", "reversed", "sorted",
     "enumerate", "zip", "next", "iter", "filter", "str", "cast"}
)  # fmt: skip


def is_measured(
    name: str,
    function: Function,
    known: Mapping[str, Sequence[Function]],
    looks: Callable[[ast.Call, Function], bool],
) -> bool:
    """Whether all that is made of a local name, and of what it is a part of, is looked at by calls that say so, and
    one does. `known` are the functions of the file by their names."""
    names = _sources(name, function)
    return names is not None and _is_looked_at(names, function, known, looks)


def is_measured_there(
    node: ast.expr,
    function: Function,
    known: Mapping[str, Sequence[Function]],
    looks: Callable[[ast.Call, Function], bool],
) -> bool:
    """The same of what is written down at a place, such as a message that is made to count its tokens."""
    return _is_looked_at([node], function, known, looks)


def _is_looked_at(
    start: Sequence[str | ast.expr],
    function: Function,
    known: Mapping[str, Sequence[Function]],
    looks: Callable[[ast.Call, Function], bool],
) -> bool:
    end = held(function, start, known, lambda node, inside: isinstance(node, ast.Call) and looks(node, inside))
    return end is not None and end.taken and not end.back


def _sources(name: str, function: Function) -> list[str] | None:
    """A name with those that its value is a part of; None where that lives on by itself."""
    names = [name]
    for word in names:
        for value in _bound(word, function):
            for part in _parts(value, deep=word == name):
                if part in ("self", "cls"):
                    return None
                if part not in names:
                    names.append(part)
    return names


def _bound(name: str, function: Function) -> Iterator[ast.expr]:
    """What statements bind a name to, by itself or with others."""
    for node in own_nodes(function):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            targets, value = [node.target], node.iter
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        if any(isinstance(n, ast.Name) and n.id == name for target in targets for n in ast.walk(target)):
            yield value


def _parts(value: ast.expr, *, deep: bool) -> Iterator[str]:
    """The names of which a value is a part: `messages[0] if messages else {}`, `found.get("text") or ""`; with `deep`
    also those that an unknown call is given."""
    if isinstance(value, ast.Name):
        yield value.id
        return
    inner: list[ast.expr] = []
    if isinstance(value, ast.Attribute | ast.Subscript | ast.Await | ast.Starred):
        inner = [value.value]
    elif isinstance(value, ast.BoolOp):
        inner = value.values
    elif isinstance(value, ast.IfExp):
        inner = [value.body, value.orelse]
    elif isinstance(value, ast.Call):
        takes = called(value) in _TAKES
        if isinstance(value.func, ast.Attribute) and takes:
            inner = [value.func.value]
        inner += [arg for arg in value.args if takes or (deep and isinstance(arg, ast.Name))]
    for one in inner:
        yield from _parts(one, deep=deep)
