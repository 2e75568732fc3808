"""OpenAI's caches by generation of models, Gemini's implicit one."""

from __future__ import annotations

from typing import Any

import pytest
from cache_requests import chat, gemini, letters, responses, text, user

from pytest_cachesafe.providers.cache.simulate import Prediction, ProviderCache
from pytest_cachesafe.providers.exchange import Exchange

POINT = {"prompt_cache_breakpoint": {"mode": "explicit"}}
LATE = {"prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}}
RULES = {"role": "developer", "content": "r" * 1_024}


def split(prediction: Prediction) -> tuple[int, int, int]:
    """(written, read, uncached)"""
    usage = prediction.usage
    return usage.write, usage.read, usage.uncached


def cache() -> ProviderCache:
    return ProviderCache({}, letters)


def answer(words: str) -> dict[str, Any]:
    return {"role": "assistant", "content": words}


# GPT-5.6 and later.


def test_the_implicit_breakpoint_is_read_by_the_next_turn() -> None:
    provider = cache()
    assert split(provider.request(chat([RULES, user("q" * 10)]))) == (1_034, 0, 0)
    # Behind the entry at the end of the first user message: 2 of the answer, 3 of the question.
    assert split(provider.request(chat([RULES, user("q" * 10), answer("ok"), user("and")]))) == (5, 1_034, 0)


def test_what_follows_the_last_breakpoint_is_ordinary_input() -> None:
    assert split(cache().request(chat([RULES, user("q"), answer("prefix")]))) == (1_025, 0, 6)


def test_a_message_that_grows_moves_the_boundary_inside_it() -> None:
    provider = cache()
    provider.request(chat([RULES, user("question")]))
    miss = provider.request(chat([RULES, user("question and more")]))
    assert miss.usage.read == 0
    # Unless the rules end in a breakpoint of their own.
    provider = cache()
    marked = {"role": "developer", "content": [text("r" * 1_024, **POINT)]}
    provider.request(chat([marked, user("question")]))
    assert provider.request(chat([marked, user("question and more")])).usage.read == 1_024


def test_the_end_of_the_developer_messages_is_a_boundary_to_read() -> None:
    provider = cache()
    # Here it was the latest eligible end, so an entry is there.
    provider.request(chat([RULES]))
    assert provider.request(chat([RULES, *([user("a"), answer("b")] * 30), user("c")])).usage.read == 1_024


def test_explicit_mode_without_breakpoints_does_not_cache() -> None:
    provider = cache()
    for _ in range(2):
        found = provider.request(chat([RULES, user("q")], prompt_cache_options={"mode": "explicit"}))
        assert split(found) == (0, 0, 1_025)
        assert found.cause == "no-marker"


def test_switching_to_explicit_mode_loses_the_implicit_boundary() -> None:
    provider = cache()
    provider.request(chat([RULES, user("q")]))
    marked = {"role": "developer", "content": [text("r" * 1_024, **POINT)]}
    found = provider.request(chat([marked, user("q"), user("more")], prompt_cache_options={"mode": "explicit"}))
    assert split(found) == (1_024, 0, 5)


def test_four_writes_a_request_the_implicit_one_among_them() -> None:
    parts = [text("a" * 2_000, **POINT), *(text(c * 100, **POINT) for c in "bcd")]
    question = {"role": "user", "content": [*parts, text("end")]}
    provider = cache()
    provider.request(chat([question]))
    # The latest three explicit ones and the end: the first of four was not written.
    only_first = {"role": "user", "content": [text("a" * 2_000, **POINT), text("else")]}
    assert provider.request(chat([only_first])).usage.read == 0
    two = {"role": "user", "content": [*parts[:2], text("else")]}
    assert provider.request(chat([two])).usage.read == 2_100
    explicit = cache()
    explicit.request(chat([question], prompt_cache_options={"mode": "explicit"}))
    assert explicit.request(chat([only_first], prompt_cache_options={"mode": "explicit"})).usage.read == 2_000


def test_lifetimes_of_breakpoints() -> None:
    question = {"role": "user", "content": [text("a" * 2_000, **LATE), text("b" * 10)]}
    first = cache().request(responses([question]))
    # Up to the 12h breakpoint, then up to the implicit one with the request's 30m.
    assert dict(first.usage.written) == {"12h": 2_000, "30m": 10}
    provider = cache()
    at = [0, 1_700, 3_400, 5_200]
    asked = [chat([RULES, user("q")], at=t) for t in at]
    read = []
    for exchange in asked:
        read.append(provider.request(exchange).usage.read)
        provider.began(exchange, exchange.sent_at or 0.0)
    # Reuse renews: 1,700 and 3,400 are within 1,800 of the last use, 5,200 is not.
    assert read == [0, 1_025, 1_025, 0]


@pytest.mark.parametrize(("n", "written"), [(1_023, 0), (1_024, 1_024)])
def test_minimum(n: int, written: int) -> None:
    found = cache().request(chat([user("q" * n)]))
    assert found.usage.write == written
    assert (found.cause == "below-minimum") is (written == 0)


@pytest.mark.parametrize(
    "change",
    [
        {"prompt_cache_key": "b"}, {"reasoning_effort": "low"}, {"verbosity": "low"}, {"service_tier": "flex"},
        {"response_format": {"type": "json_object"}}, {"parallel_tool_calls": False}, {"model": "gpt-6.1-sol"},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
    ],
)  # fmt: skip
def test_what_breaks_the_prefix(change: dict[str, Any]) -> None:
    provider = cache()
    provider.request(chat([RULES, user("q")]))
    assert provider.request(chat([RULES, user("q")])).usage.read == 1_025
    assert provider.request(chat([RULES, user("q")], **change)).usage.read == 0


@pytest.mark.parametrize(
    "change", [{"tool_choice": "none"}, {"temperature": 0}, {"user": "u"}, {"verbosity": "medium"}]
)
def test_what_does_not(change: dict[str, Any]) -> None:
    provider = cache()
    provider.request(chat([RULES, user("q")]))
    assert provider.request(chat([RULES, user("q")], **change)).usage.read == 1_025


def test_an_endpoint_has_its_own_cache() -> None:
    provider = cache()
    provider.request(chat([RULES, user("q")]))
    assert provider.request(responses([RULES, {"role": "user", "content": "q"}])).usage.read == 0


def test_history_that_the_provider_holds_is_put_in_front() -> None:
    provider = cache()
    first = responses([RULES, {"role": "user", "content": "q"}])
    provider.request(first)
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}
    first.reply, first.status = {"id": "resp_1", "output": [said]}, 200
    second = provider.request(responses("and", previous_response_id="resp_1"))
    # 1,024 + 1 are read; "ok" and "and" are new.
    assert split(second) == (5, 1_025, 0)
    unknown = provider.request(responses("and", previous_response_id="resp_9"))
    assert unknown.usage.total == 3
    assert any("was not seen" in words for words in unknown.unsure)


