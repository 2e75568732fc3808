"""Anthropic Messages bodies as blocks: tools, system, messages; also what Bedrock's InvokeModel takes.

Which types can carry a marker: types with `cache_control` in the parameters of the anthropic SDK 2.14; the limits on
empty text, thinking and sub-blocks: Claude Platform Docs, "Prompt caching", read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_cachesafe.frontends.wire_text import label
from pytest_cachesafe.providers.blocks.block import Level, Marker
from pytest_cachesafe.providers.blocks.builder import THINKING, Builder, Plan, listed
from pytest_cachesafe.providers.blocks.canonical import canonical, fields, media, plainly, tool_text
from pytest_cachesafe.usage import UsageError

__all__ = ["automatic", "is_markable", "plans"]

_KNOWN = frozenset(
    (
        *("text", "image", "document", "search_result", "thinking", "redacted_thinking", "tool_use", "tool_result"),
        *("server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result"),
        *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result"),
        *("container_upload", "tool_reference", "browser_state", "mcp_tool_use", "mcp_tool_result"),
    )
)
# Kinds of which no field holds blocks, if all are texts.
_LEAVES = frozenset(("text", "thinking", "tool_result"))
_TEXTS = {str}
# A message without anything else.
_BARE = {"role", "content"}
# The user's own data: what stands there is no marker, whatever it is called.
_OPAQUE = frozenset(("input", "input_schema", "input_examples"))


def plans(body: Mapping[str, Any]) -> list[Plan]:
    """The three levels, in the provider's order.

    Raises:
        UsageError: the body is no Messages request.
    """
    if not isinstance(body.get("messages"), (list, tuple)):
        raise UsageError("no list of messages in the body: not a request of the Anthropic Messages API")
    system = body.get("system")
    in_list = isinstance(system, list)
    blocks = system if isinstance(system, list) else [] if system in (None, "") else [system]
    return [
        Plan("tools", listed(body, "tools"), _tool),
        Plan("system", blocks, _system_list if in_list else _system_alone, (in_list,)),
        Plan("messages", listed(body, "messages"), _message),
    ]


def automatic(body: Mapping[str, Any]) -> Marker | None:
    """The marker of automatic caching, asked for by the top-level field."""
    return _marker(body.get("cache_control"), "", explicit=False)


def is_markable(kind: str, block: Any) -> bool:
    """Whether a marker may be on a block: not on thinking, and not on empty text."""
    if kind in THINKING:
        return False
    text = block if isinstance(block, str) else block.get("text") if isinstance(block, Mapping) else None
    return not (kind == "text" and text == "")


def _marker(given: Any, path: str, *, explicit: bool = True) -> Marker | None:
    if given is None:
        return None
    ttl = given.get("ttl") if isinstance(given, Mapping) else None
    # A marker without ttl is a 5-minute one ("Prompt caching", section on the 1-hour duration).
    return Marker(path, ttl if isinstance(ttl, str) else "5m", explicit)


def _nested_markers(value: Any, path: str) -> Iterator[Marker]:
    """Markers below a block or message, where the provider does not look for any or refuses them."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in _OPAQUE or key == "cache_control":
                continue
            if type(item) is str:
                continue
            where = f"{path}.{key}" if path else key
            if isinstance(item, Mapping):
                marker = _marker(item.get("cache_control"), where)
                if marker is not None:
                    yield marker
                yield from _nested_markers(item, where)
            elif isinstance(item, list):
                for i, one in enumerate(item):
                    marker = _marker(one.get("cache_control"), f"{where}[{i}]") if isinstance(one, Mapping) else None
                    if marker is not None:
                        yield marker
                    yield from _nested_markers(one, f"{where}[{i}]")


