"""Caches that hold what the caller marks: Anthropic's, and Claude's on Bedrock.

Claude Platform Docs, "Prompt caching" (how prompt caching works; structuring your prompt; 1-hour duration) and "Tool
use with prompt caching"; Amazon Bedrock User Guide, "Prompt caching"; read 2026-11-29. In short: one entry per marker,
keyed by everything up to it; from each marker at most 20 positions are looked back for an entry of an earlier request,
then from the next earlier explicit marker; a lifetime counts from the start of the request that wrote or read it.
"""

from __future__ import annotations

from pytest_cachesafe.providers.blocks.block import Marker
from pytest_cachesafe.providers.blocks.builder import SERVER_RESULTS
from pytest_cachesafe.providers.cache.outcome import Asked, Outcome, Written, enough
from pytest_cachesafe.providers.rules.table import ProviderRules

__all__ = ["MarkedCache"]

_OWN = Marker("", "5m", explicit=False)


class MarkedCache:
    """The rules; what is stored hangs on the nodes of the tree."""

    def __init__(self, rules: ProviderRules) -> None:
        facts = rules.facts
        self._lookback = int(facts["lookback"].value)
        self._seconds = {ttl: facts[f"ttl.{ttl}"].value for ttl in ("5m", "1h")}
        each = facts.get("minimum.each")
        # Bedrock: the n-th checkpoint that is made needs n times the minimum in front of it.
        self._each = each.value if each is not None else None

    def request(self, asked: Asked) -> Outcome:
        """Look up, bill, and note what is to be written."""
        outcome = Outcome()
        marks = self._marks(asked)
        hit = self._find(asked, marks)
        outcome.read_at = hit
        outcome.read = asked.tokens(hit).best if hit is not None else 0
        usable = self._long_enough(asked, marks, outcome)
        self._bill(asked, usable, outcome)
        self._refresh(asked, marks, hit)
        outcome.cause = self._cause(asked, marks, usable, hit)
        return outcome

    def _marks(self, asked: Asked) -> list[tuple[int, Marker]]:
        blocks, found = asked.blocks, []
        own = None
        for i in asked.special:
            marker = blocks[i].marker
            if marker is not None:
                found.append((i, marker))
            if blocks[i].kind in SERVER_RESULTS:
                own = i
        if found and own is not None and blocks[own].marker is None:
            # With any marker the API puts one of its own on results of server tools.
            found = sorted([*found, (own, _OWN)], key=lambda mark: mark[0])
        return found

    def _find(self, asked: Asked, marks: list[tuple[int, Marker]]) -> int | None:
        path = asked.path
        for n, (at, marker) in enumerate(reversed(marks)):
            if n and not marker.explicit:
                continue
            lowest = asked.position(at) - self._lookback
            i = at
            while i >= 0 and asked.position(i) > lowest:
                if path[i].live(asked.now):
                    return i
                i -= 1
        return None

    def _long_enough(self, asked: Asked, marks: list[tuple[int, Marker]], outcome: Outcome) -> list[tuple[int, Marker]]:
        usable: list[tuple[int, Marker]] = []
        for at, marker in marks:
            where = asked.blocks[at].path
            if not enough(asked.tokens(at), asked, where, outcome):
                continue
            if usable and self._each is not None and asked.model is not None and asked.model.minimum is not None:
                n = len(usable) + 1
                least = int(asked.model.minimum.value * self._each * n)
                if not asked.tokens(at).at_least(least):
                    outcome.unsure.append(
                        f"{where}: checkpoint {n} is documented to need {least:,} tokens in front of it; replies show "
                        "that fewer are written as well"
                    )
            usable.append((at, marker))
        return usable

    def _bill(self, asked: Asked, usable: list[tuple[int, Marker]], outcome: Outcome) -> None:
        """A: tokens at the hit; B: at the last 1h marker behind it, or A; C: at the last marker behind it, or B."""
        at_hit = -1 if outcome.read_at is None else outcome.read_at
        behind = [(asked.tokens(i).best, marker.ttl) for i, marker in usable if i > at_hit]
        a = outcome.read
        b = max([a, *(n for n, ttl in behind if ttl == "1h")])
        c = max([b, *(n for n, _ in behind)])
        outcome.written = {ttl: n for ttl, n in (("5m", c - b), ("1h", b - a)) if n}
        for i, marker in usable:
            node = asked.path[i]
            if marker.ttl in self._seconds and not node.live(asked.now):
                outcome.pending.append((node, marker.ttl, asked.now + self._seconds[marker.ttl]))
                outcome.entries.append(Written(asked.blocks[i].path, marker.ttl, asked.tokens(i)))

    def _refresh(self, asked: Asked, marks: list[tuple[int, Marker]], hit: int | None) -> None:
        """Reading renews an entry for its own lifetime, and those at markers in front of it, which were used too."""
        if hit is None:
            return
        for i in {hit, *(at for at, _ in marks if at <= hit)}:
            entries = asked.path[i].entries
            for ttl, end in entries.items():
                if end > asked.now:
                    entries[ttl] = max(end, asked.now + self._seconds[ttl])

    def _cause(
        self, asked: Asked, marks: list[tuple[int, Marker]], usable: list[tuple[int, Marker]], hit: int | None
    ) -> str | None:
        """Why the longest prefix that was ever written and is shared was not read."""
        lowest = -1 if hit is None else hit
        for i in range(len(asked.path) - 1, lowest, -1):
            node = asked.path[i]
            if node.live(asked.now):
                return "out-of-lookback" if marks and marks[-1][0] >= i else "no-marker"
            if node.entries:
                return "expired"
            if node.waiting:
                return "not-begun"
        if hit is not None:
            return None
        if not marks:
            return "no-marker"
        return None if usable or not asked.limited else "below-minimum"
