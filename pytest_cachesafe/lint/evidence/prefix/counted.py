"""Whether a counter that stands in a text is counted up between two of the requests that the text is sent with."""

from __future__ import annotations

import ast
from collections.abc import Collection

from pytest_cachesafe.lint.evidence.files import File
from pytest_cachesafe.lint.evidence.trees import Function, called, nodes_of, own_nodes, spelt
from pytest_cachesafe.lint.flow.replies import reads_usage

__all__ = ["is_counted"]

_COUNTING = frozenset({"range", "count"})
_HOPS = 2
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def is_counted(names: Collection[str], function: Function, row: int, file: File) -> bool:
    """Whether one of the names counts the rounds of a loop around the row, or is counted up by the function; or by one
    of the same file that calls it, then in a loop around the call. `function` is the one around the row."""
    if _counts(names, function, [row]):
        return True
    asked = [function]
    for _ in range(_HOPS):
        found = []
        for inner in asked:
            for caller in file.callers(inner):
                rows = [n.lineno for n in nodes_of(caller, ast.Call) if called(n) == inner.name]
                if _counts(names, caller, rows):
                    return True
                found.append(caller)
        asked = found
    return False


def _counts(names: Collection[str], function: Function, rows: Collection[int]) -> bool:
    nodes = own_nodes(function)
    loops = [
        loop for loop in nodes if isinstance(loop, _LOOPS) and any(loop.lineno < row <= _end(loop) for row in rows)
    ]
    for loop in loops:
        if isinstance(loop, ast.While) or not isinstance(loop.iter, ast.Call):
            continue
        if spelt(loop.target) in names and called(loop.iter) in _COUNTING:
            return True
    if any(_is_kept_of_reply(names, node) for node in nodes):
        return True
    return any(
        isinstance(node, ast.AugAssign)
        and spelt(node.target) in names
        # An object outlives the call, a local name only the round.
        and (isinstance(node.target, ast.Attribute) or any(lo.lineno < node.lineno <= _end(lo) for lo in loops))
        for node in nodes
    )


def _is_kept_of_reply(names: Collection[str], node: ast.AST) -> bool:
    """`self.used = reply.usage.total_tokens`: the object is asked again, and then knows another number."""
    if not isinstance(node, ast.Assign):
        return False
    own = any(isinstance(target, ast.Attribute) and target.attr in names for target in node.targets)
    return own and reads_usage(node.value)


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