def test_a_conversation_that_the_provider_holds_grows() -> None:
    provider = cache()
    totals = []
    for n in range(3):
        exchange = responses("a" * 1_024, conversation={"id": "conv_1"})
        found = provider.request(exchange)
        totals.append(found.usage.total)
        # What was in it before the first request was not seen.
        assert any("was not seen" in words for words in found.unsure) is (n == 0)
        said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}
        exchange.reply, exchange.status = {"id": f"resp_{n}", "output": [said]}, 200
    assert totals == [1_024, 2_050, 3_076]
    assert found.usage.read == 2_050


# GPT-5.5, and before.


def test_before_5_6_any_prefix_counts_in_steps_of_128() -> None:
    provider = cache()
    first = provider.request(chat([user("a" * 1_500)], model="gpt-5"))
    assert split(first) == (0, 0, 1_500)
    # 1,500 letters are shared, in the middle of a text: 11 times 128 are 1,408.
    second = provider.request(chat([user("a" * 1_500 + "b" * 100)], model="gpt-5"))
    assert split(second) == (0, 1_408, 192)
    assert second.usage.written == ()
    assert any("before GPT-5.6" in words for words in second.unsure)


def test_gpt_5_5_has_a_boundary_every_2048_tokens() -> None:
    provider = cache()
    provider.request(chat([user("a" * 5_000)], model="gpt-5.5"))
    # Two times 2,048.
    assert provider.request(chat([user("a" * 5_000), user("b")], model="gpt-5.5")).usage.read == 4_096
    provider.request(chat([user("b" * 2_000)], model="gpt-5.5"))
    assert provider.request(chat([user("b" * 2_000)], model="gpt-5.5")).usage.read == 0


