"""OpenAI Chat Completions bodies, which are what chat templates read: messages pass through unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.messages.parts import Parts, check_calls, check_content, check_tools, items_of, role_of

__all__ = ["as_served", "convert", "tools_of"]


def convert(body: Mapping[str, Any]) -> Parts:
    """Messages as they are, each checked for role and content.

    Raises:
        UsageError: a message without role, content of a wrong type, or a tool call without a function.
    """
    parts = Parts()
    for index, message in enumerate(items_of(body, "messages")):
        path = f"messages[{index}]"
        role_of(message, path)
        check_content(message.get("content"), f"{path}.content")
        check_calls(message, path)
        parts.add(message, path)
    parts.tools = tools_of(body)
    return parts


def as_served(message: dict[str, Any]) -> dict[str, Any]:
    """A message as a server hands it to a template: an answer that only calls tools has no content, which is null.

    SDKs leave the key out where they log without empty fields; templates read it.
    """
    if message.get("role") == "assistant" and message.get("tool_calls") and "content" not in message:
        return {**message, "content": None}
    return message


def tools_of(body: Mapping[str, Any]) -> list[Any] | None:
    """`tools` as given, or the retired `functions` wrapped as tools.

    Raises:
        UsageError: tools that are no list of definitions.
    """
    tools = body.get("tools")
    if tools is None:
        functions = body.get("functions")
        if functions is None:
            return None
        check_tools(functions, "functions")
        return [{"type": "function", "function": function} for function in functions]
    check_tools(tools, "tools")
    given: list[Any] = tools
    return given
