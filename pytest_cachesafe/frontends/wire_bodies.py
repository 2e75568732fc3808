"""Provider order, one function per wire format: model, settings, tools, system, messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_cachesafe.frontends.wire_text import Writer, compact, is_marker, label, ordered
from pytest_cachesafe.messages.gemini import CAMEL, config_of, contents_of, declarations, parts_of
from pytest_cachesafe.prompt import Chat

__all__ = ["lay_out", "rendered_settings"]

# Fields of a request that providers render into the prompt, so that a change restarts the prefix (OpenAI: "Prompt
# caching", what breaks the prefix; Anthropic: thinking and effort, which its docs advise to treat as starting over).
# None: the whole value; else the keys of it that count.
_SETTINGS: dict[str, dict[str, tuple[str, ...] | None]] = {
    "anthropic": {"thinking": None, "output_config": ("effort", "format"), "speed": None},
    "openai-chat": {"response_format": None, "verbosity": None, "parallel_tool_calls": None},
    "openai-responses": {"reasoning": ("effort",), "text": ("format", "verbosity"), "parallel_tool_calls": None},
    "gemini": {"cachedContent": None, "cached_content": None},
    "bedrock": {"additionalModelRequestFields": ("thinking", "reasoning_config", "output_config")},
}
_TOOL_ENVELOPES = frozenset(("function", "toolSpec"))
_SYSTEM_ROLES = ("system", "developer")
# Of items of the Responses API (openai 3.57, response_input_param: optional on the way in, set on the way out).
_BOOKKEEPING = frozenset(("id", "status"))
# Keys of ours in a body; they reach the prompt through `Chat.settings`.
_KEYWORDS = ("chat_template_kwargs", "template_kwargs", "kwargs")


def lay_out(chat: Chat, writer: Writer) -> None:
    """Write a request in its provider's order.

    Raises:
        UsageError: a value has no JSON form.
    """
    body = chat.body
    layout = _LAYOUTS.get(chat.wire) if body is not None else None
    if chat.model is not None:
        writer.part, writer.index, writer.role = "template", None, None
        writer.entry("model", chat.model, "modelId" if body is not None and "modelId" in body else "model")
    writer.part = "template"
    for name, (value, path) in rendered_settings(chat).items():
        if name != "tool_choice":
            _setting(name, value, path, writer)
    if body is None or layout is None:
        _tools(chat.tools, "tools", writer)
        _chat_messages(chat.messages, writer)
    else:
        layout(body, writer)


def rendered_settings(chat: Chat) -> dict[str, tuple[Any, str]]:
    """name -> (value, path in the body) of every setting that reaches the prompt.

    They are written in front of the tools, but for Anthropic's tool choice, which stands in front of the messages.
    """
    body: Mapping[str, Any] = chat.body or {}
    found: dict[str, tuple[Any, str]] = {}
    for name, keys in _SETTINGS.get(chat.wire, {}).items():
        value = body.get(name)
        if keys is not None and isinstance(value, Mapping):
            value = {key: value[key] for key in keys if value.get(key) is not None} or None
        if value is not None:
            found[name] = (value, name)
    for name in sorted(chat.settings):
        holder = next((k for k in _KEYWORDS if isinstance(body.get(k), Mapping) and name in body[k]), None)
        found[name] = (chat.settings[name], f"{holder}.{name}" if holder else name)
    choice, path = _choice(body, chat.wire)
    if choice is not None:
        found["tool_choice"] = (choice, path)
    return found


def _setting(name: str, value: Any, path: str, writer: Writer) -> None:
    writer.entry(f"setting:{label(name)}", compact(_sorted(value), path), path)


def _sorted(value: Any) -> Any:
    """Settings are read by name at every level but that of a schema, which the model sees in its order."""
    if isinstance(value, Mapping):
        return {key: value[key] if key == "schema" else _sorted(value[key]) for key in sorted(value, key=str)}
    return value


def _tools(tools: Any, path: str, writer: Writer) -> None:
    writer.part, writer.index, writer.role = "tools", None, None
    if isinstance(tools, Sequence) and not isinstance(tools, (str, bytes)):
        for i, tool in enumerate(tools):
            if not is_marker(tool):
                _tool(tool, f"{path}[{i}]", writer)


def _tool(tool: Any, path: str, writer: Writer) -> None:
    if isinstance(tool, Mapping):
        writer.entry("tool", compact(_tool_envelope(tool), path), path)
    elif callable(tool):
        # What a schema is made of; the schema itself takes a front end that knows the engine.
        writer.entry("tool:function", f"{_signature(tool)}\n{inspect.getdoc(tool) or ''}", path)
    else:
        writer.entry("tool", compact(tool, path), path)


def _signature(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    try:
        return f"{name}{inspect.signature(function)}"
    except (TypeError, ValueError):
        return str(name)


def _tool_envelope(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Name and description first; what is inside the schema keeps its order, for the model reads it in that order."""
    return {
        key: _tool_envelope(value) if key in _TOOL_ENVELOPES and isinstance(value, Mapping) else value
        for key, value in ordered(tool)
    }


