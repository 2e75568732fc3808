"""OpenTelemetry GenAI spans: as the Python SDK prints them, and as OTLP JSON, become bodies of their providers."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest

from pytest_cachesafe.messages import to_chat
from pytest_cachesafe.providers.capture.readers import parse_exchanges
from pytest_cachesafe.usage import UsageError

SYSTEM = [{"type": "text", "content": "You are kind."}]
TOOLS = [
    {"type": "function", "name": "look", "description": "Look", "parameters": {"type": "object", "properties": {}}}
]
CALL = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"city": "Zürich"}}
MESSAGES = [
    {"role": "user", "parts": [{"type": "text", "content": "hi"}]},
    {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, CALL]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "sunny"}]},
]
OUTPUT = [{"role": "assistant", "parts": [{"type": "text", "content": "fine"}], "finish_reason": "stop"}]


def attributes(provider: str, messages: Any = MESSAGES, **more: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": "m-1",
        "gen_ai.system_instructions": json.dumps(SYSTEM),
        "gen_ai.tool.definitions": json.dumps(TOOLS),
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps(OUTPUT),
        "gen_ai.response.id": "r1",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_creation.input_tokens": 30,
        "server.address": "api.example",
    } | {key.replace("__", "."): value for key, value in more.items()}


def any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(v) for v in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": k, "value": any_value(v)} for k, v in value.items()]}}
    return {"stringValue": value}


def otlp(*spans: dict[str, Any], start: int = 1_764_000_000_000_000_000) -> dict[str, Any]:
    made = [
        {
            "traceId": "5b8efff798038103d269b633813fc60c",
            "spanId": f"eee19b7ec3c1b1{n:02x}",
            "name": "chat m-1",
            "kind": 3,
            "startTimeUnixNano": str(start + n * 2_000_000_000),
            "endTimeUnixNano": str(start + n * 2_000_000_000 + 500_000_000),
            "attributes": [{"key": key, "value": any_value(value)} for key, value in span.items()],
        }
        for n, span in enumerate(spans)
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": made}]}]}


def test_spans_as_the_sdk_prints_them() -> None:
    trace = pytest.importorskip("opentelemetry.sdk.trace", reason="needs the OpenTelemetry SDK, which prints the spans")
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

    out = io.StringIO()
    provider = trace.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=out)))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
        for messages in (MESSAGES[:1], MESSAGES):
            with tracer.start_as_current_span("chat m-1", attributes=attributes("anthropic", messages)):
                pass
    provider.shutdown()
    first, second = parse_exchanges(out.getvalue())
    assert [len(e.body["messages"]) for e in (first, second)] == [1, 3]
    assert first.body["messages"] == second.body["messages"][:1]
    assert first.sent_at == 0.0
    assert second.sent_at is not None
    assert first.began_at is not None
    assert 0.0 <= first.began_at <= second.sent_at
    assert set(first.omits) == {"markers", "settings"}


def test_spans_of_a_framework() -> None:
    trace = pytest.importorskip("opentelemetry.sdk.trace", reason="needs the OpenTelemetry SDK, which prints the spans")
    pydantic_ai = pytest.importorskip("pydantic_ai", reason="needs pydantic-ai, whose spans are read")
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
    from pydantic_ai.models.instrumented import InstrumentationSettings, InstrumentedModel
    from pydantic_ai.models.test import TestModel

    out = io.StringIO()
    provider = trace.TracerProvider()
    one_line = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + "\n")
    provider.add_span_processor(SimpleSpanProcessor(one_line))
    model = InstrumentedModel(TestModel(), InstrumentationSettings(tracer_provider=provider))
    agent = pydantic_ai.Agent(model, instructions="Be kind.")

    @agent.tool_plain
    def look(city: str) -> str:
        """Look up."""
        return "sunny"

    asyncio.run(agent.run("hi"))
    provider.shutdown()
    with pytest.raises(UsageError, match=r"provider 'test' is not known; give the one whose rules hold"):
        parse_exchanges(out.getvalue())
    first, second = parse_exchanges(out.getvalue(), provider="anthropic")
    assert first.body["system"] == [{"type": "text", "text": "Be kind."}]
    assert first.body["tools"][0]["name"] == "look"
    assert first.body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert second.body["messages"][:1] == first.body["messages"]
    call, result = second.body["messages"][1]["content"][0], second.body["messages"][2]["content"][0]
    assert (call["type"], call["name"]) == ("tool_use", "look")
    assert (result["type"], result["tool_use_id"], result["content"]) == ("tool_result", call["id"], "sunny")


EXPECTED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "anthropic": ("anthropic", "messages", {
        "input_tokens": 10, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 60, "output_tokens": 7,
    }),
    "openai": ("openai", "chat", {
        "prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
    }),
    "azure.ai.openai": ("openai", "chat", {
        "prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
    }),
    "gcp.gemini": ("gemini", "gemini", {
        "promptTokenCount": 100, "candidatesTokenCount": 7, "totalTokenCount": 107, "cachedContentTokenCount": 60,
    }),
    "aws.bedrock": ("bedrock", "converse", {
        "inputTokens": 10, "outputTokens": 7, "totalTokens": 107,
        "cacheReadInputTokens": 60, "cacheWriteInputTokens": 30,
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_otlp_json_becomes_the_providers_own_body_and_counters(name: str) -> None:
    provider, api, usage = EXPECTED[name]
    (found,) = parse_exchanges(json.dumps(otlp(attributes(name))))
    assert (found.provider, found.api, found.model, found.host) == (provider, api, "m-1", "api.example")
    assert found.usage == usage
    # The wire formats read it: system, question, call, result.
    chat = to_chat(found.body, wire=found.wire)
    assert [m["role"] for m in chat.messages] == ["system", "user", "assistant", "tool"]
    assert chat.messages[2]["tool_calls"][0]["function"]["name"] == "look"
    assert chat.tools is not None
    assert chat.notes == () or all("unknown" not in note for note in chat.notes)
    from pytest_cachesafe.providers.chats import answer_text

    found.status = 200
    assert answer_text(found) == "fine"


@pytest.mark.parametrize("name", ["anthropic", "openai", "gcp.gemini", "aws.bedrock"])
def test_a_growing_conversation_only_appends(name: str) -> None:
    spans = [attributes(name, MESSAGES[:1]), attributes(name, MESSAGES)]
    first, second = parse_exchanges(json.dumps(otlp(*spans)))
    key = "contents" if name == "gcp.gemini" else "messages"
    assert second.body[key][: len(first.body[key])] == first.body[key]
    assert (first.sent_at, first.began_at, second.sent_at) == (0.0, 0.5, 2.0)


def test_structured_attributes_and_one_document_a_line() -> None:
    plain = attributes("anthropic")
    for key in ("gen_ai.input.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions"):
        plain[key] = json.loads(plain[key])
    lines = "\n".join(
        [json.dumps(otlp(plain)), json.dumps(otlp(attributes("anthropic"), start=1_764_000_100_000_000_000))]
    )
    first, second = parse_exchanges(lines)
    assert first.body == second.body
    assert second.sent_at == 100.0


def test_what_the_conventions_have_no_word_for_is_kept() -> None:
    odd = [
        {
            "role": "user",
            "parts": [{"type": "hologram", "depth": 3}, {"type": "uri", "modality": "image", "uri": "https://h/i"}],
        }
    ]
    (found,) = parse_exchanges(json.dumps(otlp(attributes("anthropic", odd))))
    kept, image = found.body["messages"][0]["content"]
    assert kept == {"type": "hologram", "depth": 3}
    assert image == {"type": "image", "source": {"type": "url", "url": "https://h/i"}}


def test_counters_that_leave_cached_tokens_out_are_taken_as_they_are() -> None:
    # 14 in, 2,823 read: more read than counted, so the count is Anthropic's own.
    more = {"gen_ai__usage__input_tokens": 14, "gen_ai__usage__cache_read__input_tokens": 2823}
    given = attributes("anthropic", **more) | {"gen_ai.usage.cache_creation.input_tokens": 0}
    given |= {"gen_ai.usage.input_tokens": 14, "gen_ai.usage.cache_read.input_tokens": 2823}
    (found,) = parse_exchanges(json.dumps(otlp(given)))
    assert found.usage is not None
    assert (found.usage["input_tokens"], found.usage["cache_read_input_tokens"]) == (14, 2823)


@pytest.mark.parametrize(
    ("spans", "words"),
    [
        ([{"http.request.method": "GET"}], "requests: 1 spans, none of them a call of a model"),
        ([{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x"}], "none of them a call of a model"),
        ([{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}], "their messages were not recorded"),
        ([attributes("mystery")], "provider 'mystery' is not known; give the one whose rules hold"),
        (
            [attributes("anthropic") | {"gen_ai.input.messages": '[{"role": "us'}],
            "gen_ai.input.messages is no JSON (13 ch",
        ),
        ([attributes("anthropic") | {"gen_ai.input.messages": "{}"}], "gen_ai.input.messages is dict; a list is meant"),
    ],
)
def test_spans_that_cannot_be_read_are_told_in_one_line(spans: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_exchanges(json.dumps(otlp(*spans)))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
