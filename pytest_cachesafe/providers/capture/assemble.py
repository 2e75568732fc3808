"""A provider's own reply put together: one JSON document, whether it came whole or in events.

Used where a reply is real (live checks, cassettes); scripted replies are known whole before they are streamed.
Sources of the event shapes: as in `replies`.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from struct import unpack_from
from typing import Any

__all__ = ["assembled", "usage_of"]


def assembled(data: bytes, content_type: str, api: str) -> dict[str, Any] | None:
    """The whole reply as JSON; None if it cannot be read.

    Args:
        data: the body, decoded; content_type: of the reply; api: see `exchange.Api`.
    """
    if "event-stream" not in content_type and "eventstream" not in content_type:
        try:
            whole = json.loads(data)
        except ValueError:
            return None
        if isinstance(whole, list):
            return _gemini([item for item in whole if isinstance(item, dict)])
        return whole if isinstance(whole, dict) else None
    events = list(_frames(data) if "amazon" in content_type else _server_sent(data))
    if api in ("messages", "invoke"):
        return _anthropic(events)
    if api == "chat":
        return _chat(events)
    if api == "responses":
        return next((e["response"] for e in reversed(events) if isinstance(e.get("response"), dict)), None)
    return _gemini(events) if api == "gemini" else _converse(events)


def usage_of(reply: Mapping[str, Any], api: str) -> dict[str, Any] | None:
    """The provider's own counters in a reply; None if there are none."""
    usage = reply.get("usageMetadata" if api == "gemini" else "usage")
    return dict(usage) if isinstance(usage, Mapping) else None


def _server_sent(data: bytes) -> Iterator[dict[str, Any]]:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    for event in text.split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:")]
        try:
            parsed = json.loads("\n".join(lines))
        except ValueError:  # "[DONE]", comments, a stream cut off
            continue
        if isinstance(parsed, dict):
            yield parsed


def _frames(data: bytes) -> Iterator[dict[str, Any]]:
    """Events of an AWS stream; the name of a Converse event becomes its only key, as in the API's own description."""
    at = 0
    while at + 16 <= len(data):
        total, length = unpack_from("!II", data, at)
        if total < 16 or at + total > len(data):
            return
        headers = _headers(data[at + 12 : at + 12 + length])
        try:
            payload = json.loads(data[at + 12 + length : at + total - 4])
        except ValueError:
            payload = {}
        at += total
        name = headers.get(":event-type", "")
        if name == "chunk" and isinstance(payload.get("bytes"), str):
            yield json.loads(b64decode(payload["bytes"]))
        elif name:
            yield {name: payload}


def _headers(data: bytes) -> dict[str, str]:
    out: dict[str, str] = {}
    at = 0
    while at < len(data):
        name = data[at + 1 : at + 1 + data[at]].decode()
        at += 1 + data[at]
        # Only strings (type 7) are sent with events.
        if data[at] != 7:
            return out
        size = unpack_from("!H", data, at + 1)[0]
        out[name] = data[at + 3 : at + 3 + size].decode()
        at += 3 + size
    return out


