"""Requests that a function puts together as a whole: one system text and at most one user message, no chat."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.prefix.behind import given
from pytest_cachesafe.lint.evidence.trees import Function, called, names_in, own_nodes, parents, spelt

__all__ = ["CLOSING", "Sent", "single_requests"]

# So much fixed text is no more than a closing line.
CLOSING = 200
_SYSTEM = frozenset({"system", "developer"})
_SYSTEM_KEYS = frozenset({"system", "system_prompt", "system_instruction", "instructions", "system_message"})
_USER_KEYS = frozenset({
    "prompt", "user_prompt", "user_message", "contents", "input", "user_input", "user", "brief", "task", "query",
    "question", "user_query", "user_text", "text",
})  # fmt: skip
_CLASSES = {"SystemMessage": "system", "HumanMessage": "user", "UserMessage": "user"}
# What holds or names earlier messages.
_PAST = lazy_pattern(r"messages|history|conversation|session|thread|previous|resume|memory")
_GROWING = frozenset({"append", "extend"})
# Where the name of a list may stand that goes nowhere else.
_GROWS = (ast.Call, ast.keyword, ast.Attribute, ast.For, ast.AugAssign, ast.comprehension, ast.Subscript, ast.Dict)
# Names of names.
_DEPTH = 8


class Sent(NamedTuple):
    """A request that is seen whole: its system text, and the content of its user messages; `returned`: it is given back
    and sent elsewhere."""

    system: ast.expr
    users: list[ast.expr]
    returned: bool = False


def single_requests(function: Function, known: Mapping[str, list[Function]]) -> Iterator[Sent]:
    """The requests of a function that are no chat for certain."""
    for node in own_nodes(function):
        if isinstance(node, ast.List):
            sent = _of_list(node)
            if sent is None or not _asks(sent.users, function):
                continue
            if _is_returned(node, function):
                if sent.users:
                    yield sent._replace(returned=True)
            elif _stays(node, function, bool(sent.users)):
                yield sent
        elif isinstance(node, ast.Call):
            sent = _of_call(node, known)
            if sent is not None and sent.users and _asks(sent.users, function):
                yield sent


def _is_returned(node: ast.List, function: Function) -> bool:
    """Whether messages are given back, by themselves or in the request that they stand in: who sends them may go on
    with them."""
    above = parents(function)
    parent = above.get(id(node))
    if isinstance(parent, ast.Dict):
        keys = (key for key, value in zip(parent.keys, parent.values, strict=True) if value is node)
        in_request = any(isinstance(key, ast.Constant) and key.value == "messages" for key in keys)
        parent = above.get(id(parent)) if in_request else parent
    return isinstance(parent, ast.Return)


def _message(node: ast.expr) -> tuple[str, ast.expr] | None:
    """Role and content of a message display or constructor."""
    if isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[0], ast.Constant):
        return str(node.elts[0].value), node.elts[1]
    if isinstance(node, ast.Dict):
        fields = {_field(k): v for k, v in zip(node.keys, node.values, strict=True)}
        role, content = fields.get("role"), fields.get("content")
        if isinstance(role, ast.Constant) and content is not None and None not in node.keys:
            return str(role.value), content
    if isinstance(node, ast.Call):
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        content = named.get("content") or (node.args[0] if node.args else None)
        spelt_role = named.get("role")
        role_word = _CLASSES.get(called(node))
        if role_word is None and isinstance(spelt_role, ast.Constant):
            role_word = str(spelt_role.value)
        if role_word and content is not None:
            return role_word, content
    return None


def _field(key: ast.expr | None) -> object:
    """The name of a field; `FIELD_CONTENT` is the content."""
    if isinstance(key, ast.Constant):
        return key.value
    return spelt(key).lower().rpartition("_")[2] if key is not None else None


def _of_list(node: ast.List) -> Sent | None:
    messages = [_message(item) for item in node.elts]
    systems = [m[1] for m in messages if m is not None and m[0] in _SYSTEM]
    users = [m[1] for m in messages if m is not None and m[0] in ("user", "human")]
    if None in messages or len(systems) != 1 or len(users) > 1 or len(messages) != 1 + len(users):
        return None
    return Sent(systems[0], users)


def _of_call(node: ast.Call, known: Mapping[str, list[Function]]) -> Sent | None:
    """`create(system=…, messages=[{"role": "user", …}])`, `ask(system_prompt=…, prompt=…)`."""
    named = {keyword.arg or "": keyword.value for keyword in node.keywords}
    systems = [named[key] for key in _SYSTEM_KEYS if key in named]
    past = {key: value for key, value in named.items() if _PAST.search(key)}
    users = [named[key] for key in _USER_KEYS if key in named]
    if len(systems) != 1 or "" in named:
        return None
    for value in past.values():
        messages = [_message(item) for item in value.elts] if isinstance(value, ast.List) else [None]
        if isinstance(value, ast.Constant) and value.value is None:
            continue
        if any(message is None or message[0] != "user" for message in messages):
            return None
        users += [message[1] for message in messages if message is not None]
    if len(users) != 1 or (not past and _remembers(node, known)):
        return None
    return Sent(systems[0], users)


def _remembers(node: ast.Call, known: Mapping[str, list[Function]]) -> bool:
    """Whether the object's own method is called, and nothing says that it adds no messages of its own."""
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    if not isinstance(receiver, ast.Name) or receiver.id not in ("self", "cls"):
        return False
    methods = known.get(called(node), [])
    return not methods or any(
        isinstance(part, ast.Attribute) and _PAST.search(part.attr) for method in methods for part in own_nodes(method)
    )


