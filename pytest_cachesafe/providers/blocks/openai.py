"""OpenAI bodies as blocks: Chat Completions and Responses.

Explicit breakpoints are `prompt_cache_breakpoint` on content parts (openai SDK 3.57: text, image, audio and file parts;
`ttl` defaults to the request's). Eligible message ends, where implicit breakpoints land: OpenAI Developers, "Prompt
caching", implicit breakpoints, read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_cachesafe.frontends.wire_text import label
from pytest_cachesafe.providers.blocks.block import Level, Marker
from pytest_cachesafe.providers.blocks.builder import Builder, Plan, Section, listed, mapping
from pytest_cachesafe.providers.blocks.canonical import canonical, fields, media, tool_text
from pytest_cachesafe.usage import UsageError

__all__ = ["chat_plans", "eligible_ends", "responses_plans"]

_SYSTEM_ROLES = ("system", "developer")
_PART_KINDS = {
    **dict.fromkeys(("text", "input_text", "output_text", "refusal", "summary_text"), "text"),
    **dict.fromkeys(("image_url", "input_image", "computer_screenshot"), "image"),
    **dict.fromkeys(("input_audio",), "audio"),
    **dict.fromkeys(("file", "input_file"), "document"),
}
_CALLS = frozenset(("function_call", "custom_tool_call", "mcp_call", "computer_call", "shell_call", "apply_patch_call"))
# Made by the API for its own bookkeeping: replays carry them or not, the model reads neither.
_BOOKKEEPING = frozenset(("id", "status"))


def _default_ttl(body: Mapping[str, Any]) -> str:
    ttl = mapping(body.get("prompt_cache_options")).get("ttl")
    return ttl if isinstance(ttl, str) else "30m"


def _tools(body: Mapping[str, Any]) -> Plan:
    name = "functions" if body.get("tools") is None and body.get("functions") is not None else "tools"
    return Plan("tools", listed(body, name), lambda builder, tool, i: _tool(builder, tool, f"{name}[{i}]"), (name,))


def _tool(builder: Builder, tool: Any, path: str) -> None:
    kind = tool.get("type") if isinstance(tool, Mapping) else None
    text = tool_text(tool, path)
    kind = "tool" if kind in (None, "function", "custom") or not isinstance(kind, str) else kind
    builder.block(path, "tools", kind, f"tool {text}", tool, text=text)


def _split(messages: Sequence[Any], role_of: Any) -> int:
    """How many messages at the front are system or developer ones."""
    for i, message in enumerate(messages):
        if role_of(message) not in _SYSTEM_ROLES:
            return i
    return len(messages)


def chat_plans(body: Mapping[str, Any]) -> list[Plan]:
    """Tools, leading system and developer messages, the rest.

    Raises:
        UsageError: the body is no Chat Completions request.
    """
    if not isinstance(body.get("messages"), (list, tuple)):
        raise UsageError("no list of messages in the body: not a request of OpenAI's Chat Completions API")
    messages, ttl = listed(body, "messages"), _default_ttl(body)
    n = _split(messages, lambda m: m.get("role") if isinstance(m, Mapping) else None)

    def expand(level: Level, first: int) -> Any:
        return lambda builder, datum, i: _chat_message(builder, datum, first + i, level, ttl)

    # A shorter or longer lead moves every path behind it.
    return [
        _tools(body),
        Plan("system", messages[:n], expand("system", 0), (ttl,)),
        Plan("messages", messages[n:] if n else messages, expand("messages", n), (ttl, n)),
    ]


def _chat_message(builder: Builder, message: Any, index: int, level: Level, ttl: str) -> None:
    path = f"messages[{index}]"
    if not isinstance(message, Mapping):
        raise UsageError(f"{path} is {type(message).__name__}; a message with role and content is meant")
    role, content, calls = str(message.get("role")), message.get("content"), message.get("tool_calls")
    calls = calls if isinstance(calls, list) else []
    extras: Mapping[str, Any] | None = {
        key: value for key, value in message.items() if key not in ("role", "content", "tool_calls")
    }
    _gateway_marker(builder, message, path)
    start = f"{label(role)} "
    parts: Sequence[Any] = [content] if isinstance(content, str) and (content or not calls) else []
    parts = content if isinstance(content, list) else parts
    for i, part in enumerate(parts):
        where = f"{path}.content[{i}]" if isinstance(content, list) else f"{path}.content"
        _part(builder, part, where, level, start, role, index, ttl, extras)
        start, extras = " ", None
    for i, call in enumerate(calls):
        # The place in a stream of deltas, kept by accumulators, is not part of a call.
        bare = (
            {"type": "function", **{k: v for k, v in call.items() if k != "index"}}
            if isinstance(call, Mapping)
            else call
        )
        where = f"{path}.tool_calls[{i}]"
        builder.block(
            where, level, "tool_use", canonical(f"{start}~", "~.", bare, where, extras), call, role=role, index=index
        )
        start, extras = " ", None
    if extras is not None:
        text = fields(f"{start}:", message, path, frozenset(("role",)))
        builder.block(path, level, "message", text, message, role=role, index=index, markable=False)


def _part(
    builder: Builder,
    part: Any,
    path: str,
    level: Level,
    start: str,
    role: str,
    index: int | None,
    ttl: str,
    extras: Mapping[str, Any] | None = None,
) -> None:
    given = part.get("type") if isinstance(part, Mapping) else "text"
    kind = _PART_KINDS.get(given) if isinstance(given, str) else None
    if kind is None:
        builder.unknown(path, str(given))
    if role == "tool" and kind == "text":
        kind = "tool_result"
    marker = None
    point = part.get("prompt_cache_breakpoint") if isinstance(part, Mapping) else None
    if point is not None:
        own = mapping(point).get("ttl")
        marker = Marker(path, own if isinstance(own, str) else ttl)
    if isinstance(part, Mapping):
        _gateway_marker(builder, part, path)
    builder.block(
        path,
        level,
        kind or str(given),
        canonical(start, ".", part, path, extras),
        part,
        role=role,
        index=index,
        marker=marker,
        # Assistant output is not among the parts that take a breakpoint.
        markable=role != "assistant" and kind is not None,
    )
    if any(what == "image" for what, _ in media(part)):
        builder.trait("images", path)


def _gateway_marker(builder: Builder, holder: Mapping[str, Any], path: str) -> None:
    """Another provider's marker: a gateway may read it, OpenAI does not."""
    if holder.get("cache_control") is not None:
        builder.unknown(path, "cache_control")


