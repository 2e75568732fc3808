"""Scripted OpenAI replies (Chat Completions and Responses), read by the real SDK."""

from __future__ import annotations

import json
from typing import Any

import pytest

openai = pytest.importorskip("openai", reason="needs the openai SDK: pip install 'pytest-cachesafe[providers]'")
httpx2 = pytest.importorskip("httpx2", reason="needs httpx2, which openai 3 talks through")

from pytest_cachesafe.providers.capture.replies import Ids, render  # noqa: E402
from pytest_cachesafe.providers.capture.reply import Failure, Reply, ToolCall  # noqa: E402
from pytest_cachesafe.providers.exchange import Exchange  # noqa: E402

CALLS = (ToolCall("search", {"q": "Zürich", "n": 2}), ToolCall("now", arguments='{"a": [1.0, 2e3]}'))
REPLIES = {
    "text": Reply("It is sunny in Zürich, and so it will stay."),
    "tools": Reply(tools=CALLS),
    "text and tools": Reply("Let me look.", tools=CALLS),
    "thinking": Reply("Done.", thinking="First I look, then I answer."),
    "default": Reply(),
}
CHAT = {"prompt_tokens": 2000, "prompt_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 300}}
RESPONSES = {"input_tokens": 2000, "input_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 300}}
QUESTION = [{"role": "user", "content": "hi"}]


def rendered(api: Any, reply: Reply | Failure, *, stream: bool = False, **body: Any) -> Any:
    exchange = Exchange("openai", api, body, model="gpt-6-sol", stream=stream)
    return render(exchange, reply, CHAT if api == "chat" else RESPONSES, Ids())


def client(raw: Any) -> Any:
    def send(request: Any) -> Any:
        return httpx2.Response(raw.status, headers=raw.headers, content=b"".join(raw.chunks))

    return openai.OpenAI(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(send)), max_retries=0)


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_whole_chat_reply_is_read_as_it_was_scripted(reply: Reply) -> None:
    made = rendered("chat", reply)
    read = client(made.raw).chat.completions.create(model="gpt-6-sol", messages=QUESTION)
    openai.types.chat.ChatCompletion.model_validate(made.message)
    assert read.to_dict() == made.message
    assert read.usage.prompt_tokens_details.cached_tokens == 1024
    said = read.choices[0].message
    assert said.content == reply.text
    assert [c.function.arguments for c in said.tool_calls or ()] == [
        c.arguments or json.dumps(dict(c.input), separators=(",", ":"), ensure_ascii=False) for c in reply.tools
    ]


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_chat_stream_adds_up_to_the_whole_reply(reply: Reply) -> None:
    whole = rendered("chat", reply).message["choices"][0]
    raw = rendered("chat", reply, stream=True, stream_options={"include_usage": True}).raw
    with client(raw).chat.completions.stream(
        model="gpt-6-sol", messages=QUESTION, stream_options={"include_usage": True}
    ) as stream:
        final = stream.get_final_completion()
    choice = final.choices[0]
    assert choice.finish_reason == whole["finish_reason"]
    assert (choice.message.content or None) == whole["message"]["content"]
    calls = [(c.id, c.function.name, c.function.arguments) for c in choice.message.tool_calls or ()]
    wanted = [
        (c["id"], c["function"]["name"], c["function"]["arguments"]) for c in whole["message"].get("tool_calls", ())
    ]
    assert calls == wanted
    assert final.usage.prompt_tokens_details.cache_write_tokens == 300


def test_counters_are_streamed_only_when_asked_for() -> None:
    silent = b"".join(rendered("chat", Reply(), stream=True).raw.chunks)
    asked = b"".join(rendered("chat", Reply(), stream=True, stream_options={"include_usage": True}).raw.chunks)
    assert b"usage" not in silent
    assert asked.count(b'"usage":null') == asked.count(b"data: {") - 1
    assert silent.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_whole_response_is_read_as_it_was_scripted(reply: Reply) -> None:
    made = rendered("responses", reply)
    read = client(made.raw).responses.create(model="gpt-6-sol", input="hi")
    openai.types.responses.Response.model_validate(made.message)
    # The API echoes `store`, which the SDK's type leaves out.
    assert set(read.model_extra) == {"store"}
    assert read.to_dict() == made.message
    assert read.output_text == (reply.text or "")


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_response_stream_adds_up_to_the_whole_reply(reply: Reply) -> None:
    from pydantic import TypeAdapter

    whole = rendered("responses", reply).message
    raw = rendered("responses", reply, stream=True).raw
    chunks = list(raw.chunks)
    known = TypeAdapter(openai.types.responses.ResponseStreamEvent)
    events = [json.loads(chunk.decode().split("data: ", 1)[1]) for chunk in chunks]
    for event in events:
        known.validate_python(event)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    raw.chunks = chunks
    with client(raw).responses.stream(model="gpt-6-sol", input="hi") as stream:
        final = stream.get_final_response()
    assert [unparsed(item.to_dict()) for item in final.output] == whole["output"]
    assert final.usage.to_dict() == whole["usage"]


def unparsed(value: Any) -> Any:
    """Without what the stream helper adds of its own."""
    if isinstance(value, dict):
        return {key: unparsed(item) for key, item in value.items() if not key.startswith("parsed")}
    return [unparsed(item) for item in value] if isinstance(value, list) else value


def test_events_of_a_response_come_in_the_order_of_real_streams() -> None:
    """The order of recorded streams of the API (gpt-5.4, 2026), piece events once."""
    chunks = rendered("responses", Reply("Look.", tools=[ToolCall("now")]), stream=True).raw.chunks
    names = [chunk.decode().split("\n")[0].removeprefix("event: response.") for chunk in chunks]
    assert names == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, "BadRequestError"), (404, "NotFoundError"), (429, "RateLimitError"), (503, "InternalServerError")],
)
def test_a_failure_is_the_error_the_sdk_knows(status: int, error: str) -> None:
    with pytest.raises(getattr(openai, error), match="too much"):
        client(rendered("chat", Failure(status, "too much")).raw).chat.completions.create(
            model="gpt-6-sol", messages=QUESTION
        )
