"""Texts and messages that are put together and left where they are: the function never reads them again.

What asked the model is commented out, or gone, and what built its messages still stands there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.files import Files
from pytest_cachesafe.lint.evidence.trees import Function, called, names_in, parents, statements

if TYPE_CHECKING:
    from cachesafe_rules.api import Report

__all__ = ["LeftBehind"]

_END = lazy_pattern(r"(?:also )?reaches ")
_GROWS = frozenset({"append", "extend", "insert", "update", "add", "appendleft"})
# What a text or a list is put into and stays a part of.
_PARTS = (
    ast.List, ast.Tuple, ast.Dict, ast.Set, ast.BinOp, ast.JoinedStr, ast.FormattedValue, ast.IfExp, ast.BoolOp,
    ast.Starred,
)  # fmt: skip
# Calls that make or format a text or a message, and do nothing else with it.
_BUILDS = lazy_pattern(
    r"^(?:str|repr|len|format|join|[lr]?strip|replace|dedent|indent|list|dict|tuple|isoformat|strftime|dumps|lower|"
    r"upper|get|items|keys|values|now|today|utcnow|astimezone|"
    r"[A-Z]\w*(?:Message|Prompt|Template|Part|Content)(?:Param)?|"
    r"_*(?:get|build|make|format|fmt|render|compose|create)_(?:\w+_)?"
    r"(?:prompt|message|messages|text|context|instructions?|schema|header))$"
)
_HOPS = 3


class LeftBehind:
    """Asks of reports. `is_alone` says of a short file whether it is complete as it stands: an excerpt may well end
    where its messages are built."""

    def __init__(self, seen: Files, is_alone: Callable[[str], bool]) -> None:
        self._seen = seen
        self._is_alone = is_alone

    def holds(self, report: Report) -> bool:
        """Whether each place that a report's text is put into is left behind."""
        span = report.span
        if not span.filename.endswith(".py") or self._is_alone(span.filename):
            return False
        ends = {(span.filename, span.row)}
        ends |= {(step.filename, step.row) for step in report.steps if _END.match(step.message)}
        return all(self._is_left(name, row) for name, row in ends if name.endswith(".py"))

    def _is_left(self, name: str, row: int) -> bool:
        function = self._seen.around(name, row)
        if function is None:
            return False
        around = (n for n in statements(function) if _covers(n, row))
        last = max(around, key=lambda n: n.lineno, default=None)
        holder = _holder(last) if last is not None else None
        return holder is not None and _is_unread(holder, function, _HOPS)


def _covers(node: ast.stmt, row: int) -> bool:
    return node.lineno <= row <= (node.end_lineno or node.lineno)


def _holder(node: ast.AST) -> str | None:
    """The name that a statement only puts something into."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
        target, value = node.target, node.value
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and len(node.value.args) == 1:
        call = node.value
        if called(call) not in _GROWS or not isinstance(call.func, ast.Attribute) or call.keywords:
            return None
        target, value = call.func.value, call.args[0]
    else:
        return None
    return target.id if isinstance(target, ast.Name) and _is_made_of_parts(value) else None


def _is_made_of_parts(node: ast.expr) -> bool:
    """Whether an expression puts things together and hands none to somebody who may send or keep it."""
    if isinstance(node, _PARTS):
        return all(_is_made_of_parts(n) for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr))
    inside = list(ast.walk(node))
    calls = [n for n in inside if isinstance(n, ast.Call)]
    return not any(isinstance(n, ast.Await | ast.NamedExpr) for n in inside) and all(
        _BUILDS.match(called(call)) or not (call.args or call.keywords) for call in calls
    )


def _is_unread(name: str, function: Function, hops: int) -> bool:
    """Whether what reads a local name puts things into it, or it into something that nothing reads."""
    own = names_in(function).get(name, [])
    inside = list(ast.walk(function))
    arguments = {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)}
    every = sum(isinstance(n, ast.Name) and n.id == name for n in inside)
    if name in arguments or every != len(own) or any(isinstance(n, ast.Global | ast.Nonlocal) for n in inside):
        return False
    if any(isinstance(n, ast.Call) and called(n) in ("locals", "vars", "globals", "eval", "exec") for n in inside):
        return False
    # A list that the function has not made itself is read by whoever has it.
    made = [stmt for stmt in inside if isinstance(stmt, ast.Assign | ast.AnnAssign) and _binds(stmt, name)]
    stored = sum(not isinstance(n.ctx, ast.Load) for _, n in own)
    grown = any(_is_grown(stmt, name) for stmt in inside)
    if not made or stored != len(made) + grown * _augments(inside, name):
        return False
    if grown and not all(isinstance(stmt.value, ast.List | ast.Dict | ast.JoinedStr | ast.Constant) for stmt in made):
        return False
    above = parents(function)
    return all(not isinstance(node.ctx, ast.Load) or _is_dropped(node, name, function, above, hops) for _, node in own)


def _binds(stmt: ast.Assign | ast.AnnAssign, name: str) -> bool:
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _is_grown(stmt: ast.AST, name: str) -> bool:
    return (isinstance(stmt, ast.Expr) and _holder(stmt) == name) or _augments([stmt], name) > 0


def _augments(nodes: list[ast.AST], name: str) -> int:
    found = (n.target for n in nodes if isinstance(n, ast.AugAssign))
    return sum(isinstance(target, ast.Name) and target.id == name for target in found)


def _is_dropped(node: ast.expr, name: str, function: Function, above: dict[int, ast.AST], hops: int) -> bool:
    here: ast.AST = node
    while not isinstance(here, ast.stmt):
        parent = above.get(id(here))
        if parent is None:
            return False
        here = parent
    holder = _holder(here)
    if holder == name:
        return True
    return holder is not None and hops > 0 and _is_unread(holder, function, hops - 1)
