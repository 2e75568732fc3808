"""Requests in, scripted answers out: order, retries, errors, bodies that are none, and what is noted of each."""

from __future__ import annotations

import contextlib
import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pytest_cachesafe import UsageError, check_requests
from pytest_cachesafe.providers.capture.raw import RawReply, RawRequest
from pytest_cachesafe.providers.capture.reply import Failure, Reply, ToolCall
from pytest_cachesafe.providers.capture.session import capture_traffic

_WHY = "tests the real SDKs: pip install 'pytest-cachesafe[providers]'"
STOPPED = pytest.fail.Exception
MODEL = "claude-sonnet-4-6"
URL = "https://api.anthropic.com/v1/messages"
KEY = "sk-ant-secret-of-the-user"


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 9, "messages": list(messages) or [user("hi")], **more}


def sent(rec: Any, given: Any, url: str = URL, headers: dict[str, str] | None = None, method: str = "POST") -> Any:
    """One request straight to the session, as a transport hands it over; the parsed reply."""
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    pairs = list(({"authorization": f"Bearer {KEY}"} if headers is None else headers).items())
    assert rec.session.takes(method, url, pairs)
    reply = rec.session.answer(RawRequest(method, url, pairs, data, "httpx2"))
    assert isinstance(reply, RawReply)
    return reply.status, json.loads(b"".join(reply.chunks))


def test_a_list_answers_in_order_and_says_where_it_ends() -> None:
    def run() -> None:
        with capture_traffic(["one", [ToolCall("f", {"a": 1})]]) as rec:
            assert sent(rec, body())[1]["content"] == [{"type": "text", "text": "one"}]
            assert sent(rec, body())[1]["content"][0]["input"] == {"a": 1}
            sent(rec, body())

    with pytest.raises(STOPPED, match=r"request 3 .*/v1/messages.* has no answer: the script holds 2 answers"):
        run()


def test_a_script_that_runs_out_is_not_tried_again_by_the_sdk() -> None:
    anthropic = pytest.importorskip("anthropic", reason=_WHY)
    caught = []

    def run() -> None:
        with capture_traffic(["one"]) as rec:
            caught.append(rec)
            client = anthropic.Anthropic()
            client.messages.create(**body())
            with contextlib.suppress(Exception):
                client.messages.create(**body())
            raise AssertionError("the SDK took it for a broken connection")

    with pytest.raises(STOPPED, match="has no answer") as stopped:
        run()
    assert stopped.value.__cause__ is None or not isinstance(stopped.value.__cause__, AssertionError)
    assert len(caught[0].exchanges) == 2


def test_a_fault_in_a_replies_function_is_shown_and_not_swallowed() -> None:
    def replies(exchange: Any) -> str:
        raise KeyError("my own fault")

    with (
        pytest.raises(STOPPED, match="KeyError while a request was answered: 'my own fault'") as caught,
        capture_traffic(replies) as rec,
    ):
        sent(rec, body())
    assert isinstance(caught.value.__cause__, KeyError)


def test_retries_are_requests_of_their_own_with_their_number() -> None:
    anthropic = pytest.importorskip("anthropic", reason=_WHY)
    with capture_traffic([Failure(529, headers={"retry-after": "0"}), "fine"]) as rec:
        reply = anthropic.Anthropic(max_retries=2).messages.create(**body())
    assert reply.content[0].text == "fine"
    assert [(e.status, e.attempt) for e in rec.exchanges] == [(529, 0), (200, 1)]
    first, second = rec.exchanges
    assert first.reply is not None
    assert first.reply["error"]["type"] == "overloaded_error"
    assert (first.usage, first.predicted) == (None, False)
    assert second.usage is not None
    assert [chat.generated is None for chat in rec.requests] == [True, False]


def test_retries_of_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3", reason=_WHY)
    import boto3
    import botocore.endpoint

    monkeypatch.setattr(botocore.endpoint.time, "sleep", lambda seconds: None)
    with capture_traffic([Failure(503), "fine"]) as rec:
        messages: Any = [{"role": "user", "content": [{"text": "hi"}]}]
        boto3.client("bedrock-runtime").converse(modelId="amazon.nova-pro-v1:0", messages=messages)
    assert [(e.status, e.attempt, e.model) for e in rec.exchanges] == [
        (503, 0, "amazon.nova-pro-v1:0"),
        (200, 1, "amazon.nova-pro-v1:0"),
    ]


