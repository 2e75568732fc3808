"""Anthropic's documented cache: entries, lookback, lifetimes, billing, and what voids what."""

from __future__ import annotations

from typing import Any

import pytest
from cache_requests import HOUR, MARK, NO_MINIMUM, anthropic, letters, said, text, user

from pytest_cachesafe.providers.cache.counters import counters
from pytest_cachesafe.providers.cache.simulate import Prediction, ProviderCache
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.usage import UsageError

RULES = [text("rules", **MARK)]


def cache(**more: Any) -> ProviderCache:
    """Counts letters; nothing is too short."""
    return ProviderCache(NO_MINIMUM, letters, **more)


def split(prediction: Prediction) -> tuple[int, int, int]:
    """(written, read, uncached)"""
    usage = prediction.usage
    return usage.write, usage.read, usage.uncached


# The article's example.

COUNTS = {"S": 2823, "q": 14, "Q": 17, "s": 300}


def counted(words: str) -> int:
    return COUNTS[words[0]]


def article(question: str, *, system: Any = None, marked: bool = False) -> Exchange:
    system = [text("S" * 14_400, **MARK)] if system is None else system
    content = [text(question, **MARK)] if marked else question
    return anthropic([{"role": "user", "content": content}], system=system, model="claude-sonnet-4-6")


def test_the_system_text_is_written_once_and_then_read() -> None:
    provider = ProviderCache({}, counted)
    assert split(provider.request(article("q"))) == (2823, 0, 14)
    second = provider.request(article("Q"))
    assert split(second) == (0, 2823, 17)
    assert second.usage.exact
    assert second.read_at == "system[0]"


def test_a_marker_on_the_changing_message_writes_every_time_and_never_reads() -> None:
    provider = ProviderCache({}, counted)
    plain = [text("S" * 14_400)]
    # 2823 + 14, 2823 + 17
    assert split(provider.request(article("q", system=plain, marked=True))) == (2837, 0, 0)
    assert split(provider.request(article("Q", system=plain, marked=True))) == (2840, 0, 0)


def test_a_short_text_is_not_cached_and_it_is_said() -> None:
    provider = ProviderCache({}, counted)
    short = [text("s" * 1_440, **MARK)]
    for question, n in (("q", 14), ("Q", 17)):
        prediction = provider.request(article(question, system=short))
        assert split(prediction) == (0, 0, 300 + n)
        assert prediction.cause == "below-minimum"


def test_without_a_counter_the_same_comes_out_as_an_estimate() -> None:
    provider = ProviderCache({})
    first, second = provider.request(article("q")), provider.request(article("Q"))
    assert not first.usage.exact
    assert first.usage.write == second.usage.read > 0
    assert first.total.low < first.total.best < first.total.high


# The documented lookback.


def blocks(n: int, *marked: int) -> Exchange:
    """One message of n text blocks of one token each; blocks count from 1 as in the documentation."""
    return anthropic([user(*(text(chr(96 + i), **(MARK if i in marked else {})) for i in range(1, n + 1)))])


def test_the_documented_example_of_the_lookback() -> None:
    provider = cache()
    # Entry at 10.
    assert split(provider.request(blocks(10, 10))) == (10, 0, 0)
    # 15 blocks: found at 10, five written.
    assert split(provider.request(blocks(15, 15))) == (5, 10, 0)
    # 35 blocks with one marker: positions 35 to 16 are checked, 15 is one outside.
    miss = provider.request(blocks(35, 35))
    assert split(miss) == (35, 0, 0)
    assert miss.cause == "out-of-lookback"


def test_a_second_marker_at_15_hits() -> None:
    provider = cache()
    provider.request(blocks(15, 15))
    assert split(provider.request(blocks(35, 15, 35))) == (20, 15, 0)


@pytest.mark.parametrize(("added", "read"), [(19, 10), (20, 0)])
def test_the_marker_itself_is_the_first_of_twenty_positions(added: int, read: int) -> None:
    provider = cache()
    provider.request(blocks(10, 10))
    # 29 - 10 = 19 steps back is the 20th position; 30 - 10 is the 21st.
    assert provider.request(blocks(10 + added, 10 + added)).usage.read == read


def test_a_run_of_tool_blocks_is_one_position() -> None:
    calls = [{"type": "tool_use", "id": str(i), "name": "f", "input": {}} for i in range(30)]
    results = [{"type": "tool_result", "tool_use_id": str(i), "content": "r"} for i in range(30)]
    start = [user(text("q", **MARK))]
    grown = [user("q"), said(*calls), user(*results, text("t", **MARK))]
    provider = cache()
    provider.request(anthropic(start))
    # 61 blocks further, three positions further.
    assert provider.request(anthropic(grown)).usage.read == 1
    body = {"messages": start}
    invoke = cache()
    invoke.request(Exchange("bedrock", "invoke", body, model="anthropic.claude-opus-5-5"))
    found = invoke.request(Exchange("bedrock", "invoke", {"messages": grown}, model="anthropic.claude-opus-5-5"))
    assert found.usage.read == 0
    assert found.cause == "out-of-lookback"


