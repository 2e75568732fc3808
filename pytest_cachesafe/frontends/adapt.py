"""Shapes a template needs: found once per template by rendering tiny chats, so that one chat keeps one shape.

Requests come from the wire with tool-call arguments as JSON strings and content as a string or as blocks; templates
differ in which of these they read, and engines convert. A shape is changed only where the template would raise on it,
drop its text, print Python's own notation of it, or encode it twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Shapes", "adapt", "probe"]

Render = Callable[[list[dict[str, Any]], "list[Any] | None"], "str | None"]

_TEXT = "Zq7Sentinel"
# Spacing that no serialiser produces by default, so that printed as is can be told from dumped again.
_ARGUMENTS = {"zq7": "x9"}
_ARGUMENTS_TEXT = '{"zq7":"x9"}'
_TOOL = {
    "type": "function",
    "function": {
        "name": "probe",
        "description": "A tool.",
        "parameters": {"type": "object", "properties": {"zq7": {"type": "string", "description": "A value."}}},
    },
}


@dataclass(frozen=True, slots=True)
class Shapes:
    """What a template needs; None where it takes what it is given."""

    content: Literal["string", "blocks"] | None = None
    arguments: Literal["string", "mapping"] | None = None


def _blocks(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def probe(render: Render) -> Shapes:
    """Find the shapes; `render` gives the text, or None where the template raises."""
    return Shapes(_probe_content(render), _probe_arguments(render))


def _probe_content(render: Render) -> Literal["string", "blocks"] | None:
    for lead in ([], [{"role": "system", "content": "S"}]):
        as_string = render([*lead, {"role": "user", "content": _TEXT}], None)
        blocks_lead = [{**m, "content": _blocks(m["content"])} for m in lead]
        as_blocks = render([*blocks_lead, {"role": "user", "content": _blocks(_TEXT)}], None)
        string_ok = as_string is not None and _TEXT in as_string
        # Python's notation of a block, or of its keys, around the text: printed, but not as any engine sends it.
        blocks_ok = as_blocks is not None and _TEXT in as_blocks and f"'{_TEXT}'" not in as_blocks
        blocks_ok = blocks_ok and f'"{_TEXT}"' not in (as_blocks or "")
        if string_ok != blocks_ok:
            return "string" if string_ok else "blocks"
        if string_ok:
            return None
    return None


def _tool_chat(arguments: Any, content: Any, call_id: str, results: bool) -> list[dict[str, Any]]:
    call = {"id": call_id, "type": "function", "function": {"name": "probe", "arguments": arguments}}
    chat: list[dict[str, Any]] = [{"role": "user", "content": "Q"}]
    chat.append({"role": "assistant", "content": content, "tool_calls": [call]})
    if results:
        chat.append({"role": "tool", "tool_call_id": call_id, "name": "probe", "content": "R"})
    return chat


def _probe_arguments(render: Render) -> Literal["string", "mapping"] | None:
    # Templates refuse for different reasons: call ids of nine characters, content beside calls, a missing result.
    for content, call_id, results in (("", "abcdef123", True), ("A", "abcdef123", True), ("", "abcdef123", False)):
        as_string = render(_tool_chat(_ARGUMENTS_TEXT, content, call_id, results), [_TOOL])
        if as_string is not None and _ARGUMENTS_TEXT in as_string:
            return "string" if render(_tool_chat(_ARGUMENTS, content, call_id, results), [_TOOL]) is None else None
        as_mapping = render(_tool_chat(_ARGUMENTS, content, call_id, results), [_TOOL])
        if as_mapping is not None and "x9" in as_mapping:
            return "mapping"
    return None


def adapt(
    messages: Sequence[dict[str, Any]], shapes: Shapes, where: Callable[[int], str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Messages in the shapes the template needs, and what was changed in words. The input is not modified."""
    out: list[dict[str, Any]] = []
    parsed: list[str] = []
    dumped: list[str] = []
    reshaped: list[str] = []
    for index, message in enumerate(messages):
        content = message.get("content")
        if shapes.content == "blocks" and isinstance(content, str):
            message = {**message, "content": _blocks(content)}
            reshaped.append(where(index))
        elif shapes.content == "string" and isinstance(content, (list, tuple)):
            texts = [b.get("text") for b in content if isinstance(b, dict) and set(b) <= {"type", "text"}]
            if len(texts) == len(content) and all(isinstance(t, str) for t in texts):
                # Engines join the blocks of a message with line feeds for a template that reads strings.
                message = {**message, "content": "\n".join(t for t in texts if t is not None)}
                reshaped.append(where(index))
        calls = message.get("tool_calls")
        if shapes.arguments is not None and isinstance(calls, (list, tuple)):
            new_calls = [_adapt_call(c, shapes.arguments) for c in calls]
            if any(n is not c for n, c in zip(new_calls, calls, strict=True)):
                (parsed if shapes.arguments == "mapping" else dumped).append(where(index))
                message = {**message, "tool_calls": new_calls}
        out.append(message)
    notes = []
    if parsed:
        notes.append(f"tool-call arguments parsed from JSON strings, as the template needs: {_list(parsed)}")
    if dumped:
        notes.append(f"tool-call arguments written as JSON strings, as the template needs: {_list(dumped)}")
    if reshaped and shapes.content == "blocks":
        notes.append(f"content given as text blocks, as the template needs: {_list(reshaped)}")
    elif reshaped:
        notes.append(f"content blocks joined to one string, as the template needs: {_list(reshaped)}")
    return out, notes


def _list(places: list[str]) -> str:
    shown = ", ".join(places[:3])
    return shown if len(places) <= 3 else f"{shown} and {len(places) - 3} more"


def _adapt_call(call: Any, need: str) -> Any:
    if not isinstance(call, dict):
        return call
    function = call.get("function")
    holder: dict[str, Any] = function if isinstance(function, dict) else call
    arguments = holder.get("arguments")
    if need == "mapping":
        if not isinstance(arguments, str):
            return call
        try:
            value: Any = json.loads(arguments) if arguments.strip() else {}
        except ValueError:
            return call
        if not isinstance(value, dict):
            return call
    elif isinstance(arguments, dict):
        value = json.dumps(arguments, ensure_ascii=False)
    else:
        return call
    new = {**holder, "arguments": value}
    return {**call, "function": new} if holder is not call else new