def test_hard_errors_are_answered_as_the_provider_would() -> None:
    marked = {"type": "text", "text": "rule", "cache_control": {"type": "ephemeral"}}
    five = body(system=[marked] * 5)
    with capture_traffic(["scripted"]) as rec:
        status, reply = sent(rec, five)
        assert (status, reply["type"], reply["error"]["type"]) == (400, "error", "invalid_request_error")
        # The script is kept for the next request.
        assert sent(rec, body())[0] == 200
    assert [e.status for e in rec.exchanges] == [400, 200]
    with capture_traffic(answer_errors=False) as rec:
        assert sent(rec, five)[0] == 200


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x00\xff\xfe binary", "the body is no JSON (10 bytes)"),
        (b"", "the request has no body"),
        (b"[1, 2]", "the body is JSON, but no object (list)"),
        (b"[" * 100_000, "nested too deep"),
    ],
)
def test_a_body_that_is_none_is_kept_answered_and_said(data: bytes, words: str) -> None:
    with capture_traffic() as rec:
        status, reply = sent(rec, data)
    assert status == 400
    assert "error" in reply
    (exchange,) = rec.exchanges
    assert exchange.body == {}
    assert rec.notes == [f"request 0 (/v1/messages): {reply['error']['message']}"]
    assert words in rec.notes[0]
    assert len(rec.requests) == 0
    assert len(rec.unread) == 1


@pytest.mark.parametrize(
    ("url", "given"),
    [
        (URL, {"model": MODEL}),
        ("https://api.openai.com/v1/responses", {"model": "gpt-5"}),
        ("https://generativelanguage.googleapis.com/v1/models/g:generateContent", {"messages": [user("hi")]}),
    ],
)
def test_a_body_of_another_format_is_kept_answered_and_said(url: str, given: dict[str, Any]) -> None:
    with capture_traffic() as rec:
        assert sent(rec, given, url)[0] == 400
    assert rec.exchanges[0].body == given
    assert rec.predictions == [None]
    assert len(rec.notes) == 1
    assert rec.notes[0].startswith("request 0 (/v1")


def test_an_unknown_block_is_kept() -> None:
    odd = {"role": "user", "content": [{"type": "hologram", "data": 1}]}
    with capture_traffic() as rec:
        assert sent(rec, body(odd))[0] == 200
    assert rec.exchanges[0].body["messages"] == [odd]


def test_a_counter_that_counts_nothing_is_said() -> None:
    with (
        pytest.raises(STOPPED, match="count_tokens returned None"),
        capture_traffic(count_tokens=lambda text: None) as rec,
    ):  # type: ignore[arg-type, return-value]
        sent(rec, body())


def test_there_are_as_many_predictions_as_exchanges_whatever_happens() -> None:
    def count(text: str) -> int:
        raise OSError("the tokenizer's file is gone")

    kept = []

    def run() -> None:
        with capture_traffic(count_tokens=count) as rec:
            kept.append(rec)
            sent(rec, b"no json")
            sent(rec, {"model": MODEL})
            sent(rec, body())

    with pytest.raises(STOPPED, match="OSError while a request was answered: the tokenizer's file is gone"):
        run()
    assert kept[0].predictions == [None, None, None]
    assert len(kept[0].exchanges) == 3


def test_the_counters_come_from_the_simulated_cache() -> None:
    """The provider's own example: written once, then read; tokens as counted."""
    anthropic = pytest.importorskip("anthropic", reason=_WHY)
    system = "rules " * 2000
    tokens = {system: 2823, "a": 14, "b": 17}
    said = []
    with capture_traffic(count_tokens=tokens.__getitem__) as rec:
        client = anthropic.Anthropic()
        block = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
        for question in "ab":
            usage = client.messages.create(**body(user(question), system=[block])).usage
            said.append((usage.cache_creation_input_tokens, usage.cache_read_input_tokens, usage.input_tokens))
    assert said == [(2823, 0, 14), (0, 2823, 17)]
    predicted = [prediction.usage for prediction in rec.predictions if prediction is not None]
    assert [(u.write, u.read, u.uncached, u.exact) for u in predicted] == [(2823, 0, 14, True), (0, 2823, 17, True)]