def responses_plans(body: Mapping[str, Any]) -> list[Plan]:
    """Tools, instructions, leading system and developer items, the rest.

    Raises:
        UsageError: the body is no Responses request.
    """
    given, ttl = body.get("input"), _default_ttl(body)
    if given is None and body.get("prompt") is None and body.get("instructions") is None:
        raise UsageError("no input in the body: not a request of OpenAI's Responses API")
    if given is not None and not isinstance(given, (str, list, tuple)):
        raise UsageError(f"input is {type(given).__name__}; text or a list of items is meant")
    items: list[Any] = [given] if isinstance(given, str) else list(given or ())
    alone = isinstance(given, str)
    instructions = body.get("instructions")
    n = _split(items, _role)
    lead = [] if instructions in (None, "", []) else [instructions]

    def expand(level: Level, first: int) -> Any:
        return lambda builder, datum, i: _item(builder, datum, first + i, level, ttl, alone)

    return [
        _tools(body),
        Plan("instructions", lead, lambda builder, datum, i: _instructions(builder, datum, ttl), (ttl,)),
        Plan("system", items[:n], expand("system", 0), (ttl, alone)),
        Plan("messages", items[n:], expand("messages", n), (ttl, n, alone)),
    ]


def _instructions(builder: Builder, given: Any, ttl: str) -> None:
    if isinstance(given, list):
        for i, item in enumerate(given):
            _item(builder, item, i, "system", ttl, False, "instructions")
        return
    # Top-level instructions carry no marker.
    text = canonical("system: ", ".", given, "instructions")
    builder.block("instructions", "system", "text", text, given, role="system", markable=False)


def _role(item: Any) -> str:
    """Role of an item; those without one are the model's, results of tools the tool's."""
    if not isinstance(item, Mapping):
        return "user"
    role = item.get("role")
    if isinstance(role, str):
        return role
    return "tool" if str(item.get("type")).endswith("_output") else "assistant"


