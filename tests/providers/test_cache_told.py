"""Where a provider's own count of a request is known, estimates are held against it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cache_requests import MARK, anthropic, chat, gemini, text, user
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.providers.cache.simulate import ProviderCache
from pytest_cachesafe.providers.cache.usage import Tokens
from pytest_cachesafe.providers.checks.check import check_requests
from pytest_cachesafe.providers.exchange import Exchange

TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
NAMES = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def counted(exchange: Exchange, total: int) -> Exchange:
    names = {"chat": {"prompt_tokens": total}, "gemini": {"promptTokenCount": total}}
    return replace(exchange, usage=names.get(exchange.api, {**NAMES, "input_tokens": total}))


def test_what_is_behind_the_marker_is_taken_off_the_providers_count() -> None:
    # About 400 tokens by the estimate, so surely below 1,024; the provider counted 1,100, 9 letters of it are behind.
    system = [text("Rules of the house. " * 80, **MARK)]
    exchange = anthropic([user("Go ahead.")], system=system, model="claude-sonnet-4-5")
    alone = ProviderCache({}).request(exchange)
    assert alone.usage.write == 0
    assert alone.cause == "below-minimum"

    told = ProviderCache({}).request(counted(exchange, 1_100))
    assert told.usage.total == 1_100
    assert 1_080 < told.usage.write < 1_100
    assert told.unsure == ()
    assert not told.usage.exact, "the whole is counted, its parts are not"


@pytest.mark.parametrize("total", [423, 1_023])
def test_a_request_that_is_short_by_the_providers_count_is_not_read(total: int) -> None:
    # By the estimate it is long.
    ask = [user("word " * 3_000)]
    exchanges = [counted(chat([*ask, user("one")], model="gpt-4o"), total) for _ in range(2)]
    provider = ProviderCache({})
    assert [provider.request(e).usage.read for e in exchanges] == [0, 0]


def test_reads_of_older_openai_models_are_whole_units_of_the_providers_count() -> None:
    provider = ProviderCache({})
    exchanges = [counted(chat([user("word " * 3_000)], model="gpt-4o"), 3_333) for _ in range(2)]
    # 3,333 // 128 * 128 = 3,328.
    assert [provider.request(e).usage.read for e in exchanges] == [0, 3_328]


def test_a_model_without_a_known_minimum_does_not_read_what_none_of_its_provider_would() -> None:
    # Every known Gemini model caches from 1,024 on, or later.
    provider = ProviderCache({})
    short = [provider.request(gemini([{"parts": [{"text": "Say hi."}]}], model="gemini-0-none")) for _ in "12"]
    assert [p.usage.read for p in short] == [0, 0]
    assert any("minimum length of this model is not known" in words for words in short[1].unsure)
    assert short[1].cause is None
    long = [provider.request(gemini([{"parts": [{"text": "word " * 9_000}]}], model="gemini-0-none")) for _ in "12"]
    assert long[1].usage.read > 8_000


def test_instructions_for_tools_are_in_the_estimate() -> None:
    messages = [user("hi")]
    plain, with_tools = (
        ProviderCache({}).request(anthropic(messages, **more)).total for more in ({}, {"tools": [TOOL]})
    )
    written = ProviderCache({}).counter.text('{"name":"look"}')
    assert with_tools.high > plain.high + written.high + 500
    assert with_tools.low < 60, "nothing says that every model has them"
    exact = ProviderCache({}, len).request(anthropic(messages, tools=[TOOL])).total
    assert exact.exact, "a counter of the user's counts what is sent"


def test_the_check_goes_by_the_providers_count() -> None:
    system = [text("Rules of the house. " * 80, **MARK)]
    exchange = anthropic([user("Go ahead.")], system=system, model="claude-sonnet-4-5", tools=[TOOL])
    assert [f.code for f in check_requests([exchange]).findings] == ["maybe-below-minimum"]
    assert check_requests([counted(exchange, 1_400)]).findings == []
    assert [f.code for f in check_requests([counted(exchange, 900)]).findings] == ["below-minimum"]


def test_a_count_with_what_the_providers_own_tools_found_says_nothing_of_lengths() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    exchange = anthropic([user("News?")], system=[text("Be brief.", **MARK)], model="claude-sonnet-4-6", tools=tools)
    usage = ProviderCache({}).request(counted(exchange, 404_066)).usage
    assert usage.read + usage.write + usage.uncached == usage.total == 404_066
    bare = anthropic([user("News?")], system="Be brief.", model="claude-sonnet-4-6", tools=tools)
    report = check_requests([counted(bare, 404_066), counted(bare, 404_066)])
    assert report.findings == [], "what was sent is not surely long"


@given(st.lists(st.sampled_from(["a" * 5_000, "b" * 90, "", "c d " * 300]), min_size=1, max_size=5), st.data())
@settings(deadline=None, max_examples=60)
def test_parts_always_add_up_to_the_providers_count(words: list[str], data: st.DataObject) -> None:
    total = data.draw(st.integers(1, 20_000))
    marked = data.draw(st.integers(0, len(words) - 1))
    blocks: list[Any] = [text(w or "x", **(MARK if i == marked else {})) for i, w in enumerate(words)]
    provider = ProviderCache({})
    for exchange in (anthropic([user(*blocks)], at=0.0), anthropic([user(*blocks)], at=1.0)):
        usage = provider.request(counted(exchange, total)).usage
        assert usage.total == total
        assert usage.read + usage.write + usage.uncached == total
        assert min(usage.read, usage.write, usage.uncached) >= 0


@given(*[st.tuples(*[st.integers(0, 900)] * 3).map(sorted)] * 2, st.integers(0, 4_000))
@settings(deadline=None)
def test_a_prefix_is_never_longer_than_the_whole(front: list[int], rest: list[int], told: int) -> None:
    prefix, tail = Tokens(*front), Tokens(*rest)
    found = prefix.within(prefix + tail, told)
    assert 0 <= found.low <= found.best <= found.high
    assert found.high <= told or prefix.exact
