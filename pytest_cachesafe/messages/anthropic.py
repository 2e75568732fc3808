"""Anthropic Messages bodies: top-level system, content blocks, tool results inside user messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.messages.parts import (
    Parts,
    add_text,
    called_name,
    check_content,
    check_tools,
    function_tool,
    items_of,
    joined,
    role_of,
)

__all__ = ["convert"]


def convert(body: Mapping[str, Any]) -> Parts:
    """System first, then one template message per turn and one per tool result; cache markers are left out.

    Raises:
        UsageError: a message without role, content of a wrong type, or a tool call without a name.
    """
    parts = Parts()
    system = body.get("system")
    if system not in (None, "", []):
        check_content(system, "system")
        parts.add({"role": "system", "content": _content(system, "system", parts)}, "system")
    names: dict[str, str] = {}
    for index, message in enumerate(items_of(body, "messages")):
        path = f"messages[{index}]"
        role = role_of(message, path)
        content = message.get("content")
        check_content(content, f"{path}.content")
        if isinstance(content, list) and role == "assistant":
            parts.add(_assistant(content, path, parts, names), path)
        elif isinstance(content, list) and role == "user":
            _user(content, path, parts, names)
        elif role == "assistant" and content is None:
            parts.add({"role": role, "content": ""}, path)
        else:
            parts.add({"role": role, "content": _content(content, path, parts)}, path)
    tools = body.get("tools")
    if tools is not None:
        check_tools(tools, "tools")
        parts.tools = [_tool(tool, i, parts) for i, tool in enumerate(tools)]
    return parts


def _block(block: Any, path: str, parts: Parts) -> dict[str, Any]:
    """A content block as templates read it: text and image stay, anything else is kept and noted."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    kind = block.get("type")
    kept = {key: value for key, value in block.items() if key != "cache_control"}
    if kind == "text" and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    if kind not in ("text", "image"):
        parts.notes.append(f"block type {kind!r} at {path} kept as it is")
    return kept


def _content(content: Any, path: str, parts: Parts) -> Any:
    if not isinstance(content, list):
        return content
    return joined([_block(block, f"{path}[{i}]", parts) for i, block in enumerate(content)])


def _assistant(content: list[Any], path: str, parts: Parts, names: dict[str, str]) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    reasoning: str | None = None
    for i, block in enumerate(content):
        where = f"{path}.content[{i}]"
        kind = block.get("type") if isinstance(block, dict) else "text"
        if kind == "thinking":
            reasoning = add_text(reasoning, str(block.get("thinking", "")))
        elif kind == "redacted_thinking":
            parts.notes.append(f"redacted thinking at {where} left out: only the provider can read it")
        elif kind == "tool_use":
            name = called_name(block, where)
            names[str(block.get("id"))] = name
            function = {"name": name, "arguments": block.get("input", {})}
            calls.append({"id": block.get("id"), "type": "function", "function": function})
        else:
            if calls:
                parts.notes.append(f"the block at {where} stands behind a tool call and is rendered before it")
            blocks.append(_block(block, where, parts))
    message: dict[str, Any] = {"role": "assistant", "content": joined(blocks)}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return message


def _kind(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else "text"


def _user(content: list[Any], path: str, parts: Parts, names: dict[str, str]) -> None:
    """Tool results become tool messages; what else the message holds follows as the user's words."""
    rest: list[dict[str, Any]] = []
    first = ""
    for i, block in enumerate(content):
        where = f"{path}.content[{i}]"
        if _kind(block) != "tool_result":
            rest.append(_block(block, where, parts))
            first = first or where
            continue
        if rest:
            parts.notes.append(f"the tool result at {where} stands behind other content and is rendered before it")
        result = block.get("content")
        check_content(result, f"{where}.content")
        call_id = block.get("tool_use_id")
        message: dict[str, Any] = {"role": "tool", "tool_call_id": call_id}
        if str(call_id) in names:
            message["name"] = names[str(call_id)]
        message["content"] = "" if result is None else _content(result, f"{where}.content", parts)
        if block.get("is_error"):
            parts.notes.append(f"is_error of {where} has no place in a chat template")
        parts.add(message, where)
    if rest or not content:
        lone = len(rest) == 1 and len(content) > 1
        parts.add({"role": "user", "content": joined(rest)}, first if lone else path)


def _tool(tool: Any, index: int, parts: Parts) -> Any:
    if not isinstance(tool, dict):
        return tool
    if "input_schema" in tool:
        return function_tool(tool, "input_schema", tool["input_schema"], drop=("cache_control",))
    if tool.get("type") != "function":
        parts.notes.append(f"tools[{index}] ({tool.get('type')!r}) is run by the provider and kept as it is")
    return {key: value for key, value in tool.items() if key != "cache_control"}