def _stays(node: ast.List, function: Function, asks: bool) -> bool:
    """Whether a list is handed to a call where it stands, or bears a name that only grows in its own function."""
    parent = parents(function).get(id(node))
    if isinstance(parent, ast.Call | ast.keyword):
        return not (isinstance(parent, ast.Call) and called(parent) in (*_GROWING, "Agent"))
    if isinstance(parent, ast.Dict):
        return True
    if not isinstance(parent, ast.Assign | ast.AnnAssign) or not asks:
        return False
    targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return False
    for use, child in names_in(function).get(targets[0].id, ()):
        if child is targets[0]:
            continue
        if isinstance(child.ctx, ast.Store) and not isinstance(use, ast.AugAssign):
            return False
        if not isinstance(use, _GROWS):
            return False
    return True


def _asks(users: list[ast.expr], function: Function) -> bool:
    """Whether the user's message is another one each time, or no more than a line."""
    return all(_fixed_front(user, function) <= CLOSING for user in users)


def _fixed_front(expr: ast.expr, function: Function, depth: int = _DEPTH) -> int:
    """How much fixed text a message begins with; a text without anything else is fixed as a whole."""
    if isinstance(expr, ast.Constant):
        return len(str(expr.value))
    if isinstance(expr, ast.Name):
        if expr.id.isupper():
            return CLOSING * 10
        values = [
            node.value
            for node in given(expr.id, function)
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == expr.id for t in node.targets)
        ]
        # `text = text + "…"` names itself.
        plain = depth and len(values) == 1 and not isinstance(values[0], ast.Name)
        return _fixed_front(values[0], function, depth - 1) if plain else 0
    if isinstance(expr, ast.JoinedStr):
        total = 0
        for value in expr.values:
            if isinstance(value, ast.FormattedValue):
                if not spelt(value.value).isupper():
                    return total
                total += CLOSING
            elif isinstance(value, ast.Constant):
                total += len(str(value.value))
        return CLOSING * 10
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
        left = _fixed_front(expr.left, function, depth)
        if not isinstance(expr.left, ast.Constant):
            return left
        return len(str(expr.left.value)) + _fixed_front(expr.right, function, depth)
    if isinstance(expr, ast.Call) and called(expr) in ("format", "render", "substitute"):
        receiver = expr.func.value if isinstance(expr.func, ast.Attribute) else expr
        text = receiver.value if isinstance(receiver, ast.Constant) else None
        return len(str(text).partition("{")[0]) if text is not None else CLOSING * 10
    return 0
