"""Prices of the `prices` extra, for models whose price our own tables leave out. Base installs do without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, time, timezone
from typing import Any

from pytest_cachesafe.providers.rules.ids import spellings
from pytest_cachesafe.providers.rules.table import Fact, ModelRules, PriceTier

__all__ = ["fill_prices"]

_THEIR_NAMES = {"anthropic": "anthropic", "openai": "openai", "gemini": "google", "bedrock": "aws"}
# Their name of a write price -> our lifetimes.
_WRITES = {
    "anthropic": (("cache_write_mtok", "5m"), ("cache_write_1h_mtok", "1h")),
    "bedrock": (("cache_write_mtok", "5m"), ("cache_write_1h_mtok", "1h")),
    "openai": (("cache_write_mtok", "30m"),),
}


def fill_prices(
    model: ModelRules | None, provider: str, model_id: str | None, *, today: date | None = None
) -> ModelRules | None:
    """The model with prices of genai-prices, where ours are unknown and the package is installed and knows it.

    `Fact.source` of prices added here names the package and its version. A model that only resembles one of theirs
    stays without.

    Args:
        model: from `Rules.model`; None for an unknown one.
        provider: "anthropic", "openai", "gemini" or "bedrock"; of others nothing is added.
        model_id: as sent.
        today: prices change by date; default: the day it is.
    """
    if (model is not None and model.prices is not None) or not model_id or provider not in _THEIR_NAMES:
        return model
    found = _find(provider, model_id)
    if found is None:
        return model
    day = today or date.today()
    tiers = _tiers(found.get_prices(datetime.combine(day, time(12), timezone.utc)), provider)
    if not tiers:
        return model
    prices = Fact(tiers, f"genai-prices {_version()} (package)", day, verified=False)
    return replace(model or ModelRules(provider, model_id), prices=prices)


def _find(provider: str, model_id: str) -> Any:
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    names = [(s.provider, s.stem.lower()) for s in spellings(provider, model_id)]
    if provider == "bedrock":
        # The routing prefix is part of their names, and of the price.
        names = [(provider, model_id.lower())]
    for whose, name in names:
        for theirs in (p for p in get_snapshot().providers if p.id == _THEIR_NAMES.get(whose)):
            for entry in theirs.models:
                if entry.id in (name, f"{name}-latest") or name in _exact_names(entry.match):
                    return entry
    return None


def _exact_names(clause: Any) -> Iterator[str]:
    """Names a match clause lists as they are; "starts with" and the like would be guessing."""
    if hasattr(clause, "equals"):
        yield clause.equals
    for part in getattr(clause, "or_", ()):
        yield from _exact_names(part)


def _tiers(price: Any, provider: str) -> tuple[PriceTier, ...]:
    if getattr(price, "input_mtok", None) is None:
        return ()
    names = {"input": "input_mtok", "output": "output_mtok", "read": "cache_read_mtok"}
    starts = {0} | {t.start for v in vars(price).values() for t in getattr(v, "tiers", ())}
    out = []
    for start in sorted(starts):
        values = {ours: _at(getattr(price, theirs, None), start) for ours, theirs in names.items()}
        writes = ((ttl, _at(getattr(price, key, None), start)) for key, ttl in _WRITES.get(provider, ()))
        write = {ttl: value for ttl, value in writes if value is not None}
        assert values["input"] is not None
        out.append(PriceTier(start, values["input"], values["output"], values["read"], write))
    return tuple(out)


def _at(price: Any, start: int) -> float | None:
    """A price of theirs, for prompts of more than `start` tokens."""
    if price is None:
        return None
    if not hasattr(price, "base"):
        return float(price)
    value = price.base
    for tier in price.tiers:  # ascending
        if start and start >= tier.start:
            value = tier.price
    return float(value)


def _version() -> str:
    from importlib.metadata import version

    return version("genai-prices")
