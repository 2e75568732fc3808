"""What a provider's cache did with one request, before it becomes counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pytest_cachesafe.providers.blocks.block import Block
from pytest_cachesafe.providers.cache.tree import Node
from pytest_cachesafe.providers.cache.usage import Tokens
from pytest_cachesafe.providers.rules.table import ModelRules

__all__ = ["Asked", "Outcome", "Written", "enough"]


@dataclass(frozen=True, slots=True)
class Written:
    """An entry that a request writes, or would have written."""

    # Block at whose end it stands, and its lifetime.
    path: str
    ttl: str
    # Length of the prefix.
    tokens: Tokens


@dataclass(slots=True)
class Asked:
    """A request on its way through the tree."""

    blocks: Sequence[Block]
    path: Sequence[Node]
    # Indexes of blocks that are marked or otherwise special (see `Layout.special`).
    special: Sequence[int]
    model: ModelRules | None
    # Seconds: when it was sent.
    now: float
    # Lookback positions, where they are not those of the blocks.
    positions: Sequence[int] | None = None
    # All input tokens of the request as its provider counted them, where that is known.
    told: int | None = None
    # Whether that may hold what the provider's own tools found, see `counters.looped`: it says nothing of lengths then.
    looped: bool = False
    # Fewest tokens that any known model of the provider caches.
    least: int | None = None

    @property
    def limited(self) -> bool:
        """Whether the fewest tokens that the model caches are known."""
        return self.model is not None and self.model.minimum is not None

    def position(self, index: int) -> int:
        """Lookback position of a block."""
        return self.blocks[index].position if self.positions is None else self.positions[index]

    def tokens(self, index: int) -> Tokens:
        """Length of the prefix that ends with a block, within what the provider's own total leaves of it."""
        return self.within(self.path[index].tokens)

    def within(self, prefix: Tokens) -> Tokens:
        """The same of any prefix."""
        if not self.path or self.told is None or prefix.exact:
            return prefix
        whole = self.path[-1].tokens
        if not self.looped:
            return prefix.within(whole, self.told)
        share = prefix.best * self.told // whole.best if whole.best else 0
        return Tokens(min(prefix.low, share), share, max(prefix.high, share))


@dataclass(slots=True)
class Outcome:
    """Tokens as they are billed, and what is left to do once the response begins."""

    read: int = 0
    # Index of the block at which the entry that was read ends; None: nothing was read.
    read_at: int | None = None
    written: dict[str, int] = field(default_factory=dict)
    entries: list[Written] = field(default_factory=list)
    # Nodes whose entries appear when the response begins, with lifetime and its end.
    pending: list[tuple[Node, str, float]] = field(default_factory=list)
    # Anything else to do then.
    then: Callable[[], None] | None = None
    # See `simulate.Prediction`.
    cause: str | None = None
    # What the documents leave open here, in words.
    unsure: list[str] = field(default_factory=list)


def enough(tokens: Tokens, asked: Asked, where: str, outcome: Outcome) -> bool:
    """Whether a prefix is long enough to be cached; the best estimate decides where its band holds the limit."""
    model = asked.model
    if model is None or model.minimum is None:
        short = asked.least is not None and tokens.at_least(asked.least) is False
        words = f", and every known one of its provider is above {tokens.best:,}" if short else ""
        outcome.unsure.append(f"{where}: the minimum length of this model is not known{words}")
        return not short
    minimum = int(model.minimum.value)
    sure = tokens.at_least(minimum)
    if sure is None:
        outcome.unsure.append(f"{where}: {tokens} tokens, {minimum:,} are the minimum of {model.id}")
        return tokens.best >= minimum
    return sure
