"""OpenAI Chat Completions bodies, which are what chat templates read: messages pass through unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.messages.parts import Parts, check_content, items_of, role_of
from pytest_cachesafe.messages.plain import kind_of
from pytest_cachesafe.prompt import UsageError

__all__ = ["convert", "tools_of"]


def convert(body: Mapping[str, Any]) -> Parts:
    """Messages as they are, each checked for role and content.

    Raises:
        UsageError: a message without role, or content of a wrong type.
    """
    parts = Parts()
    for index, message in enumerate(items_of(body, "messages")):
        path = f"messages[{index}]"
        role_of(message, path)
        check_content(message.get("content"), f"{path}.content")
        parts.add(message, path)
    parts.tools = tools_of(body)
    return parts


def tools_of(body: Mapping[str, Any]) -> list[Any] | None:
    """`tools` as given, or the retired `functions` wrapped as tools.

    Raises:
        UsageError: tools that are no list.
    """
    tools = body.get("tools")
    if tools is None:
        functions = body.get("functions")
        if functions is None:
            return None
        if not isinstance(functions, list):
            raise UsageError(f"functions is {kind_of(functions)}; a list is meant")
        return [{"type": "function", "function": function} for function in functions]
    if not isinstance(tools, list):
        raise UsageError(f"tools is {kind_of(tools)}; a list is meant")
    return tools