def test_what_is_written_is_read_only_when_its_reply_has_begun() -> None:
    """Two requests before the first byte of either: both write. 2,823 and 14 tokens, as counted."""
    system = "rules " * 2000
    block = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
    data = json.dumps(body(user("a"), system=[block])).encode()
    with capture_traffic(count_tokens={system: 2823, "a": 14}.__getitem__) as rec:
        assert rec.session is not None
        replies = [rec.session.answer(RawRequest("POST", URL, [], data, "httpx2")) for _ in range(2)]
        for reply in replies:
            assert isinstance(reply, RawReply)
            list(reply.chunks)
        assert isinstance(rec.session.answer(RawRequest("POST", URL, [], data, "httpx2")), RawReply)
    assert [p.usage.write for p in rec.predictions if p is not None] == [2823, 2823, 0]
    assert [p.usage.read for p in rec.predictions if p is not None] == [0, 0, 2823]


def test_a_compressed_body_is_read() -> None:
    with capture_traffic() as rec:
        sent(rec, gzip.compress(json.dumps(body()).encode()), headers={"content-encoding": "gzip"})
    assert rec.exchanges[0].body["messages"] == [user("hi")]


def test_a_request_without_model_is_noted_as_such() -> None:
    with capture_traffic() as rec:
        sent(rec, {"max_tokens": 9, "messages": [user("hi")]})
    assert rec.exchanges[0].model is None


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://api.anthropic.com/v1/messages/count_tokens", "input_tokens"),
        ("https://generativelanguage.googleapis.com/v1/models/g:countTokens", "totalTokens"),
    ],
)
def test_token_counting_is_answered_with_the_users_counter(url: str, key: str) -> None:
    given = body(user("five words are in here"))
    if key == "totalTokens":
        given = {"contents": [{"role": "user", "parts": [{"text": "five words are in here"}]}]}
    with capture_traffic(count_tokens=lambda text: 100) as rec:
        status, reply = sent(rec, given, url)
    # One block, one count.
    assert (status, reply[key]) == (200, 100)
    # No generation: nothing is scripted for it, nothing noted.
    assert rec.exchanges == []


def test_an_endpoint_that_is_not_scripted_is_named() -> None:
    openai = pytest.importorskip("openai", reason=_WHY)
    with (
        pytest.raises(STOPPED, match=r"api\.openai\.com/v1/embeddings is not scripted: embeddings\."),
        capture_traffic(),
    ):
        openai.OpenAI().embeddings.create(model="m", input="hi")
    with pytest.raises(STOPPED, match="not scripted: the list of models"), capture_traffic():
        openai.OpenAI().models.list()


def test_nothing_of_the_account_is_kept() -> None:
    headers = {
        "authorization": f"Bearer {KEY}", "x-api-key": KEY, "cookie": KEY, "x-gateway-token": KEY,
        "x-amz-security-token": KEY, "User-Agent": "agent/1", "Anthropic-Beta": "b",
    }  # fmt: skip
    with capture_traffic() as rec:
        sent(rec, body(), f"{URL}?key={KEY}&beta=true", headers)
        sent(rec, body(), URL, {**headers, "x-api-key": "another", "authorization": "Bearer another"})
    first, second = rec.exchanges
    assert KEY not in repr(rec.exchanges)
    assert first.headers == {"user-agent": "agent/1", "anthropic-beta": "b"}
    assert first.path == "/v1/messages"
    assert first.scope != second.scope
    assert len(first.scope) == 16


@pytest.mark.parametrize("key", ["AKIDEXAMPLE", "testing", "a_key.of-mine"])
def test_signatures_of_one_access_key_are_one_account(key: str) -> None:
    url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.amazon.nova-pro-v1%3A0/converse"
    given = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    signed = "AWS4-HMAC-SHA256 Credential={}/20261130/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature={}"
    with capture_traffic() as rec:
        for access, signature in ((key, "0a"), (key, "0b"), ("AKIDOTHER", "0a")):
            sent(rec, given, url, {"authorization": signed.format(access, signature)})
    a, b, other = (e.scope for e in rec.exchanges)
    assert a == b != other


