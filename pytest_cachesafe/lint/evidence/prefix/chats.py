"""Signs of a chat in a function: earlier messages that it did not write itself stand in the request that it builds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.prefix.behind import given
from pytest_cachesafe.lint.evidence.trees import Function, called, nodes_of, own_nodes, parents, spelt

__all__ = ["agent_of", "chat_in", "in_loop", "is_fallback", "is_system", "tools_beside"]

_PAST = lazy_pattern(
    r"(?:^|_)(?:(?:history|histories)(?:_(?:messages|msgs|list|items|turns))?|conversations?|dialogs?|dialogues?|"
    r"transcript|chat_log|convo)$"
)
_MESSAGES = lazy_pattern(r"(?:^|_)(?:messages|msgs|contents|turns|input_items)$")
_READS = lazy_pattern(r"_?a?(?:get|load|fetch|read|list)_(?:\w+_)?(?:messages|msgs|turns)$")
_AGENT = lazy_pattern(r"\bargument \w+ of (?:\w+\.)*(?:\w*Agent|create_\w*agent)\b")
_PER_REQUEST = frozenset({"system_prompt", "instructions", "dynamic_prompt"})
# Calls that hand nothing to a model.
_TOLD = frozenset({"len", "print", "debug", "info", "warning", "error", "log", "exception", "isinstance", "bool"})
_GROWS = frozenset({"append", "extend", "insert"})
_SAME = (ast.Subscript, ast.BoolOp, ast.IfExp, ast.Await, ast.Slice)
_INTO = (ast.Starred, ast.BinOp, ast.keyword, ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension, ast.Dict,
         ast.FormattedValue)  # fmt: skip
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_TOOLS = frozenset({"tools", "functions", "toolkit", "toolsets"})


def agent_of(message: str) -> bool:
    """Whether a step or sink says that an agent is built with the text: its loop and its tools stand behind."""
    return _AGENT.search(message) is not None


@lru_cache(maxsize=64)
def chat_in(function: Function) -> bool:
    """Whether messages from elsewhere, or those of a loop, are put into something here."""
    if any(_last(d) in _PER_REQUEST for d in function.decorator_list):
        return True
    return any(_goes_on(use, function) for use in _uses(function)) or any(
        _is_spread(part, function) for node in nodes_of(function, ast.List) for part in _behind_system(node, function)
    )


def _behind_system(node: ast.List, function: Function) -> Iterator[ast.expr]:
    """What is put behind the system message of a list that begins with one: `[system, *log, question]`,
    `[system] + log`."""
    if not node.elts or not (is_system(node.elts[0]) or "system" in spelt(node.elts[0]).lower()):
        return
    yield from (part.value for part in node.elts[1:] if isinstance(part, ast.Starred))
    above = parents(function)
    parent = above.get(id(node))
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add) and parent.left is node:
        yield parent.right


def _is_spread(node: ast.expr, function: Function) -> bool:
    """Whether messages are a parameter or an attribute that grows in the function, whatever they are called. A list
    that nobody adds to may be examples."""
    word = spelt(node)
    if not isinstance(node, ast.Name | ast.Attribute) or word.isupper():
        return False
    parameters = {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)}
    kept = isinstance(node, ast.Attribute) or node.id in parameters
    return kept and any(_grows(call, word) for call in nodes_of(function, ast.Call))


def is_system(node: ast.expr) -> bool:
    """Whether a message is a system message."""
    if isinstance(node, ast.Call):
        roles: list[ast.expr | None] = [keyword.value for keyword in node.keywords if keyword.arg == "role"]
        if called(node) == "SystemMessage":
            return True
    else:
        fields = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ()
        roles = [value for key, value in fields if isinstance(key, ast.Constant) and key.value == "role"]
    return any(isinstance(role, ast.Constant) and role.value in ("system", "developer") for role in roles)


def tools_beside(function: Function, row: int) -> bool:
    """Whether an agent is built around a row with tools. In a plain request tools go in front of the system text."""
    for node in nodes_of(function, ast.Call):
        if "agent" in called(node).lower() and node.lineno <= row <= (node.end_lineno or node.lineno):
            given_here = [k.value for k in node.keywords if k.arg in _TOOLS]
            if any(not (isinstance(v, ast.Constant) or (isinstance(v, ast.List) and not v.elts)) for v in given_here):
                return True
    return False


def in_loop(function: Function, row: int) -> bool:
    """Whether a row stands in the body of a loop."""
    return any(node.lineno < row <= (node.end_lineno or node.lineno) for node in nodes_of(function, *_LOOPS))


def is_fallback(function: Function, row: int) -> bool:
    """Whether a row stands in the `else` of a loop: what is done where the loop found no better place."""
    return any(
        stmt.lineno <= row <= (stmt.end_lineno or stmt.lineno)
        for node in nodes_of(function, *_LOOPS)
        for stmt in node.orelse
    )


def _uses(function: Function) -> Iterator[ast.expr]:
    """Where names of messages from elsewhere are read."""
    parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    for node in own_nodes(function):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            word = str(node.slice.value)
        elif isinstance(node, ast.Name | ast.Attribute):
            word = spelt(node)
        else:
            continue
        if word.isupper() or not isinstance(node.ctx, ast.Load):
            continue
        past = _PAST.search(word.lower()) is not None
        if not past and _MESSAGES.search(word.lower()) is None:
            continue
        if not isinstance(node, ast.Name) or node.id in parameters or _from_elsewhere(node.id, function, past):
            yield node


def _from_elsewhere(name: str, function: Function, past: bool) -> bool:
    """Whether a local name holds more than what the function writes down: it grows in a loop, or was made of others."""
    for node in nodes_of(function, *_LOOPS):
        if any(_grows(inside, name) for inside in ast.walk(node)):
            return True
    for statement in given(name, function):
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.AugAssign) or (past and not isinstance(value, ast.List | ast.Constant | None)):
            return True
        if _is_taken(value):
            return True
        if isinstance(value, ast.List | ast.BinOp | ast.ListComp):
            inside = ast.walk(value)
            if isinstance(value, ast.ListComp) or any(isinstance(part, ast.Starred) for part in inside):
                return True
    return False


def _is_taken(value: ast.AST | None) -> bool:
    """`body["messages"]`, `body.get("messages", [])`, `request.messages`, `load_messages(…)`."""
    while isinstance(value, ast.Await | ast.BoolOp):
        value = value.value if isinstance(value, ast.Await) else value.values[0]
    if isinstance(value, ast.Call):
        read = called(value) in ("get", "pop") and value.args and isinstance(value.args[0], ast.Constant)
        return bool(read) or _READS.match(called(value)) is not None
    return isinstance(value, ast.Attribute | ast.Subscript)


def _grows(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (node.func.attr in _GROWS and spelt(node.func.value) == name)
    )


def _goes_on(use: ast.expr, function: Function) -> bool:
    """Whether what is read goes into a list, a text or a call."""
    above = parents(function)
    node: ast.AST = use
    parent = above.get(id(node))
    while isinstance(parent, _SAME):
        if isinstance(parent, ast.Subscript) and (isinstance(parent.ctx, ast.Store) or parent.value is not node):
            # `messages[0] = …`: the rest of them stands behind.
            return isinstance(parent.ctx, ast.Store)
        node, parent = parent, above.get(id(parent))
    if isinstance(parent, ast.For | ast.AsyncFor):
        return parent.iter is node
    if isinstance(parent, ast.Attribute):
        return parent.attr in _GROWS
    if isinstance(parent, ast.Call):
        return node in parent.args and called(parent) not in _TOLD
    return isinstance(parent, _INTO)


def _last(node: ast.expr) -> str:
    return spelt(node.func) if isinstance(node, ast.Call) else spelt(node)
