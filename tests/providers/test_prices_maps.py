"""Our minimums and prices against two price maps that others keep: differences are known and dated, drift fails.

A failure here is upkeep, not a fault: read the provider's page, correct the table or the list below, date it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timezone
from typing import Any

import pytest

from pytest_cachesafe.providers.money.extra import fill_prices
from pytest_cachesafe.providers.rules.ids import spellings
from pytest_cachesafe.providers.rules.load import load_rules
from pytest_cachesafe.providers.rules.table import ModelRules, PriceTier

RULES = load_rules({})
# The day our tables were read: prices that changed since are not differences.
DAY = date(2026, 11, 30)

# 2026-11-30, genai-prices 0.2.3: (provider, model) -> what differs.
GENAI = {
    # They have no such models.
    ("anthropic", "claude-mythos-5"): "missing",
    ("anthropic", "claude-mythos-5-1"): "missing",
    # Theirs has the long-context beta's tier above 200,000 tokens, which the pricing table of the page has not.
    ("anthropic", "claude-sonnet-4-5"): "tiers",
    # They have one price for writes, ours two: the 12h one is LiteLLM's.
    **{("openai", f"gpt-{name}"): "writes" for name in ("6-astra", "6-sol", "6-luna", "6.1-sol", "6.1-terra")},
    **{("openai", f"gpt-5.6-{name}"): "writes" for name in ("sol", "terra", "luna")},
}
# 2026-11-30, LiteLLM 1.110.2: retired models and the newest are not in its map.
LITELLM_MISSING = {
    *(("anthropic", f"claude-{name}") for name in ("fable-5-2", "mythos-5-2", "opus-4-1", "opus-4", "sonnet-4")),
    *(("anthropic", f"claude-3-{name}") for name in ("5-haiku", "7-sonnet", "haiku")),
    *(("openai", f"gpt-6.2-{name}") for name in ("astra", "sol")),
    ("gemini", "gemini-3-pro-preview"),
}
# The long-context beta's tier above 200,000 tokens, as in genai-prices for the Claude API.
LITELLM_PRICES = {("bedrock", "anthropic.claude-sonnet-4-5")}
# (provider, model): (ours, LiteLLM's)
LITELLM_MINIMUMS = {
    ("anthropic", "claude-mythos-preview"): (2048, 512),
    ("bedrock", "anthropic.claude-opus-4-7"): (4096, 2048),
}


def own(provider: str) -> dict[str, ModelRules]:
    return {name: m for name, m in RULES.provider(provider).models.items() if m.prices is not None}


def without_prices(model: ModelRules) -> ModelRules:
    return replace(model, prices=None, routed={})


def difference(ours: tuple[PriceTier, ...], theirs: tuple[PriceTier, ...]) -> str:
    if [t.above for t in ours] != [t.above for t in theirs]:
        return "tiers"
    for mine, other in zip(ours, theirs, strict=True):
        if (mine.input, mine.output, mine.read) != pytest.approx((other.input, other.output, other.read)):
            return "prices"
        if dict(mine.write) != pytest.approx(dict(other.write)):
            return "writes"
    return ""


def test_prices_against_genai_prices() -> None:
    pytest.importorskip("genai_prices", reason="needs the prices extra: pip install 'pytest-cachesafe[prices]'")
    found = {}
    for provider in ("anthropic", "openai", "gemini"):
        for name, model in own(provider).items():
            theirs = fill_prices(without_prices(model), provider, name, today=DAY)
            assert model.prices is not None
            assert theirs is not None
            what = "missing" if theirs.prices is None else difference(model.prices.value, theirs.prices.value)
            if what:
                found[provider, name] = what
    assert found == GENAI


def test_prices_of_bedrock_against_genai_prices() -> None:
    genai = pytest.importorskip("genai_prices.data_snapshot", reason="needs the prices extra")
    (aws,) = (p for p in genai.get_snapshot().providers if p.id == "aws")
    dates = {"anthropic.claude-sonnet-4-5": "-20250929", "anthropic.claude-haiku-4-5": "-20251001"}
    compared, missing = 0, set()
    for name, model in RULES.provider("bedrock").models.items():
        for routing, prices in model.routed.items():
            prefix = "us" if routing == "regional" else routing
            theirs = aws.find_model(f"{prefix}.{name}{dates.get(name, '')}-v1:0")
            if theirs is None:
                missing.add(name)
                continue
            price = theirs.get_prices(datetime(DAY.year, DAY.month, DAY.day, tzinfo=timezone.utc))
            listed = (price.input_mtok, price.output_mtok, price.cache_read_mtok, price.cache_write_mtok)
            tier = prices.value[0]
            assert [tier.input, tier.output, tier.read, tier.write["5m"]] == pytest.approx(
                [float(getattr(p, "base", p)) for p in listed]
            ), (name, routing)
            compared += 1
    assert missing == {"anthropic.claude-mythos-5-1"}
    assert compared >= 20


@pytest.fixture(scope="module")
def litellm_map() -> Mapping[str, Any]:
    import importlib.util
    import json
    from pathlib import Path

    # Found, not imported: its import takes seconds and may fetch the map.
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        pytest.skip("needs LiteLLM: its price map is compared where it is installed")
    path = Path(spec.origin).with_name("model_prices_and_context_window_backup.json")
    data: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
    return data


def entry(data: Mapping[str, Any], provider: str, name: str) -> Mapping[str, Any] | None:
    if provider == "bedrock":
        # Global first: the routing the prices of ours are for.
        found = {
            spelling.routing: data[key]
            for key in data
            if name in key and not key.startswith("bedrock/")
            for spelling in spellings(provider, key)
            if spelling.stem == name
        }
        return next((found[routing] for routing in ("global", "", "regional") if routing in found), None)
    return data.get(f"gemini/{name}" if provider == "gemini" else name)


def litellm_tiers(row: Mapping[str, Any], provider: str) -> tuple[PriceTier, ...]:
    def price(key: str) -> float | None:
        value = row.get(key)
        return None if value is None else round(value * 1e6, 6)

    starts = {0} | {
        int(key.removesuffix("k_tokens").rsplit("_", 1)[1]) * 1000
        for key in row
        if key.startswith("input_cost_per_token_above_") and key.endswith("k_tokens")
    }
    first, long = ("30m", "12h") if provider == "openai" else ("5m", "1h")
    out = []
    for start in sorted(starts):
        end = f"_above_{start // 1000}k_tokens" if start else ""
        hours = "12hr" if provider == "openai" else "1hr"
        writes = {
            first: price(f"cache_creation_input_token_cost{end}"),
            long: price(f"cache_creation_input_token_cost_above_{hours}{end}"),
        }
        paid = price(f"input_cost_per_token{end}")
        assert paid is not None
        out.append(
            PriceTier(
                start,
                paid,
                price(f"output_cost_per_token{end}"),
                price(f"cache_read_input_token_cost{end}"),
                {ttl: value for ttl, value in writes.items() if value is not None},
            )
        )
    return tuple(out)


def test_prices_and_minimums_against_litellm(litellm_map: Mapping[str, Any]) -> None:
    missing, prices, minimums, compared = set(), set(), {}, 0
    for provider in ("anthropic", "openai", "gemini", "bedrock"):
        for name, model in RULES.provider(provider).models.items():
            row = entry(litellm_map, provider, name)
            if row is None:
                missing.add((provider, name))
                continue
            known = model.routed.get("global", model.prices)
            if known is not None:
                compared += 1
                if difference(known.value, litellm_tiers(row, provider)):
                    prices.add((provider, name))
            theirs = row.get("prompt_cache_min_tokens")
            if theirs is not None and model.minimum is not None and theirs != model.minimum.value:
                minimums[provider, name] = (model.minimum.value, theirs)
    assert compared >= 60
    assert prices == LITELLM_PRICES
    assert minimums == LITELLM_MINIMUMS
    assert missing == LITELLM_MISSING
