"""OpenAI Responses bodies: `instructions`, and `input` items of which several make one template message."""

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
    joined,
    role_of,
)
from pytest_cachesafe.messages.plain import kind_of
from pytest_cachesafe.prompt import UsageError

__all__ = ["convert", "served_history"]

_TEXT_KINDS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")


def served_history(body: Mapping[str, Any]) -> str | None:
    """The field of a body by which the provider puts earlier items in front of those sent; None without one.

    Source: OpenAI, "Conversation state": `previous_response_id`, and `conversation` (an id, or an object with one).
    """
    return next((key for key in ("previous_response_id", "conversation") if body.get(key)), None)


def convert(body: Mapping[str, Any]) -> Parts:
    """Reasoning, text and calls that follow each other become one assistant message, outputs tool messages.

    Raises:
        UsageError: an item without role or type, or content of a wrong type.
    """
    parts = Parts()
    instructions = body.get("instructions")
    if instructions is not None and not isinstance(instructions, str):
        raise UsageError(f"instructions is {kind_of(instructions)}; a string is meant")
    if instructions:
        parts.add({"role": "system", "content": instructions}, "instructions")
    given = body.get("input")
    if isinstance(given, str):
        if not given:
            raise UsageError("empty chat: input is an empty string")
        parts.add({"role": "user", "content": given}, "input")
    elif isinstance(given, list):
        if not given:
            raise UsageError("empty chat: input has no items")
        _Items(parts).convert(given)
    else:
        raise UsageError(f"input is {kind_of(given)}; a string or a list of items is meant")
    held = served_history(body)
    if held is not None:
        parts.notes.append(f"{held}: the server adds the history; a request that holds new items only is not compared")
    tools = body.get("tools")
    if tools is not None:
        check_tools(tools, "tools")
        parts.tools = [_tool(tool, i, parts) for i, tool in enumerate(tools)]
    return parts


def _tool(tool: Any, index: int, parts: Parts) -> Any:
    if not isinstance(tool, dict) or "function" in tool:
        return tool
    if tool.get("type") == "function":
        return function_tool(tool, "parameters", tool.get("parameters"))
    parts.notes.append(f"tools[{index}] ({tool.get('type')!r}) is run by the provider and kept as it is")
    return tool


class _Items:
    """Gathers the items of one assistant turn, and remembers which call an output answers."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.turn: dict[str, Any] | None = None
        self.names: dict[str, str] = {}

    def convert(self, items: list[Any]) -> None:
        for index, item in enumerate(items):
            path = f"input[{index}]"
            if isinstance(item, str):
                item = {"role": "user", "content": item}
            if not isinstance(item, dict):
                raise UsageError(f"{path} is {kind_of(item)}; an input item (a dict) is meant")
            kind = item.get("type", "message")
            if kind == "message":
                self._message(item, path)
            elif kind == "reasoning":
                self._reasoning(item, path)
            elif kind in ("function_call", "custom_tool_call"):
                self._call(item, path)
            elif kind in ("function_call_output", "custom_tool_call_output"):
                self._output(item, path)
            else:
                self.parts.notes.append(f"item type {kind!r} at {path} kept as it is")
                self._assistant(path)["content"] = _append(self._assistant(path)["content"], dict(item))

    def _assistant(self, path: str) -> dict[str, Any]:
        if self.turn is None:
            self.turn = {"role": "assistant", "content": ""}
            self.parts.add(self.turn, path)
        return self.turn

    def _message(self, item: dict[str, Any], path: str) -> None:
        role = role_of(item, path)
        content = item.get("content")
        check_content(content, f"{path}.content")
        if isinstance(content, list):
            content = joined([_block(b, f"{path}.content[{i}]", self.parts) for i, b in enumerate(content)])
        if role != "assistant":
            self.turn = None
            self.parts.add({"role": role, "content": content}, path)
            return
        # Text behind text or behind a call is a message of its own; behind reasoning it belongs to that turn.
        if self.turn is not None and (self.turn["content"] or "tool_calls" in self.turn):
            self.turn = None
        self._assistant(path)["content"] = "" if content is None else content

    def _reasoning(self, item: dict[str, Any], path: str) -> None:
        if self.turn is not None and (self.turn["content"] or "tool_calls" in self.turn):
            self.turn = None
        texts = [
            str(block.get("text", ""))
            for key in ("content", "summary")
            for block in (item.get(key) or ())
            if isinstance(block, dict)
        ]
        if not texts:
            self.parts.notes.append(f"encrypted reasoning at {path} left out: only the provider can read it")
            return
        turn = self._assistant(path)
        for text in texts:
            turn["reasoning_content"] = add_text(turn.get("reasoning_content"), text)

    def _call(self, item: dict[str, Any], path: str) -> None:
        call_id = item.get("call_id", item.get("id"))
        name = called_name(item, path)
        self.names[str(call_id)] = name
        function = {"name": name, "arguments": item.get("arguments", item.get("input", ""))}
        calls = self._assistant(path).setdefault("tool_calls", [])
        calls.append({"id": call_id, "type": "function", "function": function})

    def _output(self, item: dict[str, Any], path: str) -> None:
        self.turn = None
        call_id = item.get("call_id")
        output = item.get("output")
        check_content(output, f"{path}.output")
        if isinstance(output, list):
            output = joined([_block(b, f"{path}.output[{i}]", self.parts) for i, b in enumerate(output)])
        message: dict[str, Any] = {"role": "tool", "tool_call_id": call_id}
        if str(call_id) in self.names:
            message["name"] = self.names[str(call_id)]
        message["content"] = "" if output is None else output
        self.parts.add(message, path)


def _append(content: Any, block: dict[str, Any]) -> list[Any]:
    if isinstance(content, list):
        return [*content, block]
    return [*([{"type": "text", "text": content}] if content else []), block]


def _block(block: Any, path: str, parts: Parts) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    kind = block.get("type")
    if kind in _TEXT_KINDS and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    if kind == "refusal":
        return {"type": "text", "text": str(block.get("refusal", ""))}
    if kind == "input_image":
        return {**block, "type": "image"}
    parts.notes.append(f"block type {kind!r} at {path} kept as it is")
    return dict(block)
