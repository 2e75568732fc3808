"""Anthropic Messages. Sources: Claude Platform Docs, "Messages" and "Streaming messages" (read 2026-11-29); shapes are
those of the SDK's types (anthropic 2.14).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_cachesafe.providers.capture.raw import RawReply
from pytest_cachesafe.providers.capture.replies.ids import Ids
from pytest_cachesafe.providers.capture.replies.rendered import (
    Rendered,
    calls_of,
    compact,
    json_reply,
    output_tokens,
    pieces,
    sse,
)
from pytest_cachesafe.providers.capture.reply import Reply
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["answer", "events", "message"]

# A signature is opaque to everybody but the provider; it must only come back as it was.
_SIGNATURE = "Y2FjaGVzYWZl"
# What the last event of a stream repeats of the counters (SDK: MessageDeltaUsage): the totals, not their TTL split.
_IN_DELTA = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "server_tool_use")


def message(exchange: Exchange, reply: Reply, counters: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
    """The whole reply."""
    content: list[dict[str, Any]] = []
    if reply.thinking is not None:
        content.append({"type": "thinking", "thinking": reply.thinking, "signature": _SIGNATURE})
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    for call in calls_of(reply.tools, ids, "toolu"):
        content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.input)})
    # Not a counter, but it comes with them: what the simulated cache says of the miss, where the request asked.
    said = counters.get("diagnostics")
    counted = {key: value for key, value in counters.items() if key != "diagnostics"}
    usage: dict[str, Any] = {**counted, "output_tokens": output_tokens(reply), "service_tier": "standard"}
    made: dict[str, Any] = {
        "id": ids.next("msg"),
        "type": "message",
        "role": "assistant",
        "model": exchange.model or "unknown",
        "content": content,
        "stop_reason": "tool_use" if reply.tools else "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "usage": {**usage, **reply.usage} if reply.usage is not None else usage,
    }
    if said is not None:
        made["diagnostics"] = said
    return made


def events(whole: Mapping[str, Any], arguments: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, data) of a stream's events: the message without content first, then each block's start, deltas, stop.

    Args:
        whole: the reply as JSON; arguments: tool input as the model wrote it, by call id.
    """
    usage = whole["usage"]
    start = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield "message_start", {"type": "message_start", "message": start}
    for index, block in enumerate(whole["content"]):
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": _empty(block)}
        if index == 0:
            yield "ping", {"type": "ping"}
        for delta in _deltas(block, arguments):
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    totals = {key: usage[key] for key in _IN_DELTA if key in usage}
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None, "stop_details": None}
    yield (
        "message_delta",
        {"type": "message_delta", "delta": delta, "usage": {**totals, "output_tokens": usage["output_tokens"]}},
    )
    yield "message_stop", {"type": "message_stop"}


def _empty(block: Mapping[str, Any]) -> dict[str, Any]:
    blank: dict[str, dict[str, Any]] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    return {**block, **blank[block["type"]]}


def _deltas(block: Mapping[str, Any], arguments: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        for piece in pieces(block["text"]):
            yield {"type": "text_delta", "text": piece}
    elif block["type"] == "thinking":
        for piece in pieces(block["thinking"]):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block["signature"]}
    else:
        # The API opens every input with an empty piece.
        yield {"type": "input_json_delta", "partial_json": ""}
        for piece in pieces(arguments.get(block["id"]) or compact(block["input"])):
            yield {"type": "input_json_delta", "partial_json": piece}


def answer(exchange: Exchange, reply: Reply, counters: Mapping[str, Any], ids: Ids) -> Rendered:
    """One answer, streamed if the request asks for it."""
    whole = message(exchange, reply, counters, ids)
    headers = {"request-id": ids.next("req")}
    if not exchange.stream:
        return Rendered(json_reply(whole, headers), whole, reply.text, whole["usage"])
    chunks = sse(events(whole, written(reply, whole)))
    raw = RawReply(200, {"content-type": "text/event-stream; charset=utf-8", **headers}, chunks, stream=True)
    return Rendered(raw, whole, reply.text, whole["usage"])


def written(reply: Reply, whole: Mapping[str, Any]) -> dict[str, str]:
    """Tool input as the model wrote it, by call id, where the script gives its bytes."""
    calls = [block for block in whole["content"] if block["type"] == "tool_use"]
    pairs = zip(calls, reply.tools, strict=True)
    return {block["id"]: tool.arguments for block, tool in pairs if tool.arguments is not None}