def test_tokens_that_are_renewed_are_one_account() -> None:
    url = "https://us-east5-aiplatform.googleapis.com/v1/projects/{}/locations/l/publishers/google/models/g:generateContent"
    given = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    with capture_traffic() as rec:
        for project, token in (("p", "ya29.a"), ("p", "ya29.b"), ("q", "ya29.a")):
            sent(rec, given, url.format(project), {"authorization": f"Bearer {token}"})
    a, b, other = (e.scope for e in rec.exchanges)
    assert a == b
    assert a != other


def test_the_clock_is_the_users() -> None:
    now = [1000.0]
    with capture_traffic(clock=lambda: now[0]) as rec:
        now[0] = 1061.5
        reply = rec.session.answer(RawRequest("POST", URL, [], json.dumps(body()).encode(), "httpx2"))  # type: ignore[union-attr]
        assert isinstance(reply, RawReply)
        assert rec.exchanges[0].began_at is None
        now[0] = 1063.0
        list(reply.chunks)
    # 1061.5 - 1000 and 1063 - 1000.
    assert (rec.exchanges[0].sent_at, rec.exchanges[0].began_at) == (61.5, 63.0)


def test_what_repeats_is_kept_once() -> None:
    history = [user("x" * 1000 + str(n)) for n in range(20)]
    with capture_traffic() as rec:
        for count in range(1, 21):
            sent(rec, body(*history[:count], system="s" * 1000))
    last = rec.exchanges[-1].body
    for exchange in rec.exchanges:
        assert exchange.body["system"] is last["system"]
        for a, b in zip(exchange.body["messages"], last["messages"], strict=False):
            assert a is b
    assert [len(e.body["messages"]) for e in rec.exchanges] == list(range(1, 21))


def test_what_differs_in_key_order_or_type_is_not_the_same() -> None:
    long = "x" * 1000
    one, other = {"role": "user", "content": long}, {"content": long, "role": "user"}
    with capture_traffic() as rec:
        for message in (one, other):
            sent(rec, body(message, top={"p": 1, "t": long}))
        sent(rec, body(one, top={"p": 1.0, "t": long}))
    bodies = [e.body for e in rec.exchanges]
    assert list(bodies[1]["messages"][0]) == ["content", "role"]
    assert [type(b["top"]["p"]) for b in bodies] == [int, int, float]


def test_a_large_body_passes() -> None:
    text = "päng " * 4_000_000
    with capture_traffic() as rec:
        assert sent(rec, body(user(text)))[0] == 200
    assert rec.exchanges[0].body["messages"][0]["content"] == text


def test_forty_calls_from_eight_threads() -> None:
    anthropic = pytest.importorskip("anthropic", reason=_WHY)

    def replies(exchange: Any) -> str:
        return f"re {exchange.body['messages'][0]['content']}"

    with capture_traffic(replies) as rec:
        client = anthropic.Anthropic()

        def call(number: int) -> str:
            reply: str = client.messages.create(**body(user(f"n{number}"))).content[0].text
            return reply

        with ThreadPoolExecutor(8) as pool:
            said = list(pool.map(call, range(40)))
    assert said == [f"re n{number}" for number in range(40)]
    assert sorted(e.body["messages"][0]["content"] for e in rec.exchanges) == sorted(f"n{n}" for n in range(40))
    assert all(e.began_at is not None and e.sent_at is not None for e in rec.exchanges)
    ids = {e.reply["id"] for e in rec.exchanges if e.reply is not None}
    assert len(ids) == 40
    # In the order in which they were sent.
    times = [e.sent_at or 0 for e in rec.exchanges]
    assert times == sorted(times)


def test_parallel_calls_of_one_loop_are_all_sent_before_the_first_reply_begins() -> None:
    """Otherwise each would find what the one before it has just written: with a provider all of them pay."""
    import asyncio

    anthropic = pytest.importorskip("anthropic", reason=_WHY)

    async def main() -> None:
        async with anthropic.AsyncAnthropic() as client:
            await asyncio.gather(*(client.messages.create(**body(user(str(n)))) for n in range(5)))

    ticks = iter(range(10_000))
    with capture_traffic(clock=lambda: next(ticks)) as rec:
        asyncio.run(main())
    assert max(e.sent_at or 0 for e in rec.exchanges) < min(e.began_at or 0 for e in rec.exchanges)