def test_nothing_is_written_between_markers() -> None:
    provider = cache()
    provider.request(blocks(10, 10))
    # Nine of the ten blocks are shared, but the only entry is at 10.
    other = anthropic([user(*(text(c) for c in "abcdefghi"), text("X", **MARK))])
    assert split(provider.request(other)) == (10, 0, 0)


def test_a_prefix_of_what_was_written_is_no_entry() -> None:
    provider = cache()
    provider.request(blocks(10, 10))
    assert provider.request(blocks(5, 5)).usage.read == 0


# Billing.


def three(first: dict[str, Any], second: dict[str, Any], third: dict[str, Any]) -> Exchange:
    """Three blocks of 100, 10 and 1 tokens, and an unmarked one of 7."""
    return anthropic(
        [user(text("a" * 100, **first), text("b" * 10, **second), text("c", **third), text("unmark" + "d"))]
    )


def test_billing_of_mixed_lifetimes() -> None:
    provider = cache()
    first = provider.request(three(HOUR, HOUR, MARK))
    # A = 0; B = 110 at the last 1h marker; C = 111.
    assert dict(first.usage.written) == {"1h": 110, "5m": 1}
    assert split(first) == (111, 0, 7)


def test_billing_behind_a_hit() -> None:
    provider = cache()
    provider.request(anthropic([user(text("a" * 100, **HOUR))]))
    # A = 100 at the hit; B = 110 at the last 1h marker behind it; C = 111.
    second = provider.request(three(HOUR, HOUR, MARK))
    assert second.usage.read == 100
    assert dict(second.usage.written) == {"1h": 10, "5m": 1}
    provider.reset()
    provider.request(anthropic([user(text("a" * 100), text("b" * 10, **HOUR))]))
    # A = 110: no 1h marker behind it, B = A.
    third = provider.request(three(HOUR, HOUR, MARK))
    assert (third.usage.read, dict(third.usage.written)) == (110, {"5m": 1})


