"""Amazon Bedrock Converse bodies: content blocks named by their key, `cachePoint` blocks between them."""

from __future__ import annotations

import json
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
from pytest_cachesafe.messages.plain import kind_of
from pytest_cachesafe.prompt import UsageError

__all__ = ["convert", "is_marker"]


def is_marker(block: Any) -> bool:
    """Whether a block is a cache point and nothing else."""
    return isinstance(block, dict) and set(block) == {"cachePoint"}


def convert(body: Mapping[str, Any]) -> Parts:
    """System first, then turns; tool results become tool messages; cache points are left out.

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
        if role == "assistant" and isinstance(content, list):
            parts.add(_assistant(content, path, parts, names), path)
        elif role == "user" and isinstance(content, list):
            _user(content, path, parts, names)
        else:
            parts.add({"role": role, "content": _content(content, path, parts)}, path)
    config = body.get("toolConfig")
    tools = config.get("tools") if isinstance(config, dict) else None
    if tools is not None:
        check_tools(tools, "toolConfig.tools")
        parts.tools = [_tool(tool) for tool in tools if not is_marker(tool)]
    return parts


def _block(block: Any, path: str, parts: Parts) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    if "image" in block:
        return {"type": "image", **block}
    parts.notes.append(f"block {next(iter(block), 'without content')!r} at {path} kept as it is")
    return dict(block)


def _content(content: Any, path: str, parts: Parts) -> Any:
    if not isinstance(content, list):
        return content
    return joined([_block(b, f"{path}[{i}]", parts) for i, b in enumerate(content) if not is_marker(b)])


def _assistant(content: list[Any], path: str, parts: Parts, names: dict[str, str]) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    reasoning: str | None = None
    for i, block in enumerate(content):
        where = f"{path}.content[{i}]"
        if is_marker(block):
            continue
        use = block.get("toolUse") if isinstance(block, dict) else None
        thought = block.get("reasoningContent") if isinstance(block, dict) else None
        if use is not None:
            if not isinstance(use, dict):
                raise UsageError(f"{where}.toolUse is {kind_of(use)}; a dict with name and input is meant")
            name = called_name(use, f"{where}.toolUse")
            names[str(use.get("toolUseId"))] = name
            function = {"name": name, "arguments": use.get("input", {})}
            calls.append({"id": use.get("toolUseId"), "type": "function", "function": function})
        elif isinstance(thought, dict):
            text = thought.get("reasoningText")
            if isinstance(text, dict):
                reasoning = add_text(reasoning, str(text.get("text", "")))
            else:
                parts.notes.append(f"redacted reasoning at {where} left out: only the provider can read it")
        else:
            blocks.append(_block(block, where, parts))
    message: dict[str, Any] = {"role": "assistant", "content": joined(blocks)}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return message


def _user(content: list[Any], path: str, parts: Parts, names: dict[str, str]) -> None:
    rest: list[dict[str, Any]] = []
    first = ""
    for i, block in enumerate(content):
        where = f"{path}.content[{i}]"
        if is_marker(block):
            continue
        result = block.get("toolResult") if isinstance(block, dict) else None
        if not isinstance(result, dict):
            rest.append(_block(block, where, parts))
            first = first or where
            continue
        if rest:
            parts.notes.append(f"the tool result at {where} stands behind other content and is rendered before it")
        call_id = result.get("toolUseId")
        message: dict[str, Any] = {"role": "tool", "tool_call_id": call_id}
        if str(call_id) in names:
            message["name"] = names[str(call_id)]
        message["content"] = _result(result.get("content"), f"{where}.toolResult.content", parts)
        if result.get("status") == "error":
            parts.notes.append(f"status of {where}.toolResult has no place in a chat template")
        parts.add(message, where)
    if rest or all(is_marker(block) for block in content):
        lone = len(rest) == 1 and len(content) > 1
        parts.add({"role": "user", "content": joined(rest)}, first if lone else path)


def _result(content: Any, path: str, parts: Parts) -> Any:
    check_content(content, path)
    if not isinstance(content, list):
        return content or ""
    blocks: list[dict[str, Any]] = []
    for i, block in enumerate(content):
        if isinstance(block, dict) and "json" in block:
            text = json.dumps(block["json"], ensure_ascii=False, default=repr)
            blocks.append({"type": "text", "text": text})
        elif not is_marker(block):
            blocks.append(_block(block, f"{path}[{i}]", parts))
    return joined(blocks)


def _tool(tool: Any) -> Any:
    spec = tool.get("toolSpec") if isinstance(tool, dict) else None
    if not isinstance(spec, dict):
        return tool
    schema = spec.get("inputSchema")
    return function_tool(spec, "inputSchema", schema.get("json", schema) if isinstance(schema, dict) else schema)