def _system(blocks: Any, path: str, writer: Writer, kind: str = "text") -> None:
    """A top-level system text; a string and one text block are the same."""
    if blocks is None or blocks == "" or blocks == []:
        return
    writer.part, writer.index, writer.role = "system", None, "system"
    if isinstance(blocks, str):
        writer.block("system: ", ".", blocks, path, kind)
        return
    for i, block in enumerate(blocks if isinstance(blocks, list) else [blocks]):
        if not is_marker(block):
            where = f"{path}[{i}]" if isinstance(blocks, list) else path
            writer.block("system: ", ".", block, where)


def _choice(body: Mapping[str, Any], wire: str) -> tuple[Any, str]:
    """(tool choice, path); None for the default. Elsewhere than at Anthropic a choice leaves the prompt alone."""
    if wire == "anthropic":
        value, path = body.get("tool_choice"), "tool_choice"
    elif wire == "bedrock" and isinstance(body.get("toolConfig"), Mapping):
        value, path = body["toolConfig"].get("toolChoice"), "toolConfig.toolChoice"
    else:
        return None, ""
    return (None if value in ({"type": "auto"}, {"auto": {}}) else value), path


def _write_choice(body: Mapping[str, Any], wire: str, writer: Writer) -> None:
    """Anthropic renders the tool choice behind the system text: a change voids the messages only."""
    value, path = _choice(body, wire)
    if value is not None:
        writer.part, writer.index, writer.role = "template", None, None
        _setting("tool_choice", value, path, writer)


def _chat_messages(messages: Sequence[Any], writer: Writer) -> None:
    leading = True
    for i, message in enumerate(messages):
        role = str(message.get("role"))
        leading = leading and role in _SYSTEM_ROLES
        writer.part = "system" if leading else "message"
        writer.index, writer.role = i, role
        writer.remembered(message, "chat", _chat_message(message, role, f"messages[{i}]"))


def _chat_message(message: Mapping[str, Any], role: str, path: str) -> Callable[[Writer], None]:
    def write(writer: Writer) -> None:
        content = message.get("content")
        if content == "" and message.get("tool_calls"):
            # Streams that are put together begin with empty text; the same answer in one piece has none.
            content = None
        writer.message(role, content, f"{path}.content")
        for key, value in ordered(message):
            if key in ("role", "content"):
                continue
            if key == "tool_calls" and isinstance(value, list) and all(isinstance(c, Mapping) for c in value):
                for i, call in enumerate(value):
                    # The place in a stream of deltas, kept by accumulators, is not part of a call.
                    call = {k: v for k, v in call.items() if k != "index"}
                    writer.block("~call ", "~.", {"type": "function", **call}, f"{path}.tool_calls[{i}]")
            else:
                writer.field("~", key, value, f"{path}.{key}")

    return write


def _anthropic(body: Mapping[str, Any], writer: Writer) -> None:
    _tools(body.get("tools"), "tools", writer)
    _system(body.get("system"), "system", writer)
    _write_choice(body, "anthropic", writer)
    _block_messages(body["messages"], writer)


def _bedrock(body: Mapping[str, Any], writer: Writer) -> None:
    config = body.get("toolConfig")
    config = config if isinstance(config, Mapping) else {}
    # Tools given beside the body arrive under the general name.
    if config.get("tools") is not None:
        _tools(config["tools"], "toolConfig.tools", writer)
    else:
        _tools(body.get("tools"), "tools", writer)
    _system(body.get("system"), "system", writer)
    _write_choice(body, "bedrock", writer)
    _block_messages(body["messages"], writer)


