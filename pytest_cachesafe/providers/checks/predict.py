"""What the provider's cache is predicted to do with each request, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_cachesafe.providers.checks.requests import Asked
from pytest_cachesafe.providers.checks.result import RequestVerdict
from pytest_cachesafe.providers.checks.weigh import Weigher

if TYPE_CHECKING:
    from pytest_cachesafe.providers.rules.load import Rules

__all__ = ["predict"]


def predict(
    asked: Sequence[Asked], rules: Rules, count_tokens: Callable[[str], int] | None, weigher: Weigher
) -> tuple[list[RequestVerdict], dict[int, str]]:
    """One verdict per request, in order, and why a request read less than was there for it.

    Requests without times follow each other at once.
    """
    from pytest_cachesafe.providers.cache.cleared import may_clear
    from pytest_cachesafe.providers.cache.counters import counters, from_counters, unreadable
    from pytest_cachesafe.providers.cache.simulate import ProviderCache
    from pytest_cachesafe.providers.money.price import cost, without_caching

    cache = ProviderCache(rules, count_tokens)
    verdicts: list[RequestVerdict] = []
    causes: dict[int, str] = {}
    # By conversation, why nothing is known of its requests any more.
    lost: dict[int, str] = {}
    for item in asked:
        exchange = item.exchange
        verdict = RequestVerdict(item.index, item.conversation, item.parent, exchange.provider, exchange.model)
        verdicts.append(verdict)
        verdict.unpredicted = _unpredicted(item)
        if verdict.unpredicted is not None:
            continue
        prediction = cache.request(exchange)
        if exchange.began_at is None:
            cache.began(exchange, exchange.sent_at or 0.0)
        edits = may_clear(exchange, item.layout.blocks, prediction.total)
        verdict.unpredicted = _taken_out(item, lost, surely=edits is True)
        if verdict.unpredicted is not None:
            verdict.paid = True
            continue
        if prediction.cause is not None:
            causes[item.index] = prediction.cause
        verdict.unsure = prediction.unsure
        usage = prediction.usage
        if edits is None:
            usage = replace(usage, exact=False)
            verdict.unsure += ("the edits of context_management that it asks for may be made: then less is read",)
        if exchange.usage is not None and unreadable(exchange.usage) is None:
            # What the model wrote is no matter of caching, but part of the price.
            usage = replace(usage, output=from_counters(exchange.usage, exchange).output)
        verdict.usage = usage
        verdict.counters = counters(usage, exchange)
        if weigher.wants_prices:
            model = weigher.model(item)
            verdict.cost_usd = cost(usage, model)
            verdict.uncached_cost_usd = without_caching(usage, model)
    return verdicts, causes


def _unpredicted(item: Asked) -> str | None:
    """Why nothing is predicted for a request."""
    if item.refused:
        return "refused"
    if item.failed:
        return f"not answered, status {item.exchange.status}"
    if not item.shows("texts"):
        return "its texts are redacted"
    if not item.shows("markers") and item.exchange.api in ("messages", "invoke", "converse"):
        return "its source does not show markers"
    return None


def _taken_out(item: Asked, lost: dict[int, str], *, surely: bool) -> str | None:
    """Why what the model was given is not known, where its provider takes something out by itself.

    After an edit that leaves no trace in later requests, what the conversation has in the cache is not known either.
    """
    from pytest_cachesafe.providers.cache.cleared import cleared

    words = cleared(item.exchange)
    if words is None and surely:
        words = "context_management has the provider take something out of it"
    if words is not None and "compaction" not in words:
        lost.setdefault(item.conversation, f"the provider took something out of request {item.index}")
    return words or lost.get(item.conversation)
