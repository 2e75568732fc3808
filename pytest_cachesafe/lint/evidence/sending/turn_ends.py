"""Lists of messages that are added to the end of a conversation that is kept: a finished turn, and no request.

What stands first in such a list stands behind all that was kept before, and is sent again as it was written. Told by
the list going into a store, or into what an object keeps under a key, and nowhere else; a list that is begun anew for
each request is none of these.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.evidence.prefix.fixed import Files
from pytest_cachesafe.lint.evidence.sending.held import bindings, held
from pytest_cachesafe.lint.evidence.trees import Function, called, own_nodes, parents, spelt

if TYPE_CHECKING:
    from cachesafe_rules.api import Report

__all__ = ["TurnEnds"]

_CODE = "CSF301"
_ADDS = re.compile(r"_*a?(?:append|add|extend)(?:_\w+)?$")
_STORES = re.compile(r"(?:^|_)(?:store|storage|repo|repository|db|database|dao)$")
# Whose conversation it is; what is kept under the key of a request or a task is begun with it.
_KEYS = re.compile(
    r"user|chat|session|thread|conv|channel|room|guild|peer|contact|phone|sender|customer|member|uid|sid"
)
_READS = frozenset({"get", "setdefault"})
_EMPTIES = frozenset({"clear", "pop", "popitem"})


class TurnEnds:
    """Asks of reports. `read` gives the bytes of a project's file."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._seen = Files(read)

    def holds(self, code: str, report: Report) -> bool:
        """Whether the list that a report on the order of messages is about is seen to be the end of a kept one."""
        span = report.span
        function = self._seen.around(span.filename, span.row) if code == _CODE else None
        if function is None:
            return False
        at = (span.row, span.column - 1)
        above = parents(function)
        items = (n for n in own_nodes(function) if isinstance(n, ast.expr) and (n.lineno, n.col_offset) == at)
        lists = [one for item in items if isinstance(one := above.get(id(item)), ast.List)]
        if not lists:
            return False
        known = self._seen[span.filename].known
        end = held(function, lists[:1], known, lambda node, inside: _takes(node, inside, function, known))
        return end is not None and end.taken and not end.back


def _takes(
    node: ast.Call | ast.AugAssign, inside: Function, first: Function, known: Mapping[str, Sequence[Function]]
) -> bool:
    """Whether a list goes into a store, or is added to one that is kept under a key."""
    if isinstance(node, ast.AugAssign):
        kept = _kept(node.target, inside)
    elif not isinstance(node.func, ast.Attribute):
        return False
    elif _ADDS.match(called(node)) and _STORES.search(spelt(node.func.value).lower()):
        return not _is_made_here(node.func.value, inside)
    else:
        kept = _kept(node.func.value, inside) if called(node) == "extend" else ""
    if not kept:
        return False
    run = {called(call) for one in (inside, first) for call in own_nodes(one) if isinstance(call, ast.Call)}
    others = [function for name in run for function in known.get(name, ())]
    return not any(_begins_anew(function, kept) for function in (inside, first, *others))


def _kept(node: ast.expr, function: Function) -> str:
    """The attribute of the object under a key of which a list is kept: `self.chats[user]`, `self.chats.get(user)`."""
    if isinstance(node, ast.Name):
        found = set()
        for value, statement in bindings(node.id, function):
            kept = "" if value is None or isinstance(value, ast.Name) else _kept(value, function)
            if kept:
                found.add(kept)
            elif value is None or not _is_missing(statement, function, node.id):
                return ""
        return found.pop() if len(found) == 1 else ""
    owner: ast.expr | None = None
    key: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        owner, key = node.value, node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and called(node) in _READS and node.args:
        owner, key = node.func.value, node.args[0]
    if not isinstance(owner, ast.Attribute) or spelt(owner.value) != "self" or not isinstance(key, ast.expr):
        return ""
    return owner.attr if _KEYS.search(spelt(key).lower()) else ""


def _is_made_here(store: ast.expr, function: Function) -> bool:
    """Whether a store is a name of the function itself, other than a parameter: it may hold this request alone."""
    bound = bindings(store.id, function) if isinstance(store, ast.Name) else ()
    return any(statement is not function for _, statement in bound)


def _begins_anew(function: Function, attribute: str) -> bool:
    """Whether a function empties what is kept, or puts something else there, other than where nothing is."""
    for node in own_nodes(function):
        if isinstance(node, ast.Call) and called(node) in _EMPTIES and isinstance(node.func, ast.Attribute):
            changed = _mentions(node.func.value, attribute)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            changed = any(_mentions(target, attribute) for target in targets)
            changed = changed and not _is_made_of(node.value, attribute, function)
        else:
            changed = isinstance(node, ast.Delete) and any(_mentions(t, attribute) for t in node.targets)
        if changed and not _is_missing(node, function, attribute):
            return True
    return False


def _is_made_of(value: ast.expr, attribute: str, function: Function) -> bool:
    """Whether a value is made of what is kept, as of its last messages."""
    if _mentions(value, attribute):
        return True
    names = [node.id for node in ast.walk(value) if isinstance(node, ast.Name)]
    return any(_kept(ast.Name(name, ast.Load()), function) == attribute for name in names)


def _is_missing(node: ast.AST, function: Function, word: str) -> bool:
    """Whether a statement stands in an `if` that asks whether a name or attribute holds nothing yet."""
    above = parents(function)
    while (parent := above.get(id(node))) is not None:
        if isinstance(parent, ast.If) and node in parent.body and _mentions(parent.test, word):
            test = parent.test
            none = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.NotIn)
            if none or (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
                return True
        node = parent
    return False


def _mentions(node: ast.AST, word: str) -> bool:
    return any(isinstance(part, ast.Name | ast.Attribute) and spelt(part) == word for part in ast.walk(node))
