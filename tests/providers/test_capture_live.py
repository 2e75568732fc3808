"""Live captures: requests are sent for real, and the provider's own counters are noted beside the predicted ones.

The provider is a server on loopback that speaks its protocol: a capture of its own, asked for the bytes.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import loopback
from sdk_calls import WAYS

from pytest_cachesafe.providers.capture.assemble import assembled, usage_of
from pytest_cachesafe.providers.capture.raw import RawReply, RawRequest
from pytest_cachesafe.providers.capture.reply import Reply, ToolCall
from pytest_cachesafe.providers.capture.session import capture_traffic

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
_WHY = "tests the real SDKs: pip install 'pytest-cachesafe[providers]' aiohttp"


class Provider:
    """Answers with scripted replies, in each provider's own shape, as a server would."""

    def __init__(self, *replies: Any) -> None:
        self.whole: list[Any] = []
        self._replies = list(replies)
        self._inner: Any = None

    def __enter__(self) -> Provider:
        self._capture = capture_traffic(self._replies or None)
        self._inner = self._capture.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._capture.__exit__(None, None, None)

    def answer(self, path: str, body: bytes) -> tuple[int, str, list[bytes]]:
        request = RawRequest("POST", f"http://127.0.0.1:1{path}", [], body, "server")
        reply = self._inner.session.answer(request)
        assert isinstance(reply, RawReply)
        pieces = list(reply.chunks)
        self.whole.append(self._inner.exchanges[-1].reply)
        return reply.status, reply.headers["content-type"], pieces


@pytest.mark.parametrize("name", list(WAYS))
def test_a_real_reply_reaches_the_user_and_is_noted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    way = WAYS[name]
    pytest.importorskip(way.sdk, reason=_WHY)
    pytest.importorskip(way.library, reason=_WHY)
    for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, "the user's own")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with (
        Provider("really sent, in more than one piece") as provider,
        loopback(provider.answer) as server,
        capture_traffic(live=True) as rec,
    ):
        assert way.call(server.url) == "really sent, in more than one piece"
    assert len(server.seen) == 1
    (exchange,) = rec.exchanges
    assert exchange.status == 200
    assert not exchange.predicted
    assert exchange.began_at is not None
    assert exchange.reply is not None
    # The counters are the provider's, under its own names; ours stand beside them.
    asked = way.api != "chat" or not way.stream  # OpenAI streams counters to those who ask for them
    assert exchange.usage == (usage_of(provider.whole[0], way.api) if asked else None)
    assert rec.predictions[0] is not None
    assert rec.predictions[0].usage.total > 0
    assert rec.requests[0].generated is not None
    assert rec.requests[0].generated.text == "really sent, in more than one piece"


def test_no_dummy_keys_and_no_script_when_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with capture_traffic(live=True):
        assert "ANTHROPIC_API_KEY" not in os.environ


def test_an_unknown_host_is_refused_when_live_too() -> None:
    httpx2 = pytest.importorskip("httpx2", reason=_WHY)
    with pytest.raises(pytest.fail.Exception, match="an unknown host"), capture_traffic(live=True):
        httpx2.get("https://shop.example/")


BODIES = {
    "messages": ("https://api.anthropic.com/v1/messages", {"model": "m", "max_tokens": 9}),
    "chat": ("https://api.openai.com/v1/chat/completions", {"model": "m", "stream_options": {"include_usage": True}}),
    "responses": ("https://api.openai.com/v1/responses", {"model": "m"}),
    "gemini": ("https://generativelanguage.googleapis.com/v1/models/m:streamGenerateContent?alt=sse", {}),
    "array": ("https://generativelanguage.googleapis.com/v1/models/m:streamGenerateContent", {}),
    "converse": ("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse-stream", {}),
    "invoke": (
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke-with-response-stream",
        {"anthropic_version": "bedrock-2023-05-31"},
    ),
}
_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=80)
_INPUT = st.dictionaries(st.sampled_from(["city", "ä"]), st.none() | st.integers() | _TEXT, max_size=2)


@settings(deadline=None, max_examples=60)
@given(
    api=st.sampled_from(list(BODIES)),
    text=st.none() | _TEXT,
    thinking=st.none() | _TEXT,
    inputs=st.lists(_INPUT, max_size=3),
)
def test_a_stream_put_together_is_the_whole_reply(api: str, text: Any, thinking: Any, inputs: list[Any]) -> None:
    """Whatever is said: events and one document carry the same content and counters."""
    url, more = BODIES[api]
    user = {"role": "user", "content": "hi"}
    history = {"responses": {"input": "hi"}, "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}}
    history["array"] = history["gemini"]
    history["converse"] = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    streams = {} if api in ("gemini", "array", "converse", "invoke") else {"stream": True}
    body = {**more, **history.get(api, {"messages": [user]}), **streams}
    calls = [ToolCall("f", given) for given in inputs]
    if text is None and not calls:
        text = "said"
    with capture_traffic(Reply(text, tools=calls, thinking=thinking)) as rec:
        assert rec.session is not None
        reply = rec.session.answer(RawRequest("POST", url, [], json.dumps(body).encode(), "test"))
        assert isinstance(reply, RawReply)
        data = b"".join(reply.chunks)
    exchange = rec.exchanges[0]
    made = assembled(data, reply.headers["content-type"] if api != "array" else "application/json", exchange.api)
    assert made is not None
    assert exchange.reply is not None
    assert content(made) == content(exchange.reply)
    assert usage_of(made, exchange.api) == exchange.usage


def content(reply: Any) -> Any:
    """What was said, without the empty texts that some streams end with."""
    if "choices" in reply:
        # A whole message has keys for what was not said.
        return [{k: v for k, v in choice["message"].items() if v not in (None, [])} for choice in reply["choices"]]
    if "candidates" in reply:
        parts = reply["candidates"][0]["content"]["parts"]
        return [part for part in parts if part != {"text": ""}]
    return reply.get("content") or reply.get("output")


@pytest.mark.parametrize("data", [b"", b"no json", b'data: {"type": "message_stop"}\n\n', b"\x00\x00\x00\x20bad"])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "application/vnd.amazon.eventstream"])
@pytest.mark.parametrize("api", ["messages", "chat", "responses", "gemini", "converse", "invoke"])
def test_a_reply_that_cannot_be_read_is_none_or_a_dict(data: bytes, kind: str, api: str) -> None:
    made = assembled(data, kind, api)
    assert made is None or isinstance(made, dict)


@settings(deadline=None, max_examples=60)
@given(api=st.sampled_from(["messages", "chat", "converse"]), cut=st.integers(0, 2000))
def test_a_stream_cut_off_anywhere_is_read_as_far_as_it_goes(api: str, cut: int) -> None:
    url, more = BODIES[api]
    history = {"messages": [{"role": "user", "content": [{"text": "hi"}] if api == "converse" else "hi"}]}
    body = {**more, **history, **({} if api == "converse" else {"stream": True})}
    with capture_traffic(Reply("some words", tools=[ToolCall("f", {"city": "Zürich"})])) as rec:
        assert rec.session is not None
        reply = rec.session.answer(RawRequest("POST", url, [], json.dumps(body).encode(), "test"))
        assert isinstance(reply, RawReply)
        data = b"".join(reply.chunks)
    made = assembled(data[:cut], reply.headers["content-type"], rec.exchanges[0].api)
    assert made is None or isinstance(made, dict)
