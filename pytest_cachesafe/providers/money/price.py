"""What tokens cost: per request and conversation, with caching and without, and what is lost where it misses.

Prices are decimal numbers of published lists; sums are made in rationals, so that a figure is the exact one rounded
once. Standard rates: batch, priority and residency factors, tools charged by use and storage are not part of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from pytest_cachesafe.providers.cache.usage import Usage
from pytest_cachesafe.providers.rules.table import ModelRules, PriceTier

__all__ = ["Bill", "BreakEven", "bill", "break_even", "cost", "loss", "tier_of", "unmarked", "without_caching"]

_MILLION = 1_000_000


def tier_of(model: ModelRules, prompt_tokens: int) -> PriceTier | None:
    """The prices that hold for a whole request of this many input tokens, cached ones included; None: unknown."""
    if model.prices is None:
        return None
    fitting = [tier for tier in model.prices.value if prompt_tokens > tier.above or tier.above == 0]
    return max(fitting, key=lambda tier: tier.above, default=None)


def cost(usage: Usage, model: ModelRules | None, *, cached: bool = True) -> float | None:
    """USD for one request, input and output.

    Args:
        usage: its tokens; the price tier follows `usage.total`.
        model: None is an unknown model.
        cached: False: as if nothing had been read or written, all input at the input price.

    Returns:
        None where a price that is needed is unknown; never a guess.
    """
    exact = _cost(usage, model, cached)
    return None if exact is None else float(exact)


def without_caching(usage: Usage, model: ModelRules | None) -> float | None:
    """USD for the same request if nothing had been read or written; None where unknown."""
    return cost(usage, model, cached=False)


def _cost(usage: Usage, model: ModelRules | None, cached: bool) -> Fraction | None:
    tier = None if model is None else tier_of(model, usage.total)
    if tier is None:
        return None
    charges: list[tuple[int, float | None]] = [(usage.output, tier.output)]
    if cached:
        charges += [(usage.read, tier.read), (usage.uncached, tier.input)]
        charges += [(n, _write_price(tier, ttl)) for ttl, n in usage.written]
    else:
        charges.append((usage.total, tier.input))
    total = Fraction(0)
    for tokens, price in charges:
        if not tokens:
            continue
        if price is None:
            return None
        total += tokens * _exact(price)
    return total / _MILLION


def _write_price(tier: PriceTier, ttl: str) -> float | None:
    # No write prices at all: writing costs what input costs. Some, but not this one: not published.
    return tier.write.get(ttl) if tier.write else tier.input


def _exact(price: float) -> Fraction:
    """The decimal number that was published, not the binary one nearest to it."""
    return Fraction(repr(price))


@dataclass(frozen=True, slots=True)
class Bill:
    """Several requests together."""

    # USD of the requests whose prices are known; None if there is none.
    cost: float | None
    without_caching: float | None
    # Requests that are in neither sum, because a price is unknown.
    unpriced: int = 0

    @property
    def saved(self) -> float | None:
        """USD less than without caching; negative where writing costs more than reading brings in."""
        if self.cost is None or self.without_caching is None:
            return None
        return float(_exact(self.without_caching) - _exact(self.cost))


def bill(requests: Iterable[tuple[Usage, ModelRules | None]]) -> Bill:
    """What a conversation, or any set of requests, costs. Requests without a price are counted and left out of both."""
    total, plain, priced, unpriced = Fraction(0), Fraction(0), 0, 0
    for usage, model in requests:
        one, other = _cost(usage, model, True), _cost(usage, model, False)
        if one is None or other is None:
            unpriced += 1
            continue
        total, plain, priced = total + one, plain + other, priced + 1
    return Bill(float(total), float(plain), unpriced) if priced else Bill(None, None, unpriced)


@dataclass(frozen=True, slots=True)
class BreakEven:
    """From how many reuses on writing a prefix for one lifetime is cheaper than sending it plain each time."""

    ttl: str
    # Requests after the first that read the entry; None: never, at these prices.
    reuses: int | None
    # The whole of it, first request included, in units of the input price: 1.35 against 2 for one reuse of a 5m entry.
    cached: Fraction | None
    plain: Fraction | None


def break_even(model: ModelRules | None, prompt_tokens: int = 0) -> tuple[BreakEven, ...] | None:
    """Break-even of each lifetime the model can write, shortest first; None where prices are unknown.

    Empty where writing costs nothing beyond input: then caching never loses.

    Args:
        model: whose prices.
        prompt_tokens: which price tier.
    """
    tier = None if model is None else tier_of(model, prompt_tokens)
    if tier is None or tier.read is None:
        return None
    base, read = _exact(tier.input), _exact(tier.read)
    out = []
    for ttl, price in sorted(tier.write.items(), key=lambda item: item[1]):
        write = _exact(price)
        if read >= base:
            out.append(BreakEven(ttl, None, None, None))
            continue
        # write + k * read < (1 + k) * base
        reuses = max(int((write - base) / (base - read)) + 1, 1)
        out.append(BreakEven(ttl, reuses, (write + reuses * read) / base, Fraction(1 + reuses)))
    return tuple(out)


def loss(
    lost_tokens: int,
    model: ModelRules | None,
    *,
    prompt_tokens: int = 0,
    written: str | None = None,
    times: int = 1,
) -> float | None:
    """USD paid too much for tokens that should have been read from the cache.

    Args:
        lost_tokens: how many; whoever estimates them says so beside the figure.
        model: whose prices.
        prompt_tokens: input tokens of the whole request, for the price tier.
        written: lifetime for which they were written anew ("5m"); None: they were charged as input.
        times: how often it happens, 1,000 for a figure per 1,000 conversations with one such miss.

    Returns:
        None where a price is unknown.
    """
    tier = None if model is None else tier_of(model, prompt_tokens)
    if tier is None or tier.read is None:
        return None
    paid = tier.input if written is None else _write_price(tier, written)
    if paid is None:
        return None
    return float(lost_tokens * times * (_exact(paid) - _exact(tier.read)) / _MILLION)


def unmarked(
    tokens: int, model: ModelRules | None, *, prompt_tokens: int = 0, reads: int = 1, times: int | Fraction = 1
) -> float | None:
    """USD that a marker behind a prefix would save: it is written once, at the shortest lifetime, and then read.

    Args:
        tokens: length of the prefix.
        model: whose prices.
        prompt_tokens: input tokens of one request, for the price tier.
        reads: requests after the first.
        times: how often all this happens.

    Returns:
        Negative where the write costs more than the reads bring in; None where a price is unknown.
    """
    tier = None if model is None else tier_of(model, prompt_tokens)
    if tier is None or tier.read is None:
        return None
    base = _exact(tier.input)
    write = min(map(_exact, tier.write.values()), default=base)
    return float(tokens * times * (reads * (base - _exact(tier.read)) - (write - base)) / _MILLION)
