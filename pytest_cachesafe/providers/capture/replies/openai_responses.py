"""OpenAI Responses. Sources: OpenAI API reference, "Responses" and "Streaming events" (read 2026-11-29); SDK types of
openai 3.57.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
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

_CREATED = 1_790_000_000
# Fields of the request that the API writes into its reply, with their defaults.
_ECHOED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


def answer(exchange: Exchange, reply: Reply, counters: Mapping[str, Any], ids: Ids) -> Rendered:
    """One answer, streamed if the request asks for it."""
    whole = {
        "id": ids.next("resp"),
        "object": "response",
        "created_at": _CREATED,
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": exchange.model or "unknown",
        "output": _items(reply, ids),
        "usage": _usage(counters, reply),
        **{name: _echo(exchange.body.get(name), default) for name, default in _ECHOED.items()},
    }
    diagnostics = counters.get("prompt_cache_diagnostics")
    if diagnostics is not None:
        whole["prompt_cache_diagnostics"] = diagnostics
    headers = {"x-request-id": ids.next("req")}
    if not exchange.stream:
        return Rendered(json_reply(whole, headers), whole, reply.text, whole["usage"])
    chunks = sse((data["type"], data) for data in _events(whole))
    raw = RawReply(200, {"content-type": "text/event-stream; charset=utf-8", **headers}, chunks, stream=True)
    return Rendered(raw, whole, reply.text, whole["usage"])


def _echo(given: Any, default: Any) -> Any:
    return default if given is None else given


def _items(reply: Reply, ids: Ids) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.thinking is not None:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        items.append({"id": ids.next("rs"), "type": "reasoning", "summary": summary})
    if reply.text:
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": reply.text}
        item = {"id": ids.next("msg"), "type": "message", "status": "completed", "role": "assistant"}
        items.append({**item, "content": [part]})
    for call in calls_of(reply.tools, ids, "call"):
        item = {"id": ids.next("fc"), "type": "function_call", "status": "completed"}
        items.append({**item, "arguments": call.arguments, "call_id": call.id, "name": call.name})
    return items


def _usage(counters: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    output = output_tokens(reply)
    kept = {key: value for key, value in counters.items() if key != "prompt_cache_diagnostics"}
    usage = {
        **kept,
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": int(counters.get("input_tokens", 0)) + output,
    }
    usage.setdefault("input_tokens", 0)
    usage.setdefault("input_tokens_details", {"cached_tokens": 0, "cache_write_tokens": 0})
    return {**usage, **reply.usage} if reply.usage is not None else usage


def _events(whole: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    number = count()

    def event(kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": f"response.{kind}", "sequence_number": next(number), **fields}

    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield event("created", response=begun)
    yield event("in_progress", response=begun)
    for index, item in enumerate(whole["output"]):
        place = {"item_id": item["id"], "output_index": index}
        yield event("output_item.added", output_index=index, item=_begun(item))
        if item["type"] == "message":
            yield from _text(item["content"][0], place, event)
        elif item["type"] == "reasoning":
            yield from _summary(item["summary"][0], place, event)
        else:
            for piece in pieces(item["arguments"]):
                yield event("function_call_arguments.delta", **place, delta=piece)
            yield event("function_call_arguments.done", **place, arguments=item["arguments"], name=item["name"])
        yield event("output_item.done", output_index=index, item=item)
    yield event("completed", response=whole)


def _begun(item: Mapping[str, Any]) -> dict[str, Any]:
    if item["type"] == "message":
        return {**item, "status": "in_progress", "content": []}
    if item["type"] == "reasoning":
        return {**item, "summary": []}
    return {**item, "status": "in_progress", "arguments": ""}


def _text(part: Mapping[str, Any], place: Mapping[str, Any], event: Any) -> Iterator[dict[str, Any]]:
    place = {**place, "content_index": 0}
    yield event("content_part.added", **place, part={**part, "text": ""})
    for piece in pieces(part["text"]):
        yield event("output_text.delta", **place, delta=piece, logprobs=[])
    yield event("output_text.done", **place, text=part["text"], logprobs=[])
    yield event("content_part.done", **place, part=part)


def _summary(part: Mapping[str, Any], place: Mapping[str, Any], event: Any) -> Iterator[dict[str, Any]]:
    place = {**place, "summary_index": 0}
    yield event("reasoning_summary_part.added", **place, part={**part, "text": ""})
    for piece in pieces(part["text"]):
        yield event("reasoning_summary_text.delta", **place, delta=piece)
    yield event("reasoning_summary_text.done", **place, text=part["text"])
    yield event("reasoning_summary_part.done", **place, part=part)
