"""Whether the markers of a request reach what earlier requests wrote: lost, too far back, trailing, on what changes.

Rules: Claude Platform Docs, "Prompt caching", how automatic prefix checking works (entries are written at markers only;
at most 20 positions are looked back from each marker, the marker's own being the first; runs of tool blocks count
once). Amazon Bedrock User Guide: about 20 blocks. Read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_cachesafe.providers.blocks.block import Block
from pytest_cachesafe.providers.checks.requests import Asked

__all__ = ["Reach", "Unread", "chain"]


@dataclass(frozen=True, slots=True)
class Unread:
    """An entry that a request could have read and does not, or a marker that is no use."""

    code: str
    request: int
    against: int
    path: str
    # Number of the parent's block whose entry is not found, and how many positions it lies behind the nearest marker.
    index: int
    distance: int = 0


def chain(blocks: Sequence[Block]) -> list[int]:
    """A number for every prefix; equal numbers mean equal blocks up to there."""
    out: list[int] = []
    so_far = 0
    for block in blocks:
        so_far = hash((so_far, block.key))
        out.append(so_far)
    return out


class Reach:
    """Follows what was written, over all requests."""

    def __init__(self, lookback: int) -> None:
        self._lookback = lookback
        self._written: dict[tuple[object, ...], set[int]] = {}

    def judge(self, parent: Asked | None, item: Asked, *, broken: bool) -> Unread | None:
        """What an unbroken request does not find although it is there; then remember what it writes."""
        numbers = chain(item.layout.blocks)
        scope = (item.exchange.scope, item.exchange.model, item.exchange.api)
        written = self._written.setdefault(scope, set())
        found = None
        shown = item.shows("markers") and (parent is None or parent.shows("markers"))
        # What is refused reads and writes nothing.
        if parent is not None and shown and not broken and parent.answered and item.answered:
            found = self._unread(parent, item, numbers, written)
        if item.answered:
            written.update(numbers[i] for i in marked(item))
        return found

    def _unread(self, parent: Asked, item: Asked, numbers: Sequence[int], written: set[int]) -> Unread | None:
        earlier = marked(parent)
        if not earlier:
            return None
        last = earlier[-1]
        if last >= len(numbers) or parent.layout.blocks[last].key != item.layout.blocks[last].key:
            # A request cut short, or one whose newest message was put anew: nothing was lost on the way.
            return None
        mine = marked(item)
        if not mine:
            return Unread("marker-lost", item.index, parent.index, parent.layout.blocks[last].path, last)
        blocks = item.layout.blocks
        for at in reversed(mine):
            low = blocks[at].position - self._lookback + 1
            near = range(at, -1, -1)
            hit = next((i for i in near if blocks[i].position < low or numbers[i] in written), None)
            if hit is not None and blocks[hit].position >= low and hit >= last:
                return self._trailing(parent, item, earlier, mine)
        behind = [at for at in mine if at > last]
        if not behind:
            return Unread("marker-lost", item.index, parent.index, blocks[last].path, last)
        # The path is the marker's from which it is looked back: the first one behind the entry.
        distance = blocks[behind[0]].position - blocks[last].position
        return Unread("marker-out-of-lookback", item.index, parent.index, blocks[behind[0]].path, last, distance)

    def _trailing(self, parent: Asked, item: Asked, earlier: Sequence[int], mine: Sequence[int]) -> Unread | None:
        """A last marker in the messages that moves with their end, at a distance from it as far as the lookback."""
        blocks = item.layout.blocks
        at, before = mine[-1], earlier[-1]
        marker = blocks[at].marker
        if at == before or blocks[at].level != "messages" or marker is None or not marker.explicit:
            return None
        if parent.layout.blocks[before].level != "messages":
            return None
        tails = [
            layout.blocks[-1].position - layout.blocks[i].position
            for layout, i in ((parent.layout, before), (item.layout, at))
        ]
        if min(tails) < self._lookback:
            return None
        return Unread("marker-trails", item.index, parent.index, blocks[at].path, at, tails[1])


def marked(item: Asked) -> list[int]:
    """Indexes of the blocks that end an entry."""
    return [i for i, block in enumerate(item.layout.blocks) if block.marker is not None]