def test_a_task_that_a_slow_thread_keeps_is_waited_for_a_moment() -> None:
    import asyncio
    import time

    httpx2 = pytest.importorskip("httpx2", reason=_WHY)
    slept = time.sleep

    async def send(client: Any, wait: float) -> None:
        if wait:
            await asyncio.to_thread(slept, wait)
        await client.post("https://api.openai.com/v1/chat/completions", json=body(user(str(wait))))

    async def main(*waits: float) -> None:
        async with httpx2.AsyncClient() as client:
            await asyncio.gather(*(send(client, wait) for wait in waits))

    ticks = iter(range(10_000))
    with capture_traffic(clock=lambda: next(ticks)) as rec:
        asyncio.run(main(0.0, 0.0, 0.0005))
    assert max(e.sent_at or 0 for e in rec.exchanges) < min(e.began_at or 0 for e in rec.exchanges)


def test_a_reply_of_a_reply_object() -> None:
    with capture_traffic(Reply("said", usage={"input_tokens": 7})) as rec:
        assert sent(rec, body())[1]["usage"]["input_tokens"] == 7
    assert rec.exchanges[0].usage is not None
    assert rec.exchanges[0].usage["input_tokens"] == 7


def test_gemini_without_sse_streams_one_array() -> None:
    url = "https://generativelanguage.googleapis.com/v1/models/g:streamGenerateContent"
    with capture_traffic(["some words that take several pieces to be said"]) as rec:
        _, reply = sent(rec, {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}, url)
    assert isinstance(reply, list)
    texts = [part["text"] for event in reply for part in event["candidates"][0]["content"]["parts"]]
    assert "".join(texts) == "some words that take several pieces to be said"
    assert len(reply) > 2


def test_when_nothing_was_seen_it_is_said() -> None:
    with capture_traffic() as rec:
        pass
    assert len(rec.notes) == 1
    assert rec.notes[0].startswith("no request was caught")
    assert "gRPC" in rec.notes[0]


def test_a_mock_transport_of_the_users_is_named() -> None:
    httpx2 = pytest.importorskip("httpx2", reason=_WHY)
    mock = httpx2.MockTransport(lambda request: httpx2.Response(200, json={}))
    with capture_traffic() as rec, httpx2.Client(transport=mock) as client:
        client.post("https://api.openai.com/v1/chat/completions", json={})
    assert rec.exchanges == []
    assert "httpx2.MockTransport" in rec.notes[0]


def test_a_reply_names_the_miss_where_it_was_asked_to() -> None:
    anthropic = pytest.importorskip("anthropic", reason=_WHY)
    asked: dict[str, Any] = {"previous_message_id": None}
    with capture_traffic():
        client = anthropic.Anthropic()
        first = client.messages.create(**body(system="It is 10:01."), diagnostics=asked)
        asked = {"previous_message_id": first.id}
        second = client.messages.create(**body(system="It is 10:02."), diagnostics=asked)
        with client.messages.stream(**body(system="It is 10:03."), diagnostics=asked) as stream:
            third = stream.get_final_message()
    assert first.diagnostics is None
    assert second.diagnostics.cache_miss_reason.type == "system_changed"
    assert third.diagnostics.cache_miss_reason.type == "system_changed"
    assert not hasattr(second.usage, "diagnostics")


def test_rules_given_to_a_capture_are_those_of_its_checks() -> None:
    rules = {"anthropic": {"models": {MODEL: {"minimum": 100_000}}}}
    marked = [{"type": "text", "text": "word " * 5000, "cache_control": {"type": "ephemeral"}}]
    with capture_traffic(rules=rules) as rec:
        sent(rec, body(system=marked))
    report = rec.assert_cache_safe()
    assert [(f.code, f.data["minimum"]) for f in report.findings] == [("below-minimum", 100_000)]
    assert check_requests([rec.exchanges[0].body], rules=rules).findings[0].data["minimum"] == 100_000
    with pytest.raises(UsageError, match="rules must be a table, not 5"):
        check_requests([body()], rules=5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="count_tokens is int; a function that returns a number of tokens is meant"):
        check_requests([body()], count_tokens=5)  # type: ignore[arg-type]
