"""Tokens and money: how long prefixes are, what a model's rules are, what a miss costs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from pytest_cachesafe.providers.blocks.block import Block
from pytest_cachesafe.providers.cache.counters import looped, told
from pytest_cachesafe.providers.cache.usage import Tokens, Usage
from pytest_cachesafe.providers.checks.requests import Asked
from pytest_cachesafe.providers.rules.load import Rules
from pytest_cachesafe.providers.rules.table import ModelRules
from pytest_cachesafe.providers.tokens import Counter

__all__ = ["Weigher"]


class Weigher:
    """Counts every block once, and looks every model up once.

    Args:
        rules: dated rules.
        count_tokens: the user's counter of a text, or None for estimates.
        prices: whether figures in USD are wanted.
    """

    def __init__(self, rules: Rules, count_tokens: Callable[[str], int] | None, *, prices: bool) -> None:
        self._rules = rules
        self._counter = Counter(count_tokens)
        self.wants_prices = prices
        # By request, what its provider's cache is predicted to do; empty where nothing was predicted yet.
        self.usages: dict[int, Usage] = {}
        self._models: dict[tuple[str, str | None, str | None], ModelRules | None] = {}

    def block(self, block: Block) -> Tokens:
        """Tokens of one block."""
        return self._counter.count(block)

    def total(self, blocks: list[Block]) -> Tokens:
        """Tokens of several blocks."""
        counts = [self.block(block) for block in blocks]
        return Tokens(sum(c.low for c in counts), sum(c.best for c in counts), sum(c.high for c in counts))

    def prefix(self, item: Asked, count: int) -> Tokens:
        """Tokens of the first `count` blocks of a request, with what its provider puts in front of them."""
        blocks = item.layout.blocks
        if not blocks or not count:
            return Tokens.exactly(0)
        start = self._counter.front(item.exchange.api, blocks[0])
        found, counted = start + self.total(blocks[:count]), told(item.exchange)
        if counted is None or looped(blocks):
            return found
        return found.within(start + self.total(blocks), counted)

    def not_read(self, lost: Tokens, parent: Asked, item: Asked) -> Tokens:
        """Tokens a request loses of the one it continues: what that one had in the cache, less what is read.

        Where nothing was predicted, or nothing was cached, `lost` is what would be lost.
        """
        held, read = self.usages.get(parent.index), self.usages.get(item.index)
        if held is None or read is None:
            return lost
        if item.exchange.api in ("messages", "invoke", "converse"):
            # Caches with markers hold entries: a change inside one loses it back to the entry before.
            kept = held.read + held.write
            if not kept:
                return lost
            best = max(kept - read.read, 0)
        elif read.read:
            best = min(lost.best, max(held.total - read.read, 0))
        else:
            return lost
        if held.exact and read.exact:
            return Tokens.exactly(best)
        whole = self.prefix(parent, len(parent.layout.blocks))
        scale = best / whole.best if whole.best else 0.0
        return Tokens(int(whole.low * scale), best, max(best, round(whole.high * scale)))

    def model(self, item: Asked) -> ModelRules | None:
        """What is known of a request's model; prices are filled in from the extra where ours are unknown."""
        exchange = item.exchange
        key = (exchange.provider, exchange.model, exchange.path)
        if key not in self._models:
            found = self._rules.for_exchange(exchange)
            if self.wants_prices and exchange.model is not None and "/openai/deployments/" not in (exchange.path or ""):
                from pytest_cachesafe.providers.money.extra import fill_prices

                found = fill_prices(found, exchange.provider, exchange.model)
            self._models[key] = found
        return self._models[key]

    def minimum(self, item: Asked) -> int | None:
        """Fewest tokens that the request's model caches; None where that is not known, or no length is."""
        if not item.shows("texts"):
            return None
        model = self.model(item)
        return None if model is None or model.minimum is None else model.minimum.value

    def fact(self, provider: str, name: str, otherwise: int) -> int:
        """A number of the provider's rules."""
        fact = self._rules.provider(provider).facts.get(name)
        return otherwise if fact is None else int(fact.value)

    def loss(self, item: Asked, tokens: Tokens, prompt_tokens: int, times: int = 1) -> float | None:
        """USD paid too much for tokens that could have been read; None where a price is unknown or not wanted."""
        if not self.wants_prices:
            return None
        from pytest_cachesafe.providers.money.price import loss

        model = self.model(item)
        return loss(tokens.best, model, prompt_tokens=prompt_tokens, written=self._lifetime(item, model), times=times)

    def unmarked(
        self, item: Asked, tokens: Tokens, prompt_tokens: int, reads: int, times: int | Fraction = 1
    ) -> float | None:
        """USD that one marker would have saved, at the default lifetime; None where a price is unknown."""
        from pytest_cachesafe.providers.money.price import unmarked

        return unmarked(tokens.best, self.model(item), prompt_tokens=prompt_tokens, reads=reads, times=times)

    def _lifetime(self, item: Asked, model: Any) -> str | None:
        """For how long the tokens are written anew: the lifetime of the request's last marker."""
        markers = [block.marker for block in item.layout.blocks if block.marker is not None]
        if markers:
            return markers[-1].ttl
        paid = model is not None and model.prices is not None and model.generation == "5.6"
        return "30m" if item.exchange.provider == "openai" and paid else None
