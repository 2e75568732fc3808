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

    def position(self, index: int) -> int:
        """Lookback position of a block."""
        return self.blocks[index].position if self.positions is None else self.positions[index]


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


def enough(tokens: Tokens, model: ModelRules | None, times: float, where: str, outcome: Outcome) -> bool:
    """Whether a prefix is long enough to be cached; the best estimate decides where its band holds the limit."""
    if model is None or model.minimum is None:
        outcome.unsure.append(f"{where}: the minimum length of this model is not known")
        return True
    minimum = int(model.minimum.value * times)
    sure = tokens.at_least(minimum)
    if sure is None:
        outcome.unsure.append(f"{where}: {tokens} tokens, {minimum:,} are the minimum of {model.id}")
        return tokens.best >= minimum
    return sure