def _block_messages(messages: Sequence[Any], writer: Writer) -> None:
    for i, message in enumerate(messages):
        role = str(message.get("role"))
        writer.part, writer.index, writer.role = "message", i, role
        writer.remembered(message, "blocks", _chat_message(message, role, f"messages[{i}]"))


def _openai_chat(body: Mapping[str, Any], writer: Writer) -> None:
    key = "functions" if body.get("tools") is None and body.get("functions") is not None else "tools"
    _tools(body.get(key), key, writer)
    _chat_messages(body["messages"], writer)


def _responses(body: Mapping[str, Any], writer: Writer) -> None:
    _tools(body.get("tools"), "tools", writer)
    _system(body.get("instructions"), "instructions", writer, "input_text")
    given = body["input"]
    leading = True
    for i, item in enumerate([given] if isinstance(given, str) else given):
        path = "input" if isinstance(given, str) else f"input[{i}]"
        role = "user" if isinstance(item, str) else _item_role(item)
        leading = leading and role in _SYSTEM_ROLES
        writer.part, writer.index, writer.role = "system" if leading else "message", i, role
        if isinstance(item, str):
            writer.message("user", item, path, "input_text")
        else:
            writer.remembered(item, "item", _item(item, path))


def _item_role(item: Mapping[str, Any]) -> str:
    role = item.get("role")
    if isinstance(role, str):
        return role
    return "tool" if str(item.get("type")).endswith("_output") else "assistant"


def _envelope(item: Mapping[str, Any]) -> frozenset[str]:
    """Fields of an item that the API makes for its own bookkeeping: replays carry them or not, the model reads neither.

    An item that says nothing else is a reference: its id stands for what the server has stored.
    """
    says = any(v not in (None, "", []) for k, v in item.items() if k not in _BOOKKEEPING and k not in ("type", "role"))
    # A function call is answered by its call_id, and by its id where it has no other.
    reference = not says or (item.get("type") in ("function_call", "custom_tool_call") and item.get("call_id") is None)
    return frozenset(("status",)) if reference else _BOOKKEEPING


def _item(item: Mapping[str, Any], path: str) -> Callable[[Writer], None]:
    def write(writer: Writer) -> None:
        kind = item.get("type", "message")
        if kind == "message":
            role = _item_role(item)
            text = "output_text" if role == "assistant" else "input_text"
            writer.message(role, item.get("content"), f"{path}.content", text)
        else:
            writer.entry(f":{label(str(kind))}")
        skipped = _envelope(item)
        for key, value in ordered(item):
            if key in ("role", "type") or key in skipped or (key == "content" and kind == "message"):
                continue
            if key == "output" and isinstance(value, str) and str(kind).endswith("call_output"):
                # An output given as a string is one text block.
                writer.entry("~output[")
                writer.block("~ ", "~.", value, f"{path}.output", "input_text")
            else:
                writer.field("~", key, value, f"{path}.{key}")

    return write


def _gemini(body: Mapping[str, Any], writer: Writer) -> None:
    writer.aliases = CAMEL
    path, tools = config_of(body, "tools")
    writer.part, writer.index, writer.role = "tools", None, None
    for where, tool, _ in declarations(tools if isinstance(tools, list) else [], path):
        _tool(tool, where, writer)
    path, system = config_of(body, "systemInstruction", "system_instruction")
    if isinstance(system, Mapping) and "parts" in system:
        path, system = f"{path}.parts", parts_of(system["parts"], f"{path}.parts")
    if isinstance(system, list):
        system = [_said(part) for part in system]
    elif isinstance(system, Mapping):
        system = _said(system)
    _system(system, path, writer)
    for i, (where, role, parts, nested) in enumerate(contents_of(body)):
        writer.part, writer.index, writer.role = "message", i, role
        if nested:
            writer.message(role, [_said(part) for part in parts], f"{where}.parts")
        else:
            writer.block(f"{label(role)} ", ".", _said(parts[0]), where)


def _said(part: Any) -> Any:
    """`thought: false` says nothing."""
    if not isinstance(part, Mapping):
        return part
    return {key: value for key, value in part.items() if value is not False}


_LAYOUTS: dict[str, Callable[[Mapping[str, Any], Writer], None]] = {
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "openai-chat": _openai_chat,
    "openai-responses": _responses,
    "gemini": _gemini,
}