def _anthropic(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    whole: dict[str, Any] | None = None
    blocks: dict[int, dict[str, Any]] = {}
    inputs: dict[int, str] = {}
    for event in events:
        kind, index = event.get("type"), event.get("index", 0)
        if kind == "message_start":
            whole = dict(event["message"])
        elif kind == "content_block_start":
            blocks[index] = dict(event["content_block"])
        elif kind == "content_block_delta" and index in blocks:
            delta = event["delta"]
            if delta.get("type") == "input_json_delta":
                inputs[index] = inputs.get(index, "") + delta.get("partial_json", "")
            else:
                _grow(blocks[index], delta, ("text", "thinking", "signature"))
        elif kind == "message_delta" and whole is not None:
            whole |= {k: v for k, v in event.get("delta", {}).items() if v is not None}
            if event.get("context_management") is not None:
                whole["context_management"] = event["context_management"]
            # Totals only: the split by lifetime stands in the first event.
            whole["usage"] = {**whole.get("usage", {}), **(event.get("usage") or {})}
    if whole is None:
        return None
    for index, written in inputs.items():
        if written:
            blocks[index]["input"] = _parsed(written)
    return {**whole, "content": [blocks[index] for index in sorted(blocks)]}


def _chat(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    if not events:
        return None
    whole = {k: v for k, v in events[0].items() if k not in ("choices", "object")} | {"object": "chat.completion"}
    choices: dict[int, dict[str, Any]] = {}
    for event in events:
        if event.get("usage"):
            whole["usage"] = event["usage"]
        for choice in event.get("choices") or ():
            made = choices.setdefault(choice.get("index", 0), {"message": {"role": "assistant", "content": None}})
            delta = choice.get("delta") or {}
            _grow(made["message"], delta, ("content", "refusal", "reasoning_content"))
            for call in delta.get("tool_calls") or ():
                _call(made["message"].setdefault("tool_calls", []), call)
            if choice.get("finish_reason"):
                made["finish_reason"] = choice["finish_reason"]
    whole["choices"] = [{"index": index, **choices[index]} for index in sorted(choices)]
    return whole


def _call(calls: list[dict[str, Any]], piece: Mapping[str, Any]) -> None:
    index = piece.get("index", 0)
    while len(calls) <= index:
        calls.append({"type": "function", "function": {"name": "", "arguments": ""}})
    if piece.get("id"):
        calls[index]["id"] = piece["id"]
    _grow(calls[index]["function"], piece.get("function") or {}, ("name", "arguments"))


def _gemini(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    if not events:
        return None
    whole: dict[str, Any] = {}
    parts: list[dict[str, Any]] = []
    reason = None
    for event in events:
        whole |= {k: v for k, v in event.items() if k != "candidates"}
        for candidate in (event.get("candidates") or ())[:1]:
            reason = candidate.get("finishReason") or reason
            for part in (candidate.get("content") or {}).get("parts") or ():
                last = parts[-1] if parts else {}
                if "text" in part and "text" in last and part.get("thought") == last.get("thought"):
                    parts[-1] = {**last, **part, "text": last["text"] + part["text"]}
                else:
                    parts.append(dict(part))
    whole["candidates"] = [{"content": {"role": "model", "parts": parts}, "index": 0, "finishReason": reason}]
    return whole


def _converse(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    blocks: dict[int, dict[str, Any]] = {}
    whole: dict[str, Any] = {}
    for event in events:
        if "contentBlockStart" in event:
            start = event["contentBlockStart"]
            blocks[start["contentBlockIndex"]] = {"toolUse": {**start["start"].get("toolUse", {}), "input": ""}}
        elif "contentBlockDelta" in event:
            delta = event["contentBlockDelta"]["delta"]
            block = blocks.setdefault(event["contentBlockDelta"]["contentBlockIndex"], {})
            if "toolUse" in delta:
                block.setdefault("toolUse", {"input": ""})["input"] += delta["toolUse"].get("input", "")
            elif "reasoningContent" in delta:
                said = block.setdefault("reasoningContent", {"reasoningText": {}})["reasoningText"]
                _grow(said, delta["reasoningContent"], ("text", "signature"))
            else:
                _grow(block, delta, ("text",))
        elif "messageStop" in event:
            whole["stopReason"] = event["messageStop"].get("stopReason")
        elif "metadata" in event:
            whole |= event["metadata"]
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = _parsed(block["toolUse"]["input"] or "{}")
    message = {"role": "assistant", "content": [blocks[index] for index in sorted(blocks)]}
    return {"output": {"message": message}, **whole} if events else None


def _grow(into: dict[str, Any], delta: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    """Append the texts of a piece."""
    for key in keys:
        if isinstance(delta.get(key), str):
            into[key] = (into.get(key) or "") + delta[key]


def _parsed(written: str) -> Any:
    try:
        return json.loads(written)
    except ValueError:
        return written
