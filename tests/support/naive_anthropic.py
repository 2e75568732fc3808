"""Anthropic's documented cache written down plainly: everything computed anew for every request, nothing clever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_cachesafe.providers.blocks.layout import lay_out
from pytest_cachesafe.providers.exchange import Exchange

SECONDS = {"5m": 300.0, "1h": 3600.0}


@dataclass
class Entry:
    """What one marker wrote."""

    prefix: tuple[bytes, ...]
    ttl: str
    end: float
    readable: float


class NaiveCache:
    """One account and model, no minimum, a token a letter, settings all at their defaults."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def request(self, exchange: Exchange, began: float) -> tuple[int, dict[str, int], int]:
        """(read, written by lifetime, uncached)"""
        now = exchange.sent_at or 0.0
        blocks = lay_out(exchange).blocks
        prefixes = [tuple(b.key for b in blocks[: i + 1]) for i in range(len(blocks))]
        tokens = [sum(len(b.text) for b in blocks[: i + 1]) for i in range(len(blocks))]
        marks = [i for i, b in enumerate(blocks) if b.marker is not None]
        live = [e for e in self.entries if e.readable <= now < e.end]
        hit = self._hit(marks, [b.position for b in blocks], prefixes, live)
        a = tokens[hit] if hit is not None else 0
        behind = [i for i in marks if hit is None or i > hit]
        b = max([a, *(tokens[i] for i in behind if blocks[i].marker.ttl == "1h")])  # type: ignore[union-attr]
        c = max([b, *(tokens[i] for i in behind)])
        for entry in live:
            if hit is not None and any(entry.prefix == prefixes[i] for i in {hit, *(m for m in marks if m <= hit)}):
                entry.end = max(entry.end, now + SECONDS[entry.ttl])
        for i in marks:
            if not any(e.prefix == prefixes[i] for e in live):
                ttl = blocks[i].marker.ttl  # type: ignore[union-attr]
                self.entries.append(Entry(prefixes[i], ttl, now + SECONDS[ttl], began))
        total = tokens[-1] if tokens else 0
        return a, {ttl: n for ttl, n in (("5m", c - b), ("1h", b - a)) if n}, total - c

    @staticmethod
    def _hit(
        marks: Sequence[int], positions: Sequence[int], prefixes: Sequence[tuple[bytes, ...]], live: Sequence[Entry]
    ) -> int | None:
        for mark in reversed(marks):
            checked = [i for i in range(mark + 1) if positions[mark] - positions[i] < 20]
            for i in reversed(checked):
                if any(e.prefix == prefixes[i] for e in live):
                    return i
        return None
