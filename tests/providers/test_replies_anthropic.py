"""Scripted Anthropic replies, read by the real SDK and held against the event order of real streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

anthropic = pytest.importorskip(
    "anthropic", reason="needs the anthropic SDK: pip install 'pytest-cachesafe[providers]'"
)
httpx2 = pytest.importorskip("httpx2", reason="needs httpx2, which anthropic 2 talks through")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from pytest_cachesafe.providers.capture.replies import Ids, render  # noqa: E402
from pytest_cachesafe.providers.capture.reply import Failure, Reply, ToolCall  # noqa: E402
from pytest_cachesafe.providers.exchange import Exchange  # noqa: E402

COUNTERS = {
    "input_tokens": 14,
    "cache_creation_input_tokens": 2823,
    "cache_read_input_tokens": 0,
    "cache_creation": {"ephemeral_5m_input_tokens": 2823, "ephemeral_1h_input_tokens": 0},
}
CALLS = (ToolCall("search", {"q": "Zürich", "n": 2}), ToolCall("now", {}))
REPLIES = {
    "text": Reply("It is sunny in Zürich, and so it will stay."),
    "tools": Reply(tools=CALLS),
    "text and tools": Reply("Let me look.", tools=CALLS),
    "thinking": Reply("Done.", thinking="First I look, then I answer."),
    "thinking and tools": Reply(None, tools=CALLS[:1], thinking="I should search."),
    "default": Reply(),
}


def rendered(reply: Reply | Failure, *, stream: bool = False) -> Any:
    exchange = Exchange("anthropic", "messages", {"messages": []}, model="claude-opus-5", stream=stream)
    return render(exchange, reply, COUNTERS, Ids())


def client(raw: Any) -> Any:
    def send(request: Any) -> Any:
        return httpx2.Response(raw.status, headers=raw.headers, content=b"".join(raw.chunks))

    http = httpx2.Client(transport=httpx2.MockTransport(send))
    return anthropic.Anthropic(api_key="none", http_client=http, max_retries=0)


def ask(raw: Any) -> Any:
    question = [{"role": "user", "content": "hi"}]
    return client(raw).messages.create(model="claude-opus-5", max_tokens=10, messages=question)


def events_of(raw: Any) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for chunk in raw.chunks:
        name, data = chunk.decode().rstrip("\n").split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_whole_reply_has_nothing_the_sdk_does_not_know(reply: Reply) -> None:
    made = rendered(reply)
    read = ask(made.raw)
    anthropic.types.Message.model_validate(made.message)
    assert read.to_dict() == made.message
    assert not read.model_extra
    assert not read.usage.model_extra
    assert read.usage.cache_creation.ephemeral_5m_input_tokens == 2823


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_stream_adds_up_to_the_whole_reply(reply: Reply) -> None:
    whole = rendered(reply).message
    with client(rendered(reply, stream=True).raw).messages.stream(
        model="claude-opus-5", max_tokens=10, messages=[{"role": "user", "content": "hi"}]
    ) as stream:
        final = stream.get_final_message()
    assert [block.to_dict() for block in final.content] == whole["content"]
    assert final.stop_reason == whole["stop_reason"]
    assert final.usage.to_dict() == whole["usage"]


def test_events_come_in_the_order_of_real_streams() -> None:
    """The order of recorded streams of the API (claude-sonnet-4-6, 2026): one ping, behind the first block's start."""
    names = [name for name, _ in events_of(rendered(Reply("Look.", tools=CALLS[1:]), stream=True).raw)]
    assert names == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_every_event_is_one_the_sdk_has_a_type_for(reply: Reply) -> None:
    from pydantic import TypeAdapter

    known = TypeAdapter(anthropic.types.RawMessageStreamEvent)
    for name, data in events_of(rendered(reply, stream=True).raw):
        assert data["type"] == name
        if name != "ping":
            known.validate_python(data)


def test_the_first_piece_of_every_input_is_empty_and_the_split_is_only_at_the_start() -> None:
    events = events_of(rendered(REPLIES["tools"], stream=True).raw)
    deltas = [data["delta"]["partial_json"] for name, data in events if name == "content_block_delta"]
    assert deltas[0] == ""
    assert json.loads("".join(deltas[1:3])) == {"q": "Zürich", "n": 2} or "".join(deltas[1:]).startswith('{"q"')
    start, end = events[0][1]["message"]["usage"], events[-2][1]["usage"]
    assert start["cache_creation"]["ephemeral_5m_input_tokens"] == 2823
    assert "cache_creation" not in end
    assert end["cache_creation_input_tokens"] == 2823


@pytest.mark.parametrize(
    ("failure", "error", "kind"),
    [
        (Failure(400, "bad"), "BadRequestError", "invalid_request_error"),
        (Failure(429), "RateLimitError", "rate_limit_error"),
        (Failure(529), "OverloadedError", "overloaded_error"),
        (Failure(500), "InternalServerError", "api_error"),
    ],
)
def test_a_failure_is_the_error_the_sdk_knows(failure: Failure, error: str, kind: str) -> None:
    from anthropic import _exceptions

    with pytest.raises(getattr(_exceptions, error)) as caught:
        ask(rendered(failure).raw)
    assert caught.value.body["error"]["type"] == kind
    assert caught.value.request_id == "req_cachesafe_0001"


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(max_size=80),
    arguments=st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=30) | st.none(), max_size=4),
)
def test_pieces_lose_no_character(text: str, arguments: dict[str, Any]) -> None:
    text = text.encode("utf-8", "ignore").decode()
    reply = Reply(text or None, tools=[ToolCall("f", arguments)])
    events = events_of(rendered(reply, stream=True).raw)
    deltas = [data["delta"] for name, data in events if name == "content_block_delta"]
    assert "".join(d.get("text", "") for d in deltas) == text
    assert json.loads("".join(d.get("partial_json", "") for d in deltas)) == arguments