def _tool(builder: Builder, tool: Any, index: int) -> None:
    path = f"tools[{index}]"
    if not isinstance(tool, Mapping):
        builder.block(path, "tools", "tool", f"tool {tool_text(tool, path)}", tool)
        builder.unknown(path, type(tool).__name__)
        return
    kind = tool.get("type")
    kind = "tool" if kind in (None, "custom") or not isinstance(kind, str) else kind
    marker = _marker(tool.get("cache_control"), path)
    if tool.get("defer_loading") is True:
        # Not in the prefix: found by tool search, it is appended to the messages ("Tool use with prompt caching").
        if marker is not None:
            builder.stray(marker)
        return
    text = tool_text(tool, path)
    builder.block(path, "tools", kind, f"tool {text}", tool, marker=marker, text=text)
    for name in ("web_search", "web_fetch"):
        if kind.startswith(f"{name}_"):
            builder.trait(name, path)
    for nested in _nested_markers(tool, path):
        builder.stray(nested)


def _system_list(builder: Builder, block: Any, index: int) -> None:
    _content_block(builder, block, f"system[{index}]", "system", "system: ", "system", None)


def _system_alone(builder: Builder, block: Any, index: int) -> None:
    _content_block(builder, block, "system", "system", "system: ", "system", None)


def _message(builder: Builder, message: Any, index: int) -> None:
    path = f"messages[{index}]"
    if not isinstance(message, Mapping):
        raise UsageError(f"{path} is {type(message).__name__}; a message with role and content is meant")
    role, content = str(message.get("role")), message.get("content")
    extras: dict[str, Any] = {}
    if message.keys() != _BARE:
        extras = {key: value for key, value in message.items() if key not in ("role", "content", "cache_control")}
        misplaced = _marker(message.get("cache_control"), path)
        if misplaced is not None:
            builder.stray(misplaced)
        for nested in _nested_markers(extras, path):
            builder.stray(nested)
    start = f"{label(role)} "
    if isinstance(content, str):
        _content_block(builder, content, f"{path}.content", "messages", start, role, index, extras)
        return
    if not isinstance(content, list) or not content:
        text = fields(f"{start}:", message, path, frozenset(("role",)))
        builder.block(path, "messages", "message", text, message, role=role, index=index, markable=False)
        return
    for i, block in enumerate(content):
        where = f"{path}.content[{i}]"
        # The role is told once, by the first block, so that two messages are never taken for one.
        first = i == 0
        _content_block(
            builder, block, where, "messages", start if first else " ", role, index, extras if first else None
        )


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
    if not extras and type(block) is dict:
        known = plainly(start, ".", block, path)
        if known is not None and known[2]:
            given = block.get("cache_control")
            marker = _marker(given, path) if given is not None else None
            kind, written, text = known
            builder.leaf(path, level, kind, written, text, block, role, index, marker)
            return
    mapped = type(block) is dict or isinstance(block, Mapping)
    given = block.get("type") if mapped else "text" if isinstance(block, str) else None
    kind = given if isinstance(given, str) else type(block).__name__
    if kind not in _KNOWN:
        builder.unknown(path, kind)
    marker = _marker(block.get("cache_control"), path) if mapped else None
    deep = mapped and not (kind in _LEAVES and set(map(type, block.values())) == _TEXTS)
    inner = list(_nested_markers(block, path)) if deep else []
    if marker is None and kind.endswith("tool_result"):
        # The types of the SDK allow a marker on what a result holds; what the API makes of it is not documented. It is
        # taken as one on the result, see `simulate`.
        marker = next((m for m in reversed(inner) if m.path.startswith(f"{path}.content[")), None)
        inner = [m for m in inner if m is not marker]
    builder.block(
        path,
        level,
        kind,
        canonical(start, ".", block, path, extras),
        block,
        role=role,
        index=index,
        marker=marker,
        markable=is_markable(kind, block),
    )
    if deep:
        for nested in inner:
            builder.stray(nested)
        citations = block.get("citations")
        if isinstance(citations, Mapping) and citations.get("enabled") is True:
            builder.trait("citations", path)
        if any(what == "image" for what, _ in media(block)):
            builder.trait("images", path)
