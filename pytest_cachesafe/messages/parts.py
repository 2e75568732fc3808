"""What a wire converter hands back, and the pieces the converters share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_cachesafe.messages.plain import kind_of
from pytest_cachesafe.prompt import UsageError

__all__ = ["CALL_ID", "Parts", "add_text", "check_content", "function_tool", "items_of", "joined", "role_of"]

# Gemini gives calls no id, chat templates want one (Mistral's insist on nine characters): numbered in order, so that
# an append-only chat keeps its ids.
CALL_ID = "call{:05d}"


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
