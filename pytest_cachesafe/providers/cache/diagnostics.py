"""What a reply says about the cache beside its counters, where the request asked for it.

Anthropic: `Message.diagnostics` (anthropic SDK 2.14); OpenAI: `Response.prompt_cache_diagnostics` (openai SDK 3.57).
"""

from __future__ import annotations

from typing import Any

from pytest_cachesafe.providers.blocks.builder import mapping
from pytest_cachesafe.providers.cache.reasons import compared_id, not_found
from pytest_cachesafe.providers.cache.simulate import Prediction
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["diagnostics"]


def diagnostics(prediction: Prediction, exchange: Exchange) -> dict[str, Any] | None:
    """The object in the reply: `diagnostics` at Anthropic, `prompt_cache_diagnostics` at OpenAI.

    None where the request did not ask for a comparison, and at Anthropic where nothing differs.
    """
    if exchange.api == "messages":
        return _anthropic(prediction, exchange)
    return _openai(prediction, exchange) if exchange.api == "responses" else None


def _anthropic(prediction: Prediction, exchange: Exchange) -> dict[str, Any] | None:
    if "previous_message_id" not in mapping(exchange.body.get("diagnostics")) or prediction.miss is None:
        return None
    reason: dict[str, Any] = {"type": prediction.miss}
    if prediction.miss.endswith("_changed"):
        reason["cache_missed_input_tokens"] = prediction.missed or 0
    return {"cache_miss_reason": reason}


def _openai(prediction: Prediction, exchange: Exchange) -> dict[str, Any] | None:
    if compared_id(exchange) is None:
        return None
    if prediction.miss is None:
        return {"type": "cache_hit"}
    if prediction.miss == not_found(exchange.api):
        return {"type": prediction.miss}
    missed = prediction.missed or 0
    reusable = prediction.usage.total - missed
    return {
        "type": "cache_miss",
        "reason": prediction.miss,
        "cache_missed_tokens": missed,
        "comparison_reusable_tokens": max(reusable, 0),
    }
