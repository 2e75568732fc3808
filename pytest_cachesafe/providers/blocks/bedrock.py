"""Bedrock Converse bodies as blocks: a `cachePoint` entry marks the block before it in its own list.

Sources: Amazon Bedrock user guide, "Prompt caching"; botocore's service model of bedrock-runtime (CachePointBlock:
ttl 5m or 1h), read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.frontends.wire_text import is_marker, label
from pytest_cachesafe.providers.blocks.block import Level, Marker
from pytest_cachesafe.providers.blocks.builder import Builder, Plan, listed, mapping
from pytest_cachesafe.providers.blocks.canonical import canonical, fields, media, tool_text
from pytest_cachesafe.usage import UsageError

__all__ = ["plans"]

_KINDS = {
    **{name: name for name in ("text", "image", "document", "video", "audio", "guardContent", "citationsContent")},
    "toolUse": "tool_use",
    "toolResult": "tool_result",
    "reasoningContent": "thinking",
    "searchResult": "search_result",
    "toolAddition": "toolAddition",
    "toolRemoval": "toolRemoval",
}


def plans(body: Mapping[str, Any]) -> list[Plan]:
    """The three levels, in the provider's order.

    Raises:
        UsageError: the body is no Converse request.
    """
    if not isinstance(body.get("messages"), (list, tuple)):
        raise UsageError("no list of messages in the body: not a request of Bedrock's Converse API")
    tools = listed(mapping(body.get("toolConfig")), "tools", "toolConfig.tools")
    return [
        Plan("tools", _grouped(tools, "toolConfig.tools"), _tool),
        Plan("system", _grouped(listed(body, "system"), "system"), _system),
        Plan("messages", listed(body, "messages"), _message),
    ]


def _grouped(entries: list[Any], path: str) -> list[tuple[str, Any, tuple[Any, ...]]]:
    """(path, entry, the cache points behind it) of a list in which cache points are entries too."""
    found: list[tuple[str, Any, tuple[Any, ...]]] = []
    for i, entry in enumerate(entries):
        where = f"{path}[{i}]"
        if not is_marker(entry):
            found.append((where, entry, ()))
        elif found:
            before, datum, points = found[-1]
            found[-1] = (before, datum, (*points, (where, entry)))
        else:
            # Marks nothing.
            found.append((where, None, ((where, entry),)))
    return found


def _point(entry: Mapping[str, Any], path: str) -> Marker:
    given = entry.get("cachePoint", entry.get("cache_point"))
    ttl = given.get("ttl") if isinstance(given, Mapping) else None
    return Marker(path, ttl if isinstance(ttl, str) else "5m")


def _points(builder: Builder, points: tuple[Any, ...]) -> None:
    for path, entry in points:
        builder.mark(_point(entry, path))


def _tool(builder: Builder, datum: Any, index: int) -> None:
    path, tool, points = datum
    if tool is not None:
        text = tool_text(tool, path)
        kind = "tool" if isinstance(tool, Mapping) and "toolSpec" in tool else "systemTool"
        builder.block(path, "tools", kind, f"tool {text}", tool, text=text)
    _points(builder, points)


def _system(builder: Builder, datum: Any, index: int) -> None:
    path, block, points = datum
    if block is not None:
        _content_block(builder, block, path, "system", "system: ", "system", None)
    _points(builder, points)


def _message(builder: Builder, message: Any, index: int) -> None:
    path = f"messages[{index}]"
    if not isinstance(message, Mapping):
        raise UsageError(f"{path} is {type(message).__name__}; a message with role and content is meant")
    role, content = str(message.get("role")), message.get("content")
    extras = {key: value for key, value in message.items() if key not in ("role", "content")}
    start, first = f"{label(role)} ", True
    for i, block in enumerate(content if isinstance(content, list) else []):
        where = f"{path}.content[{i}]"
        if is_marker(block):
            builder.mark(_point(block, where))
            continue
        _content_block(
            builder, block, where, "messages", start if first else " ", role, index, extras if first else None
        )
        first = False
    if first:
        text = fields(f"{start}:", {} if isinstance(content, list) else message, path, frozenset(("role",)))
        builder.block(path, "messages", "message", text, message, role=role, index=index, markable=False, text="")


def _content_block(
    builder: Builder,
    block: Any,
    path: str,
    level: Level,
    start: str,
    role: str,
    index: int | None,
    extras: Mapping[str, Any] | None = None,
) -> None:
    name = next((key for key in _KINDS if isinstance(block, Mapping) and key in block), None)
    kind = _KINDS[name] if name is not None else next(iter(block), "?") if isinstance(block, Mapping) else "?"
    if name is None:
        builder.unknown(path, str(kind))
    empty = kind == "text" and isinstance(block, Mapping) and block.get("text") == ""
    builder.block(
        path,
        level,
        str(kind),
        canonical(start, ".", block, path, extras),
        block,
        role=role,
        index=index,
        markable=kind != "thinking" and not empty,
    )
    if isinstance(block, Mapping):
        citations = mapping(block.get("document")).get("citations", mapping(block.get("searchResult")).get("citations"))
        if mapping(citations).get("enabled") is True:
            builder.trait("citations", path)
        if any(what == "image" for what, _ in media(block)):
            builder.trait("images", path)
