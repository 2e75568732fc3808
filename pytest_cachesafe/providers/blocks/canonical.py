"""What of a block counts for the cache: canonical text, its digest, and the plain text that tokens are counted of.

The canonical text is the wire front end's, block by block, so that a layout and a comparison of prompts can never
disagree on what is equal: markers, the order of a block's own fields and a lone text written as a string do not count;
the order inside a schema, tool input or other JSON value does, for the model reads it in that order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from pytest_cachesafe.frontends.wire_text import MARKERS, Writer, compact, entry, is_marker, ordered
from pytest_cachesafe.providers.blocks.block import Block

__all__ = ["canonical", "digest", "fields", "media", "order_free_key", "plain_text", "plainly", "tool_text"]

_TOOL_ENVELOPES = frozenset(("function", "toolSpec"))
_TEXT_KEYS = ("text", "thinking")
# Under which name a block of JSON values stands in Bedrock's and Gemini's shapes.
_WRAPPED = ("toolUse", "toolResult", "functionCall", "functionResponse", "searchResult", "citationsContent")
_MEDIA = frozenset(("image", "image_url", "input_image", "video", "audio", "input_audio", "computer_screenshot"))
_FILES = frozenset(("document", "file", "input_file"))
_DIGEST = 16
_TEXTUAL = frozenset(("text", "input_text", "output_text", "thinking", "redacted_thinking", "tool_use"))


def digest(text: str) -> bytes:
    """Digest of canonical text: 128 bits, so that equal digests mean equal text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


def canonical(start: str, prefix: str, block: Any, path: str, extras: Mapping[str, Any] | None = None) -> str:
    """Canonical text of one block, with fields of its message that have no block of their own (`extras`).

    Raises:
        UsageError: a value has no JSON form.
    """
    if not extras and type(block) is dict:
        known = plainly(start, prefix, block, path)
        if known is not None:
            return known[1]
    writer = Writer()
    if isinstance(block, (str, Mapping)):
        writer.block(start, prefix, block, path)
    else:
        writer.entry(f"{start}=", compact(block, path), path)
    for key, value in ordered(extras or {}):
        writer.field("~", key, value, f"{path}.{key}")
    return writer.text()


def plainly(start: str, prefix: str, block: Mapping[str, Any], path: str) -> tuple[str, str, str] | None:
    """(kind, canonical text, plain text) of the blocks that agents' requests are of; None for any other.

    What `Writer.block` and `plain_text` would write, at a fraction of the time.
    """
    fields = len(block) - ("cache_control" in block)
    kind = block.get("type")
    if kind == "text" and fields == 2:
        text = block.get("text")
        return ("text", entry(f"{start}text", text), text) if type(text) is str else None
    if kind == "tool_result" and fields == 3:
        named, content = block.get("tool_use_id"), block.get("content")
        if type(named) is str and type(content) is str:
            inside = entry(f"{prefix}content[") + entry(f"{prefix} text", content)
            return kind, entry(f"{start}tool_result") + entry(f"{prefix}tool_use_id", named) + inside, content
    if kind == "tool_use" and fields == 4:
        made, name, given = block.get("id"), block.get("name"), block.get("input")
        if type(made) is str and type(name) is str and type(given) is dict:
            written = compact(given, f"{path}.input")
            inside = entry(f"{prefix}name", name) + entry(f"{prefix}input=", written)
            return kind, entry(f"{start}tool_use") + entry(f"{prefix}id", made) + inside, f"{name}\n{written}"
    return None


def fields(start: str, message: Mapping[str, Any], path: str, skip: frozenset[str]) -> str:
    """Canonical text of a message or item without content blocks, field by field."""
    writer = Writer()
    writer.entry(start)
    for key, value in ordered(message):
        if key not in skip:
            writer.field("~", key, value, f"{path}.{key}")
    return writer.text()


def tool_text(tool: Any, path: str) -> str:
    """A tool definition as JSON: name and description first, the schema in its own order.

    Raises:
        UsageError: a value has no JSON form.
    """
    return compact(_envelope(tool) if isinstance(tool, Mapping) else tool, path)


def _envelope(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _envelope(value) if key in _TOOL_ENVELOPES and isinstance(value, Mapping) else value
        for key, value in ordered(tool)
    }


def order_free_key(block: Block) -> bytes:
    """Digest of a block's content without any order of keys.

    Equal for two blocks with different `key` if nothing but the order of keys inside a schema or input changed.
    """
    text = json.dumps(_bare(block.value), sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=repr)
    return digest(f"{block.level} {block.kind} {block.role} {text}")


