"""What a wire converter hands back, and the pieces the converters share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_cachesafe.messages.plain import kind_of
from pytest_cachesafe.prompt import UsageError

__all__ = [
    "CALL_ID",
    "Parts",
    "add_text",
    "called_name",
    "check_calls",
    "check_content",
    "check_tool",
    "check_tools",
    "function_tool",
    "items_of",
    "joined",
    "role_of",
]

# Gemini gives calls no id, chat templates want one (Mistral's insist on nine characters): numbered in order, so that
# an append-only chat keeps its ids.
CALL_ID = "call{:05d}"
# What a definition says of a tool and a message does not.
_TOOL_KEYS = frozenset(("type", "function", "name", "input_schema", "parameters", "toolSpec", "functionDeclarations"))
_CALL = '{"type": "function", "function": {"name": …, "arguments": …}}'


@dataclass
class Parts:
    """Messages as chat templates read them, each with its JSON path in the body."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    tools: list[Any] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, message: dict[str, Any], path: str) -> None:
        """Append a message that stands at `path` in the body."""
        self.messages.append(message)
        self.paths.append(path)


def items_of(body: Mapping[str, Any], key: str) -> list[Any]:
    """The message list of a body.

    Raises:
        UsageError: it is missing, empty or no list.
    """
    items = body.get(key)
    if not isinstance(items, list):
        raise UsageError(f"{key} is {kind_of(items)}; a list of messages is meant")
    if not items:
        raise UsageError(f"empty chat: {key} has no messages")
    return items


def role_of(message: Any, path: str) -> str:
    """The role of a message.

    Raises:
        UsageError: the message is no dict, or has no role that is a string.
    """
    if not isinstance(message, dict):
        raise UsageError(f"{path} is {kind_of(message)}; a message (a dict with role and content) is meant")
    role = message.get("role")
    if role is None:
        raise UsageError(f'{path} has no role: give each message one, such as "user" or "assistant"')
    if not isinstance(role, str) or not role:
        raise UsageError(f"{path}.role is {kind_of(role) if role != '' else 'empty'}; a role name is meant")
    return role


def check_content(content: Any, path: str) -> None:
    """Content is a string, a list of blocks (dicts or strings), or None.

    Raises:
        UsageError: anything else, named with its path.
    """
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        raise UsageError(f"{path} is {kind_of(content)}; a string, a list of content blocks or None is meant")
    for index, block in enumerate(content):
        if not isinstance(block, (dict, str)):
            what = "token ids mixed with text; " if isinstance(block, int) and not isinstance(block, bool) else ""
            raise UsageError(f"{path}[{index}] is {kind_of(block)}; {what}a content block (a dict) is meant")


def check_tools(tools: Any, path: str) -> None:
    """Tool definitions are a list of dicts (functions are allowed where Python gives them).

    Raises:
        UsageError: anything else, messages among it, named with its path.
    """
    if not isinstance(tools, list):
        raise UsageError(f"{path} is {kind_of(tools)}; a list is meant")
    for index, tool in enumerate(tools):
        check_tool(tool, f"{path}[{index}]")


def check_tool(tool: Any, path: str) -> None:
    """One tool is a definition, a function, or an object that gives a definition.

    Raises:
        UsageError: anything else, a message among it.
    """
    if isinstance(tool, Mapping):
        if isinstance(tool.get("role"), str) and not tool.keys() & _TOOL_KEYS:
            raise UsageError(f"{path} is a message of role {tool['role']!r}; a tool definition is meant")
    elif not callable(tool) and not hasattr(tool, "model_dump"):
        raise UsageError(f"{path} is {kind_of(tool)}; a tool is a definition (a dict) or a function")


def check_calls(message: Mapping[str, Any], path: str) -> None:
    """`tool_calls` is a list of dicts that name their function, `function_call` one such dict.

    Raises:
        UsageError: anything else, named with its path.
    """
    calls = message.get("tool_calls")
    if calls is not None:
        if not isinstance(calls, list):
            raise UsageError(f"{path}.tool_calls is {kind_of(calls)}; a list of calls is meant")
        for index, call in enumerate(calls):
            where = f"{path}.tool_calls[{index}]"
            if not isinstance(call, dict):
                raise UsageError(f"{where} is {kind_of(call)}; a call (a dict with a function) is meant")
            # Templates also take a call without the envelope, and OpenAI has custom tools beside functions.
            holder = next((key for key in ("function", "custom") if call.get(key) is not None), None)
            inner = call if holder is None else call[holder]
            if not isinstance(inner, dict):
                raise UsageError(f"{where}.{holder} is {kind_of(inner)}; a dict with name and arguments is meant")
            if holder is None and "name" not in call:
                raise UsageError(f"{where} has no function: a call names what it calls, {_CALL}")
            called_name(inner, where if holder is None else f"{where}.{holder}")
    call = message.get("function_call")
    if call is not None:
        if not isinstance(call, dict):
            raise UsageError(f"{path}.function_call is {kind_of(call)}; a dict with name and arguments is meant")
        called_name(call, f"{path}.function_call")


def called_name(call: Mapping[str, Any], path: str) -> str:
    """The name of the function that a call calls.

    Raises:
        UsageError: it has none.
    """
    name = call.get("name")
    if not isinstance(name, str) or not name:
        what = "empty" if name == "" else f"{kind_of(name)}"
        raise UsageError(f"{path}.name is {what}; the name of the called function is meant")
    return name


def joined(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Blocks as content: nothing is an empty string, and a lone text block means the same as its string."""
    if not blocks:
        return ""
    if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} and blocks[0]["type"] == "text":
        return str(blocks[0]["text"])
    return blocks


def add_text(old: str | None, new: str) -> str:
    """Reasoning of one turn that came in several blocks, as one text."""
    return new if not old else f"{old}\n{new}"


def function_tool(
    spec: Mapping[str, Any], schema_key: str, parameters: Any, drop: Iterable[str] = ()
) -> dict[str, Any]:
    """A tool in OpenAI's function shape; the schema keeps its key order, the envelope gets the usual one."""
    function: dict[str, Any] = {"name": spec.get("name")}
    if spec.get("description") is not None:
        function["description"] = spec["description"]
    if parameters is not None:
        function["parameters"] = parameters
    skipped = {"name", "description", "type", schema_key, *drop}
    function.update((key, value) for key, value in spec.items() if key not in skipped)
    return {"type": "function", "function": function}
