"""What requests cost: the arithmetic of tiers, factors and break-even, and silence where a price is unknown."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.providers.cache.usage import Usage
from pytest_cachesafe.providers.money.extra import fill_prices
from pytest_cachesafe.providers.money.price import Bill, bill, break_even, cost, loss, tier_of, without_caching
from pytest_cachesafe.providers.rules.load import load_rules
from pytest_cachesafe.providers.rules.table import ModelRules

RULES = load_rules({})


def model(provider: str, model_id: str) -> ModelRules:
    found = RULES.model(provider, model_id)
    assert found is not None
    return found


def usage(read: int = 0, uncached: int = 0, output: int = 0, **written: int) -> Usage:
    split = tuple((f"{ttl[1:]}", n) for ttl, n in written.items())
    return Usage(read + uncached + sum(n for _, n in split), read, uncached, split, True, output)


def test_the_two_requests_of_the_article() -> None:
    sonnet = model("anthropic", "claude-sonnet-4-6")
    # 2,823 x 3.75 + 14 x 3 = 10,586.25 + 42 = 10,628.25 millionths; plain 2,837 x 3 = 8,511
    first = usage(uncached=14, _5m=2823)
    assert cost(first, sonnet) == 0.01062825
    assert without_caching(first, sonnet) == 0.008511
    # 2,823 x 0.30 + 17 x 3 = 846.9 + 51 = 897.9; plain 2,840 x 3 = 8,520
    second = usage(read=2823, uncached=17)
    assert cost(second, sonnet) == 0.0008979
    assert cost(second, sonnet, cached=False) == 0.00852
    # 10,628.25 + 897.9 = 11,526.15; 8,511 + 8,520 = 17,031; 17,031 - 11,526.15 = 5,504.85
    together = bill([(first, sonnet), (second, sonnet)])
    assert together == Bill(0.01152615, 0.017031)
    assert together.saved == 0.00550485


def test_both_lifetimes_and_output_are_priced() -> None:
    # claude-opus-5-5: in 4, 5m 5, 1h 8, read 0.20, out 20
    # 1,000 x 0.2 + 200 x 8 + 300 x 5 + 50 x 4 + 10 x 20 = 200 + 1,600 + 1,500 + 200 + 200 = 3,700
    one = usage(read=1000, uncached=50, output=10, _1h=200, _5m=300)
    assert cost(one, model("anthropic", "claude-opus-5-5")) == 0.0037
    # 1,550 x 4 + 10 x 20 = 6,400
    assert without_caching(one, model("anthropic", "claude-opus-5-5")) == 0.0064


def test_a_long_prompt_pays_its_tier_for_every_token() -> None:
    haiku = model("anthropic", "claude-haiku-5-5")
    # 100,000 x 0.10 = 10,000; one token more: 100,001 x 0.50 = 50,000.5
    assert cost(usage(uncached=100_000), haiku) == 0.01
    assert cost(usage(uncached=100_001), haiku) == 0.0500005
    # The length of the whole prompt counts, cached tokens included: 100,000 x 0.05 + 1 x 0.5
    assert cost(usage(read=100_000, uncached=1), haiku) == 0.0050005
    sol = model("openai", "gpt-6.1-sol")
    # 272,000 x 2 = 544,000; 272,001 x 4 + 1 x 15 = 1,088,019
    assert cost(usage(uncached=272_000), sol) == 0.544
    assert cost(usage(uncached=272_001, output=1), sol) == 1.088019
    tier = tier_of(sol, 272_001)
    assert tier is not None
    assert tier.above == 272_000


def test_writing_costs_what_input_costs_where_no_write_charge_is_published() -> None:
    old = model("openai", "gpt-4o")
    # 1,024 x 1.25 + 76 x 2.5 = 1,280 + 190 = 1,470
    assert cost(usage(read=1024, uncached=76), old) == 0.00147
    assert cost(usage(uncached=0, _24h=1000), old) == 0.0025
    assert cost(usage(_30m=1000), model("openai", "gpt-6-sol")) == 0.0025
    assert cost(usage(_12h=1000), model("openai", "gpt-6-sol")) == 0.005


def test_what_is_unknown_has_no_price() -> None:
    some = usage(uncached=10, output=1)
    assert cost(some, None) is None
    assert cost(some, ModelRules("anthropic", "x")) is None
    assert without_caching(some, None) is None
    assert break_even(None) is None
    assert loss(1000, None) is None
    # No price of reads is published for it: known only while nothing is read.
    pro = model("openai", "gpt-5-pro")
    assert cost(usage(uncached=1000), pro) == 0.015
    assert cost(usage(read=1, uncached=1000), pro) is None
    assert cost(usage(read=1, uncached=999), pro, cached=False) == 0.015
    # Bedrock's older models publish no price for an hour.
    assert cost(usage(_1h=1), model("bedrock", "anthropic.claude-opus-4-1")) is None
    both = bill([(some, None), (usage(uncached=1000), pro)])
    assert both == Bill(0.015, 0.015, 1)
    assert bill([(some, None)]) == Bill(None, None, 1)
    assert bill([(some, None)]).saved is None
    assert bill([]) == Bill(None, None, 0)


@pytest.mark.parametrize(
    ("model_id", "expected"),
    [
        # 5m: 1.25 + 0.1 = 1.35 < 2; 1h: 2 + 0.1 = 2.1 > 2, but 2 + 2 x 0.1 = 2.2 < 3
        ("claude-sonnet-4-6", [("5m", 1, Fraction(135, 100), 2), ("1h", 2, Fraction(22, 10), 3)]),
        # 0.05: 1.25 + 0.05 = 1.3; 2 + 2 x 0.05 = 2.1
        ("claude-opus-5-5", [("5m", 1, Fraction(13, 10), 2), ("1h", 2, Fraction(21, 10), 3)]),
        # 0.025: 1.275; 2.05
        ("claude-fable-5-1", [("5m", 1, Fraction(1275, 1000), 2), ("1h", 2, Fraction(205, 100), 3)]),
    ],
)
def test_break_even(model_id: str, expected: list[tuple[str, int, Fraction, int]]) -> None:
    found = break_even(model("anthropic", model_id))
    assert found is not None
    assert [(b.ttl, b.reuses, b.cached, b.plain) for b in found] == expected


def test_break_even_where_writing_is_free_or_reading_saves_nothing() -> None:
    assert break_even(model("openai", "gpt-4o")) == ()
    dear = load_rules(
        {"openai": {"models": {"m": {"prices": [{"input": 1, "read": 1, "write": {"30m": 1.25}}]}}}}
    ).model("openai", "m")
    found = break_even(dear)
    assert found is not None
    assert [(b.ttl, b.reuses) for b in found] == [("30m", None)]


def test_what_a_miss_costs() -> None:
    sonnet = model("anthropic", "claude-sonnet-4-6")
    # 10,000 tokens: (3 - 0.30) = 27,000; written anew for 5m (3.75 - 0.30) = 34,500, for 1h (6 - 0.30) = 57,000
    assert loss(10_000, sonnet) == 0.027
    assert loss(10_000, sonnet, written="5m") == 0.0345
    assert loss(10_000, sonnet, written="1h", times=1000) == 57.0
    assert loss(10_000, sonnet, written="24h") is None
    # Tier by the whole prompt: 100 x (0.50 - 0.05) = 45
    assert loss(100, model("anthropic", "claude-haiku-5-5"), prompt_tokens=200_000) == 0.000045


PRICED = [m for p in ("anthropic", "openai", "gemini") for m in RULES.provider(p).models.values() if m.prices]


@settings(deadline=None)
@given(st.sampled_from(PRICED), st.integers(0, 400_000), st.integers(0, 400_000), st.integers(0, 9999))
def test_reading_never_costs_more_than_sending_plain(known: ModelRules, read: int, uncached: int, out: int) -> None:
    one = usage(read=read, uncached=uncached, output=out)
    cached, plain = cost(one, known), without_caching(one, known)
    tier = tier_of(known, one.total)
    assert tier is not None
    if read and tier.read is None:
        assert cached is None
        return
    assert cached is not None
    assert plain is not None
    assert (cached < plain) if read else (cached == plain)
    saved = loss(read, known, prompt_tokens=one.total)
    if saved is not None:
        assert plain - cached == pytest.approx(saved, abs=1e-12)


@settings(deadline=None)
@given(st.sampled_from([m for m in PRICED if m.prices and m.prices.value[0].write]), st.integers(1, 100_000))
def test_break_even_is_always_the_first_cheaper_number_of_reuses(known: ModelRules, tokens: int) -> None:
    found = break_even(known, tokens)
    assert found is not None
    for point in found:
        assert point.reuses is not None

        def both(reuses: int, ttl: str = point.ttl) -> Bill:
            write = Usage(tokens, 0, 0, ((ttl, tokens),), True)
            return bill([(write, known), *[(usage(read=tokens), known)] * reuses])

        enough, short = both(point.reuses), both(point.reuses - 1)
        assert enough.saved is not None
        assert short.saved is not None
        assert enough.saved > 0 >= short.saved


def test_the_extra_fills_in_only_what_our_own_tables_leave_out() -> None:
    pytest.importorskip("genai_prices", reason="needs the prices extra: pip install 'pytest-cachesafe[prices]'")
    ours = model("anthropic", "claude-opus-5")
    assert fill_prices(ours, "anthropic", "claude-opus-5") is ours
    filled = fill_prices(RULES.model("anthropic", "claude-mythos-5-2"), "anthropic", "claude-mythos-5-2")
    assert filled is not None
    assert filled.minimum is not None
    assert filled.prices is not None
    assert filled.prices.source.startswith("genai-prices ")
    assert not filled.prices.verified
    # 1,000,000 read at 0.20
    assert cost(usage(read=1_000_000), filled) == 0.2
    stranger = fill_prices(RULES.model("openai", "gpt-6-rosalind"), "openai", "gpt-6-rosalind")
    assert stranger is not None
    assert stranger.minimum is None
    assert stranger.prices is not None
    assert [t.above for t in stranger.prices.value] == [0, 272_000]
    # Their own dates: 2 until the end of November 2026, 4 from December on.
    argon = RULES.model("gemini", "gemini-4-argon")
    assert argon is not None
    for day, price in ((date(2026, 11, 30), 0.002), (date(2026, 12, 1), 0.004)):
        filled = fill_prices(argon, "gemini", "gemini-4-argon", today=day)
        assert cost(usage(uncached=1000), filled) == price


@pytest.mark.parametrize(
    ("provider", "model_id"),
    [
        ("anthropic", "claude-opus-5-turbo"),
        # "Starts with" would match, and would be a guess.
        ("anthropic", "claude-sonnet-4-6-something"),
        ("openai", "gpt-9"),
        ("openai", None),
        ("deepseek", "deepseek-v4-flash"),
        ("bedrock", "claude-opus-5-x"),
    ],
)
def test_the_extra_guesses_nothing(provider: str, model_id: str | None) -> None:
    pytest.importorskip("genai_prices", reason="needs the prices extra: pip install 'pytest-cachesafe[prices]'")
    assert fill_prices(None, provider, model_id) is None


def test_without_the_extra_there_is_no_price_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [n for n in sys.modules if n.split(".")[0] == "genai_prices"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    known = RULES.model("anthropic", "claude-mythos-5-2")
    assert fill_prices(known, "anthropic", "claude-mythos-5-2") is known
    assert fill_prices(None, "openai", "gpt-6-rosalind") is None
