"""Forms in which a request is written down in one display: its system text, and its newest user message."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import libcst as cst

__all__ = ["Request", "request_in"]

_SYSTEM = frozenset({"system", "developer"})
_USER = frozenset({"user", "human"})
_SYSTEM_ARGUMENTS = ("system", "instructions", "system_instruction", "system_prompt")
_LIST_ARGUMENTS = ("messages", "input", "contents")
_CLASSES = {"SystemMessage": "system", "HumanMessage": "user", "UserMessage": "user"}


class _Message(NamedTuple):
    role: str
    content: cst.BaseExpression


class Request(NamedTuple):
    """The expressions that hold the system text and the newest user message's content."""

    system: cst.BaseExpression
    newest: cst.BaseExpression


def request_in(node: cst.CSTNode) -> Request | None:
    """The system text and the newest user message, where a node is a display that holds both."""
    import libcst as cst

    if isinstance(node, cst.List):
        messages = [_message(element) for element in node.elements]
        newest = messages[-1] if messages else None
        systems = [m.content for m in messages if m is not None and m.role in _SYSTEM]
        if newest is None or newest.role not in _USER or len(systems) != 1:
            return None
        return Request(systems[0], newest.content)
    entries = _entries(node) if isinstance(node, cst.Call | cst.Dict) else {}
    systems = [entries[name] for name in _SYSTEM_ARGUMENTS if name in entries]
    lists = [entries[name] for name in _LIST_ARGUMENTS if name in entries]
    if len(systems) != 1 or len(lists) != 1:
        return None
    if isinstance(lists[0], cst.List):
        last = _message(lists[0].elements[-1]) if lists[0].elements else None
        return Request(systems[0], last.content) if last is not None and last.role in _USER else None
    # OpenAI's Responses take the user's text itself; a name may be bound to a list, which `_given` looks up.
    return Request(systems[0], lists[0]) if "input" in entries and not isinstance(lists[0], cst.Name) else None


def _message(element: cst.BaseElement) -> _Message | None:
    """Role and content of a message: a dict, `dict(role=..., content=...)`, a message class, or a pair."""
    import libcst as cst

    node = element.value
    if isinstance(element, cst.StarredElement):
        return None
    if isinstance(node, cst.Tuple) and len(node.elements) == 2:
        role, content = node.elements[0].value, node.elements[1].value
        return _Message(str(role.evaluated_value), content) if isinstance(role, cst.SimpleString) else None
    if not isinstance(node, cst.Dict | cst.Call):
        return None
    entries = _entries(node)
    if isinstance(node, cst.Call):
        name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        kind = _CLASSES.get(name.value) if isinstance(name, cst.Name) else None
        if kind is not None:
            first = node.args[0].value if node.args and node.args[0].keyword is None and not node.args[0].star else None
            given = entries.get("content", first)
            return _Message(kind, given) if given is not None else None
    spelt, text = entries.get("role"), entries.get("content")
    if not isinstance(spelt, cst.SimpleString) or text is None:
        return None
    return _Message(str(spelt.evaluated_value), text)


def _entries(node: cst.Call | cst.Dict) -> dict[str, cst.BaseExpression]:
    """The keywords of a call, the constant keys of a dict display."""
    import libcst as cst

    if isinstance(node, cst.Call):
        return {arg.keyword.value: arg.value for arg in node.args if arg.keyword is not None}
    return {
        str(item.key.evaluated_value): item.value
        for item in node.elements
        if isinstance(item, cst.DictElement) and isinstance(item.key, cst.SimpleString)
    }
