"""OpenAI Chat Completions, as OpenAI and the engines that speak its protocol answer.

Sources: OpenAI API reference, "Chat completions" and its streaming chunks (read 2026-11-29); SDK types of openai 3.57.
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

# A fixed moment: replies must be the same in every run.
_CREATED = 1_790_000_000


def answer(exchange: Exchange, reply: Reply, counters: Mapping[str, Any], ids: Ids) -> Rendered:
    """One answer, streamed if the request asks for it; the usage chunk only if it is asked for too."""
    calls = calls_of(reply.tools, ids, "call")
    said: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": None, "annotations": []}
    if reply.thinking is not None:
        # OpenAI shows no reasoning here; engines and DeepSeek do, under this name.
        said["reasoning_content"] = reply.thinking
    if calls:
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    reason = "tool_calls" if calls else "stop"
    usage = _usage(counters, reply)
    base = {
        "id": ids.next("chatcmpl"),
        "object": "chat.completion",
        "created": _CREATED,
        "model": exchange.model or "unknown",
        "service_tier": "default",
        "system_fingerprint": None,
    }
    choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": reason}
    whole = {**base, "choices": [choice], "usage": usage}
    headers = {"x-request-id": ids.next("req")}
    if not exchange.stream:
        return Rendered(json_reply(whole, headers), whole, reply.text, usage)
    options = exchange.body.get("stream_options")
    counted = isinstance(options, Mapping) and bool(options.get("include_usage"))
    chunks = sse(_events({**base, "object": "chat.completion.chunk"}, said, reason, usage if counted else None))
    raw = RawReply(200, {"content-type": "text/event-stream; charset=utf-8", **headers}, chunks, stream=True)
    return Rendered(raw, whole, reply.text, usage)


def _usage(counters: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    output = output_tokens(reply)
    prompt = int(counters.get("prompt_tokens", 0))
    details = {"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0}
    usage = {**counters, "completion_tokens": output, "total_tokens": prompt + output}
    usage["completion_tokens_details"] = {**details, "rejected_prediction_tokens": 0}
    return {**usage, **reply.usage} if reply.usage is not None else usage


def _events(
    base: Mapping[str, Any], said: Mapping[str, Any], reason: str, usage: Mapping[str, Any] | None
) -> Iterator[tuple[None, Any]]:
    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> tuple[None, dict[str, Any]]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        # With the usage asked for, every other chunk says null.
        return None, {**base, "choices": [choice], **({"usage": None} if usage is not None else {})}

    yield chunk({"role": "assistant", "content": None if said.get("tool_calls") else "", "refusal": None})
    for name in ("reasoning_content", "content"):
        for piece in pieces(said.get(name) or ""):
            yield chunk({name: piece})
    for index, call in enumerate(said.get("tool_calls", ())):
        function = call["function"]
        head = {"index": index, "id": call["id"], "type": "function"}
        yield chunk({"tool_calls": [{**head, "function": {"name": function["name"], "arguments": ""}}]})
        for piece in pieces(function["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, reason)
    if usage is not None:
        yield None, {**base, "choices": [], "usage": usage}
    yield None, "[DONE]"
