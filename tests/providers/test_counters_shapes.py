"""Counters in the providers' own shapes, checked with the SDKs' types, and back."""

from __future__ import annotations

from typing import Any

import pytest
from cache_requests import anthropic, chat, converse, gemini, responses, user
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.providers.cache.counters import counters, from_counters
from pytest_cachesafe.providers.cache.usage import Usage
from pytest_cachesafe.providers.exchange import Exchange

MESSAGES = anthropic([user("q")])
INVOKE = Exchange("bedrock", "invoke", MESSAGES.body)
CHAT, RESPONSES, CONVERSE = chat([user("q")]), responses("q"), converse([])
GEMINI = gemini([{"parts": [{"text": "q"}]}])

NUMBERS = st.integers(0, 10_000_000)


def usages(*ttls: str) -> st.SearchStrategy[Usage]:
    def made(read: int, uncached: int, output: int, written: dict[str, int]) -> Usage:
        kept = tuple((ttl, n) for ttl, n in written.items() if n)
        return Usage(read + uncached + sum(n for _, n in kept), read, uncached, kept, exact=True, output=output)

    return st.builds(made, NUMBERS, NUMBERS, NUMBERS, st.fixed_dictionaries(dict.fromkeys(ttls, NUMBERS)))


@given(usages("5m", "1h"))
@settings(deadline=None)
def test_anthropic_and_bedrock_read_back_what_was_written(usage: Usage) -> None:
    for exchange in (MESSAGES, INVOKE, CONVERSE):
        back = from_counters(counters(usage, exchange), exchange)
        assert dict(back.written) == dict(usage.written)
        assert (back.total, back.read, back.uncached, back.output) == (
            usage.total, usage.read, usage.uncached, usage.output,
        )  # fmt: skip


@given(usages("30m", "12h"))
@settings(deadline=None)
def test_openai_reads_back_what_was_written(usage: Usage) -> None:
    back = from_counters(counters(usage, RESPONSES), RESPONSES)
    assert (dict(back.written), back.uncached) == (dict(usage.written), usage.uncached)
    # Chat Completions do not tell lifetimes apart: all is 30m then.
    back = from_counters(counters(usage, CHAT), CHAT)
    assert (back.total, back.read, back.write, back.uncached) == (usage.total, usage.read, usage.write, usage.uncached)


@given(usages())
@settings(deadline=None)
def test_gemini_reads_back_what_was_written(usage: Usage) -> None:
    assert from_counters(counters(usage, GEMINI), GEMINI) == usage


@given(usages("5m", "1h"))
@settings(deadline=None)
def test_counters_always_add_up_to_the_input(usage: Usage) -> None:
    one = counters(usage, MESSAGES)
    assert one["input_tokens"] + one["cache_creation_input_tokens"] + one["cache_read_input_tokens"] == usage.total
    assert sum(one["cache_creation"].values()) == one["cache_creation_input_tokens"]
    two = counters(usage, CONVERSE)
    assert two["inputTokens"] + two["cacheReadInputTokens"] + two["cacheWriteInputTokens"] == usage.total
    assert two["totalTokens"] == usage.total + usage.output


USAGE = Usage(111, 100, 1, (("5m", 8), ("1h", 2)), exact=True, output=5)


def test_anthropic_sdk_types() -> None:
    types = pytest.importorskip("anthropic.types", reason="checks against the anthropic SDK's types")
    whole = types.Usage.model_validate(counters(USAGE, MESSAGES), strict=True)
    assert (whole.input_tokens, whole.cache_read_input_tokens, whole.cache_creation_input_tokens) == (1, 100, 10)
    assert whole.cache_creation.ephemeral_1h_input_tokens == 2
    start = counters(USAGE, MESSAGES, "message_start")
    assert start == counters(USAGE, MESSAGES)
    # The last event has the totals only.
    delta = counters(USAGE, MESSAGES, "message_delta")
    assert "cache_creation" not in delta
    assert set(delta) <= set(types.MessageDeltaUsage.model_fields)
    assert types.MessageDeltaUsage.model_validate(delta, strict=True).cache_creation_input_tokens == 10
    # Everything of a stream without a split is 5m.
    assert from_counters(delta, MESSAGES).written == (("5m", 10),)


def test_openai_sdk_types() -> None:
    types = pytest.importorskip("openai.types", reason="checks against the openai SDK's types")
    usage = Usage(111, 100, 1, (("30m", 8), ("12h", 2)), exact=True, output=5)
    one = types.CompletionUsage.model_validate(counters(usage, CHAT), strict=True)
    assert (one.prompt_tokens, one.total_tokens) == (111, 116)
    assert one.prompt_tokens_details is not None
    assert (one.prompt_tokens_details.cached_tokens, one.prompt_tokens_details.cache_write_tokens) == (100, 10)
    two = types.responses.ResponseUsage.model_validate(counters(usage, RESPONSES), strict=True)
    assert two.input_tokens_details.cache_write_tokens_details is not None
    assert two.input_tokens_details.cache_write_tokens_details.ttl_12h_tokens == 2


def test_gemini_sdk_types() -> None:
    types = pytest.importorskip("google.genai.types", reason="checks against the google-genai SDK's types")
    usage = Usage(111, 100, 11, exact=True, output=5)
    found = types.GenerateContentResponseUsageMetadata.model_validate(counters(usage, GEMINI))
    assert (found.prompt_token_count, found.cached_content_token_count, found.total_token_count) == (111, 100, 116)
    assert "cachedContentTokenCount" not in counters(Usage(11, 0, 11), GEMINI)


def test_bedrock_shape() -> None:
    session = pytest.importorskip("botocore.session", reason="checks against boto3's service model")
    shape = session.get_session().get_service_model("bedrock-runtime").shape_for("TokenUsage")
    found = counters(USAGE, CONVERSE)
    assert set(found) <= set(shape.members)
    # Longest lifetime first.
    assert found["cacheDetails"] == [{"ttl": "1h", "inputTokens": 2}, {"ttl": "5m", "inputTokens": 8}]
    assert set(found["cacheDetails"][0]) == set(shape.members["cacheDetails"].member.members)
    assert "cacheDetails" not in counters(Usage(1, 0, 1), CONVERSE)


@pytest.mark.parametrize(
    ("exchange", "given", "expected"),
    [
        (MESSAGES, {}, (0, 0, 0, 0)),
        (
            MESSAGES,
            {"input_tokens": 5, "cache_creation_input_tokens": None, "cache_read_input_tokens": None},
            (5, 0, 0, 5),
        ),
        # LangChain's way: no total, but a split.
        (MESSAGES, {"input_tokens": 5, "cache_creation": {"ephemeral_5m_input_tokens": 10}}, (15, 0, 10, 5)),
        (CHAT, {"prompt_tokens": 9, "prompt_tokens_details": None}, (9, 0, 0, 9)),
        (RESPONSES, {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}}, (9, 4, 0, 5)),
        (GEMINI, {"prompt_token_count": 9, "cached_content_token_count": 4}, (9, 4, 0, 5)),
        (CONVERSE, {"inputTokens": 5, "cacheWriteInputTokens": 7}, (12, 0, 7, 5)),
    ],
)
def test_what_is_absent_or_null_is_nothing(
    exchange: Exchange, given: dict[str, Any], expected: tuple[int, ...]
) -> None:
    usage = from_counters(given, exchange)
    assert (usage.total, usage.read, usage.write, usage.uncached) == expected