@pytest.mark.parametrize(("shared", "read"), [(1_023, 0), (1_024, 1_024), (1_151, 1_024), (1_152, 1_152)])
def test_the_minimum_and_the_floor(shared: int, read: int) -> None:
    provider = cache()
    provider.request(chat([user("a" * shared)], model="gpt-4.1"))
    assert provider.request(chat([user("a" * shared), user("b")], model="gpt-4.1")).usage.read == read


def test_only_what_is_really_shared_is_read() -> None:
    provider = cache()
    provider.request(chat([user("a" * 2_000 + "b" * 2_000)], model="gpt-5"))
    # 2,000 shared letters: 15 times 128 are 1,920.
    assert provider.request(chat([user("a" * 2_000 + "c" * 2_000)], model="gpt-5")).usage.read == 1_920
    assert provider.request(chat([user("x" + "a" * 2_000)], model="gpt-5")).usage.read == 0


def test_in_memory_is_gone_before_a_day() -> None:
    for more, read in (({"prompt_cache_retention": "in_memory"}, 0), ({}, 1_408)):
        provider = cache()
        for at in (0, 1_000):
            exchange = chat([user("a" * 1_500)], model="gpt-5", at=at, **more)
            found = provider.request(exchange)
            provider.began(exchange, at)
        assert found.usage.read == read


def test_a_model_of_no_known_generation_reads_nothing_and_says_so() -> None:
    provider = cache()
    for _ in range(2):
        found = provider.request(chat([user("a" * 5_000)], model="Qwen/Qwen3-8B"))
        assert split(found) == (0, 0, 5_000)
        assert any("Qwen/Qwen3-8B" in words for words in found.unsure)


def test_an_azure_deployment_says_nothing_of_its_model() -> None:
    exchange = Exchange(
        "openai", "chat", {"messages": [user("a" * 2_000)]}, model="gpt-5",
        path="/openai/deployments/gpt-5/chat/completions",
    )  # fmt: skip
    assert any("not known" in words for words in cache().request(exchange).unsure)


# Gemini.


def test_gemini_promises_nothing() -> None:
    provider = cache()
    contents = [{"role": "user", "parts": [{"text": "a" * 3_000}]}]
    assert provider.request(gemini(contents)).usage.read == 0
    found = provider.request(gemini([*contents, {"role": "model", "parts": [{"text": "b"}]}]))
    assert found.usage.read == 3_000
    assert any("best effort" in words for words in found.unsure)
    short = [{"role": "user", "parts": [{"text": "a" * 2_000}]}]
    provider.request(gemini(short))
    # 2,048 are the minimum of gemini-2.5-pro.
    assert provider.request(gemini(short)).usage.read == 0


def test_what_a_cached_content_holds_is_not_known() -> None:
    found = cache().request(gemini([{"parts": [{"text": "q"}]}], cachedContent="cachedContents/1"))
    assert any("cachedContents/1" in words for words in found.unsure)