def _item(builder: Builder, item: Any, index: int, level: Level, ttl: str, alone: bool, holder: str = "input") -> None:
    path = holder if alone else f"{holder}[{index}]"
    role = _role(item)
    start = f"{label(role)} "
    if isinstance(item, str):
        # A text item and a user message with one text part are the same.
        part = {"type": "input_text", "text": item}
        builder.block(path, level, "text", canonical(start, ".", part, path), item, role=role, index=index)
        return
    if not isinstance(item, Mapping):
        raise UsageError(f"{path} is {type(item).__name__}; an item of the Responses API is meant")
    kind = item.get("type", "message")
    kind = kind if isinstance(kind, str) else "message"
    if kind != "message":
        _other_item(builder, item, kind, path, level, role, index, ttl)
        return
    content = item.get("content")
    extras: Mapping[str, Any] | None = {
        key: value for key, value in item.items() if key not in ("role", "type", "content", *_BOOKKEEPING)
    }
    text_kind = "output_text" if role == "assistant" else "input_text"
    parts: list[Any] = [{"type": text_kind, "text": content}] if isinstance(content, str) else []
    parts = content if isinstance(content, list) else parts
    for i, part in enumerate(parts):
        where = f"{path}.content[{i}]" if isinstance(content, list) else f"{path}.content"
        _part(builder, part, where, level, start, role, index, ttl, extras)
        start, extras = " ", None
    if extras is not None:
        text = fields(f"{start}:", item, path, frozenset(("role", "type")))
        builder.block(path, level, "message", text, item, role=role, index=index, markable=False)


def _other_item(
    builder: Builder, item: Mapping[str, Any], kind: str, path: str, level: Level, role: str, index: int, ttl: str
) -> None:
    known = {"reasoning": "thinking", "compaction": "compaction", "item_reference": "item_reference"}
    shown = "tool_use" if kind in _CALLS else "tool_result" if kind.endswith("_output") else known.get(kind, kind)
    says = any(value not in (None, "", []) for key, value in item.items() if key not in (*_BOOKKEEPING, "type"))
    # An item that says nothing else is a reference: its id stands for what the server has stored.
    skipped = _BOOKKEEPING if says else frozenset(("status",))
    value: Mapping[str, Any] = item
    output = item.get("output")
    marker = None
    if kind.endswith("call_output") and isinstance(output, str):
        # An output given as a string is one text block.
        value = {**item, "output": [{"type": "input_text", "text": output}]}
    elif isinstance(output, list):
        for i, part in enumerate(output):
            point = part.get("prompt_cache_breakpoint") if isinstance(part, Mapping) else None
            if point is not None:
                own = mapping(point).get("ttl")
                found = Marker(f"{path}.output[{i}]", own if isinstance(own, str) else ttl)
                if marker is not None:
                    builder.stray(marker)
                marker = found
    text = fields(f"{label(role)} :{label(kind)}", value, path, skipped | {"type", "role"})
    builder.block(path, level, shown, text, item, role=role, index=index, marker=marker)
    if any(what == "image" for what, _ in media(item)):
        builder.trait("images", path)


def eligible_ends(sections: Mapping[str, Section], most: int) -> tuple[list[int], int | None]:
    """(the latest message ends that implicit breakpoints can land on, newest first; end of the developer block).

    Both as block indexes. Eligible are user messages, the last tool response of a group, and the last message of the
    initial developer run; at most `most` of them are looked for.
    """
    offset = sum(len(s.blocks) for name, s in sections.items() if name != "messages")
    lead = sum(len(s.blocks) for name, s in sections.items() if name in ("system", "instructions"))
    developer = offset - 1 if lead else None
    section = sections["messages"]
    found: list[int] = []
    later = ""
    for i in range(len(section.values) - 1, -1, -1):
        role = _role(section.values[i])
        end = offset + section.ends[i] - 1
        if (role == "user" or (role == "tool" and later != "tool")) and end >= offset:
            found.append(end)
            if len(found) == most:
                return found, developer
        later = role
    if developer is not None:
        found.append(developer)
    return found, developer
