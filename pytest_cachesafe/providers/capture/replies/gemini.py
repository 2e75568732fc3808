"""Gemini generateContent and streamGenerateContent. Sources: Gemini API reference, "Generating content" (read
2026-11-29); SDK types of google-genai 3.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_cachesafe.providers.capture.raw import RawReply
from pytest_cachesafe.providers.capture.replies.ids import Ids
from pytest_cachesafe.providers.capture.replies.rendered import (
    Rendered,
    calls_of,
    json_reply,
    output_tokens,
    pieces,
    sse,
)
from pytest_cachesafe.providers.capture.reply import Reply
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["answer"]


def answer(exchange: Exchange, reply: Reply, counters: Mapping[str, Any], ids: Ids) -> Rendered:
    """One answer, streamed if the path asks for it. Thinking is a part of its own, marked `thought`."""
    parts: list[dict[str, Any]] = []
    if reply.thinking is not None:
        parts.append({"text": reply.thinking, "thought": True})
    if reply.text:
        parts.append({"text": reply.text})
    for call, tool in zip(calls_of(reply.tools, ids, "call"), reply.tools, strict=True):
        # The Gemini API gives calls no id; Vertex does on request. One is sent only where the script names it.
        named = {"id": call.id} if tool.id is not None else {}
        parts.append({"functionCall": {**named, "name": call.name, "args": dict(call.input)}})
    usage = _usage(counters, reply)
    frame = {"modelVersion": exchange.model or "unknown", "responseId": ids.next("resp")}
    whole = {"candidates": [_candidate(parts, "STOP")], "usageMetadata": usage, **frame}
    if not exchange.stream:
        return Rendered(json_reply(whole, {}), whole, reply.text, usage)
    chunks = sse((None, event) for event in _events(parts, usage, frame))
    raw = RawReply(200, {"content-type": "text/event-stream"}, chunks, stream=True)
    return Rendered(raw, whole, reply.text, usage)


def _candidate(parts: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
    made: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    return {**made, "finishReason": reason} if reason else made


def _usage(counters: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    output = output_tokens(reply)
    usage = {**counters, "candidatesTokenCount": output}
    usage["totalTokenCount"] = int(counters.get("promptTokenCount", 0)) + output
    return {**usage, **reply.usage} if reply.usage is not None else usage


def _events(
    parts: list[dict[str, Any]], usage: Mapping[str, Any], frame: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Every chunk carries counters so far; the last one the reason and the final counters."""
    early = {key: value for key, value in usage.items() if key != "candidatesTokenCount"}
    for part in parts:
        split = [{**part, "text": piece} for piece in pieces(part["text"])] if part.get("text") else [part]
        for piece in split:
            yield {"candidates": [_candidate([piece], None)], "usageMetadata": early, **frame}
    yield {"candidates": [_candidate([{"text": ""}], "STOP")], "usageMetadata": usage, **frame}
