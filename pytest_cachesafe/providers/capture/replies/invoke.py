"""Bedrock InvokeModel with an Anthropic body: Anthropic's reply, in AWS frames when it is streamed.

Source: Amazon Bedrock user guide, "Anthropic Claude Messages API" (read 2026-11-29).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.providers.capture.raw import RawReply
from pytest_cachesafe.providers.capture.replies.anthropic import events, message, written
from pytest_cachesafe.providers.capture.replies.converse import EVENT_STREAM
from pytest_cachesafe.providers.capture.replies.eventstream import event_frame
from pytest_cachesafe.providers.capture.replies.ids import Ids
from pytest_cachesafe.providers.capture.replies.rendered import Rendered, compact, json_reply
from pytest_cachesafe.providers.capture.reply import Reply
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["answer"]


def answer(exchange: Exchange, reply: Reply, counters: Mapping[str, Any], ids: Ids) -> Rendered:
    """One answer; a stream wraps each of Anthropic's events as base64 in a frame."""
    whole = message(exchange, reply, counters, ids)
    usage = whole["usage"]
    headers = {
        "x-amzn-requestid": ids.next("req"),
        "x-amzn-bedrock-input-token-count": str(usage.get("input_tokens", 0)),
        "x-amzn-bedrock-output-token-count": str(usage.get("output_tokens", 0)),
    }
    if not exchange.stream:
        return Rendered(json_reply(whole, headers), whole, reply.text, usage)
    chunks = (
        event_frame("chunk", {"bytes": b64encode(compact(data).encode("utf-8", "surrogatepass")).decode()})
        for _, data in events(whole, written(reply, whole))
    )
    return Rendered(
        RawReply(200, {"content-type": EVENT_STREAM, **headers}, chunks, stream=True), whole, reply.text, usage
    )
