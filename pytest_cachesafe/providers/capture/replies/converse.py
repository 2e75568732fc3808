"""Bedrock Converse and ConverseStream. Source: Amazon Bedrock API reference (read 2026-11-29); shapes are those of the
service model in botocore.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_cachesafe.providers.capture.raw import RawReply
from pytest_cachesafe.providers.capture.replies.eventstream import event_frame
from pytest_cachesafe.providers.capture.replies.ids import Ids
from pytest_cachesafe.providers.capture.replies.rendered import (
    Call,
    Rendered,
    calls_of,
    json_reply,
    output_tokens,
    pieces,
)
from pytest_cachesafe.providers.capture.reply import Reply
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["EVENT_STREAM", "answer"]

EVENT_STREAM = "application/vnd.amazon.eventstream"
_SIGNATURE = "Y2FjaGVzYWZl"


def answer(exchange: Exchange, reply: Reply, counters: Mapping[str, Any], ids: Ids) -> Rendered:
    """One answer; as binary frames if the path asks for a stream."""
    calls = calls_of(reply.tools, ids, "tooluse")
    content: list[dict[str, Any]] = []
    if reply.thinking is not None:
        said = {"text": reply.thinking, "signature": _SIGNATURE}
        content.append({"reasoningContent": {"reasoningText": said}})
    if reply.text:
        content.append({"text": reply.text})
    for call in calls:
        content.append({"toolUse": {"toolUseId": call.id, "name": call.name, "input": dict(call.input)}})
    usage = _usage(counters, reply)
    whole = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use" if calls else "end_turn",
        "usage": usage,
        "metrics": {"latencyMs": 1},
    }
    headers = {"x-amzn-requestid": ids.next("req")}
    if not exchange.stream:
        return Rendered(json_reply(whole, headers), whole, reply.text, usage)
    chunks = (event_frame(kind, payload) for kind, payload in _events(content, calls, whole))
    return Rendered(
        RawReply(200, {"content-type": EVENT_STREAM, **headers}, chunks, stream=True), whole, reply.text, usage
    )


def _usage(counters: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    output = output_tokens(reply)
    read = int(counters.get("cacheReadInputTokens", 0)) + int(counters.get("cacheWriteInputTokens", 0))
    usage = {"inputTokens": 0, **counters, "outputTokens": output}
    usage["totalTokens"] = int(usage["inputTokens"]) + read + output
    return {**usage, **reply.usage} if reply.usage is not None else usage


def _events(
    content: list[dict[str, Any]], calls: list[Call], whole: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    written = {call.id: call.arguments for call in calls}
    yield "messageStart", {"role": "assistant"}
    for index, block in enumerate(content):
        place = {"contentBlockIndex": index}
        if "toolUse" in block:
            # Only calls have a start event; text and reasoning begin with their first piece.
            use = block["toolUse"]
            start = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
            yield "contentBlockStart", {"start": start, **place}
            for piece in pieces(written[use["toolUseId"]]):
                yield "contentBlockDelta", {"delta": {"toolUse": {"input": piece}}, **place}
        elif "text" in block:
            for piece in pieces(block["text"]):
                yield "contentBlockDelta", {"delta": {"text": piece}, **place}
        else:
            reasoning = block["reasoningContent"]["reasoningText"]
            for piece in pieces(reasoning["text"]):
                yield "contentBlockDelta", {"delta": {"reasoningContent": {"text": piece}}, **place}
            signed = {"reasoningContent": {"signature": reasoning["signature"]}}
            yield "contentBlockDelta", {"delta": signed, **place}
        yield "contentBlockStop", place
    yield "messageStop", {"stopReason": whole["stopReason"]}
    yield "metadata", {"usage": whole["usage"], "metrics": whole["metrics"]}