def _bare(value: Any, depth: int = 0) -> Any:
    """Without markers, where blocks can carry them: not inside schemas and inputs, which are the user's data."""
    if isinstance(value, Mapping):
        nested = ("content", "source", "function", "toolSpec", "output")
        return {
            key: _bare(item, depth + 1) if key in nested else item
            for key, item in value.items()
            if key not in MARKERS and item is not None
        }
    if isinstance(value, list):
        return [_bare(item, depth + 1) for item in value if not is_marker(item)]
    return value


def plain_text(block: Any) -> str:
    """The text of a block that becomes tokens, without what frames it; media are left out (see `media`).

    A text block gives its text, a tool call its name and compact JSON input, a result the texts in it.
    """
    if type(block) is dict:
        kind = block.get("type")
        if kind == "text" and type(block.get("text")) is str and not block.get("citations"):
            return str(block["text"])
        if kind == "tool_result" and type(block.get("content")) is str:
            return str(block["content"])
        if kind == "tool_use" and type(block.get("name")) is str and type(block.get("input")) is dict:
            return f"{block['name']}\n{compact(block['input'], 'input')}"
    return "\n".join(_texts(block))


def _texts(block: Any) -> Iterator[str]:
    if isinstance(block, str):
        yield block
        return
    if not isinstance(block, Mapping):
        yield compact(block, None)
        return
    kind = _kind(block)
    if kind in _MEDIA or any(name in block for name in ("image", "video", "audio", "inlineData", "inline_data")):
        return
    for key in _TEXT_KEYS:
        if isinstance(block.get(key), str):
            yield block[key]
    for key in ("content", "output", "summary"):
        yield from _nested(block.get(key))
    source = block.get("source")
    if isinstance(source, Mapping):
        if source.get("type") == "text" and isinstance(source.get("data"), str):
            yield source["data"]
        yield from _nested(source.get("content"))
    for key in ("title", "context", "name"):
        if isinstance(block.get(key), str):
            yield block[key]
    for key in ("input", "arguments", "args", "json", "response", "refusal"):
        value = block.get(key)
        if value is not None:
            yield value if isinstance(value, str) else compact(value, key)
    for key in (*_WRAPPED, "function", "custom"):
        if isinstance(block.get(key), Mapping):
            yield from _texts(block[key])
    reasoning = block.get("reasoningContent")
    if isinstance(reasoning, Mapping) and isinstance(reasoning.get("reasoningText"), Mapping):
        yield from _texts(reasoning["reasoningText"])


def _kind(block: Mapping[str, Any]) -> str | None:
    kind = block.get("type")
    return kind if isinstance(kind, str) else None


def _nested(content: Any) -> Iterator[str]:
    if isinstance(content, (str, Mapping)):
        yield from _texts(content)
    elif isinstance(content, list):
        for item in content:
            yield from _texts(item)


def media(block: Any) -> Iterator[tuple[str, int]]:
    """(kind, size in bytes, 0 if only referred to) of what in a block is neither text nor JSON, nested ones too."""
    if isinstance(block, list):
        for item in block:
            yield from media(item)
        return
    if not isinstance(block, Mapping):
        return
    kind = _kind(block)
    if kind in _TEXTUAL or (kind == "tool_result" and isinstance(block.get("content"), str)):
        return
    for name in ("image", "document", "video", "audio"):
        if isinstance(block.get(name), Mapping) and kind is None:
            yield ("document" if name == "document" else "image"), _size(block[name])
            return
    inline = block.get("inlineData", block.get("inline_data", block.get("fileData", block.get("file_data"))))
    if kind in _MEDIA or (isinstance(inline, Mapping) and kind is None):
        yield "image", _size(inline if isinstance(inline, Mapping) else block)
        return
    if kind in _FILES:
        source = block.get("source")
        if isinstance(source, Mapping) and source.get("type") in ("text", "content"):
            yield from media(source.get("content"))
        else:
            yield "document", _size(block)
        return
    for key in ("content", "output", "toolResult"):
        yield from media(block.get(key))


def _size(holder: Any) -> int:
    """Bytes of the data in a block, from its base64 text."""
    if isinstance(holder, Mapping):
        return max((_size(value) for value in holder.values()), default=0)
    if isinstance(holder, (bytes, bytearray)):
        return len(holder)
    return len(holder) * 3 // 4 if isinstance(holder, str) and len(holder) > 1_000 else 0