def test_the_provider_marks_results_of_its_own_tools_for_five_minutes() -> None:
    result = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    messages = [user("q"), said({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, result)]
    provider = cache()
    hour = provider.request(anthropic(messages, system=[text("rules", **HOUR)]))
    assert dict(hour.usage.written)["1h"] == len("rules")
    assert dict(hour.usage.written)["5m"] > 0
    # Without any marker it adds none.
    assert cache().request(anthropic(messages)).usage.write == 0


# Time.


def clocked(at: float, **more: Any) -> Exchange:
    return anthropic([user("q")], system=[text("rules", **MARK)], at=at, **more)


def ask(provider: ProviderCache, exchange: Exchange, began: float | None = None) -> Prediction:
    prediction = provider.request(exchange)
    assert exchange.sent_at is not None
    provider.began(exchange, exchange.sent_at if began is None else began)
    return prediction


def test_a_lifetime_counts_from_the_start_of_the_request() -> None:
    provider = cache()
    # A stream whose first byte came after 4 minutes leaves one minute.
    ask(provider, clocked(0), began=240)
    assert ask(provider, clocked(299)).usage.read == 5
    other = cache()
    ask(other, clocked(0), began=240)
    late = ask(other, clocked(300))
    assert late.usage.read == 0
    assert late.cause == "expired"


def test_reading_renews_an_entry_for_its_own_lifetime() -> None:
    provider = cache()
    for n, at in enumerate((0, 200, 400, 600, 899)):
        assert ask(provider, clocked(at)).usage.read == (5 if n else 0)
    assert ask(provider, clocked(1_199)).usage.read == 0


def test_reading_renews_what_is_marked_in_front_of_it_too() -> None:
    provider = cache()
    for at in (0, 200):
        ask(provider, anthropic([user(text("q", **MARK))], system=RULES, at=at))
    # The request at 200 read up to the question; the rules in front of it were used with it.
    found = ask(provider, anthropic([user("else")], system=RULES, at=400))
    assert found.read_at == "system[0]"


def test_an_hour_lasts_an_hour() -> None:
    exchange = [anthropic([user("q")], system=[text("rules", **HOUR)], at=at) for at in (0, 3_599, 7_199)]
    provider = cache()
    assert [ask(provider, e).usage.read for e in exchange] == [0, 5, 0]


def test_an_entry_is_not_readable_before_the_first_response_began() -> None:
    provider = cache()
    cold = [clocked(0), clocked(0.1), clocked(0.2)]
    predictions = [provider.request(e) for e in cold]
    # Parallel cold requests all pay.
    assert [split(p) for p in predictions] == [(5, 0, 1)] * 3
    assert predictions[1].cause == "not-begun"
    provider.began(cold[0], 0.5)
    assert provider.request(clocked(0.4)).usage.read == 0
    assert provider.request(clocked(0.6)).usage.read == 5


def test_times_of_recorded_exchanges_are_used() -> None:
    provider = cache()
    first = clocked(0)
    first.began_at, first.status = 3.0, 200
    provider.request(first)
    assert provider.request(clocked(2)).usage.read == 0
    assert provider.request(clocked(4)).usage.read == 5


def test_a_failed_request_writes_nothing() -> None:
    provider = cache()
    failed = clocked(0)
    failed.status = 529
    provider.request(failed)
    assert provider.request(clocked(1)).usage.read == 0


def test_without_times_requests_follow_each_other() -> None:
    provider = cache()
    first = anthropic([user("q")], system=[text("rules", **MARK)])
    assert provider.request(first).usage.read == 0
    assert provider.request(first).usage.read == 5


# Whose cache it is.


def test_caches_belong_to_a_model_and_an_account() -> None:
    provider = cache()
    provider.request(clocked(0))
    assert ask(provider, clocked(1, model="claude-opus-5")).usage.read == 0
    other = clocked(2)
    other.scope = "another account"
    assert ask(provider, other).usage.read == 0


def test_reset_forgets() -> None:
    provider = cache()
    ask(provider, clocked(0))
    provider.reset()
    assert ask(provider, clocked(1)).usage.read == 0


# Automatic caching.


def test_automatic_caching_reads_what_the_turn_before_wrote() -> None:
    provider = cache()
    turns = [[user("q" * 10)], [user("q" * 10), said("a"), user("more")]]
    first, second = (provider.request(anthropic(messages, **MARK)) for messages in turns)
    assert split(first) == (10, 0, 0)
    assert split(second) == (5, 10, 0)
    assert second.read_at == "messages[0].content"


# What is not known.


def test_an_unknown_model_is_said_and_nothing_is_called_too_short() -> None:
    # 512 is the least that any known model of Anthropic's caches: from there on nothing is known.
    for n, written in ((512, 512), (511, 0)):
        prediction = ProviderCache({}, letters).request(
            anthropic([user("q")], system=[text("s" * n, **MARK)], model="claude-9")
        )
        assert split(prediction) == (written, 0, n + 1 - written)
        assert prediction.cause is None, "too short for a limit that is not known is nothing to say"
        assert any("minimum length of this model is not known" in words for words in prediction.unsure)


def test_an_estimate_around_the_minimum_is_unsure() -> None:
    # About 1,024 tokens by the estimate: 4,096 letters at 0.25.
    provider = ProviderCache({})
    system = [text("a" * 4_096, **MARK)]
    prediction = provider.request(anthropic([user("q")], system=system, model="claude-sonnet-4-6"))
    assert any("1,024 are the minimum of claude-sonnet-4-6" in words for words in prediction.unsure)
    sure = provider.request(anthropic([user("q")], system=[text("a" * 40, **MARK)], model="claude-sonnet-4-6"))
    assert sure.unsure == ()
    assert sure.cause == "below-minimum"


def test_exactly_the_minimum_is_enough() -> None:
    for n, written in ((1_024, 1_024), (1_023, 0)):
        system = [text("a" * n, **MARK)]
        found = ProviderCache({}, letters).request(anthropic([user("q")], system=system, model="claude-sonnet-4-6"))
        assert found.usage.write == written


def test_a_marker_inside_a_result_is_taken_as_one_on_it() -> None:
    result = {"type": "tool_result", "tool_use_id": "1", "content": [text("r", **MARK), text("s")]}
    provider = cache()
    found = provider.request(anthropic([user(result)]))
    assert found.usage.write == found.usage.total
    assert found.unsure == (
        "messages[0].content[0].content[0]: a marker inside a tool result is taken as one on the result; not verified",
    )
    # Markers are no content: with one on the result itself instead, it is read.
    plain = {**result, "content": [text("r"), text("s")]}
    again = provider.request(anthropic([user({**plain, **MARK})]))
    assert (again.usage.read, again.unsure) == (found.usage.total, ())


def test_no_marker_no_cache() -> None:
    provider = cache()
    exchange = anthropic([user("q")], system="rules")
    for _ in range(2):
        prediction = provider.request(exchange)
        assert split(prediction) == (0, 0, 6)
        assert prediction.cause == "no-marker"


def test_a_counter_that_does_not_count_is_the_users_mistake() -> None:
    with pytest.raises(UsageError, match="count_tokens returned None"):
        ProviderCache({}, lambda text: None).request(anthropic([user("q")]))  # type: ignore[arg-type,return-value]


def test_estimates_are_scaled_to_the_providers_own_total() -> None:
    exchange = anthropic([user("q" * 400)], system=[text("a" * 40_000, **MARK)])
    exchange.usage = {"input_tokens": 77, "cache_creation_input_tokens": 7_000, "cache_read_input_tokens": 0}
    usage = ProviderCache({}).request(exchange).usage
    assert usage.total == 7_077
    assert usage.read + usage.write + usage.uncached == 7_077
    assert not usage.exact


def test_the_counters_of_the_article() -> None:
    provider = ProviderCache({}, counted)
    exchange = article("q")
    assert counters(provider.request(exchange).usage, exchange) == {
        "input_tokens": 14,
        "cache_creation_input_tokens": 2823,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 2823, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 0,
    }
