"""Caches that need no marker: OpenAI's of every generation, and Gemini's implicit one.

OpenAI Developers, "Prompt caching" (breakpoints, reading and writing from GPT-5.6 on; models before), read 2026-11-29;
parameters of the openai SDK 3.57. Gemini API, "Context caching", implicit caching: best effort, unit and lifetime are
not published.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.providers.blocks.block import Layout
from pytest_cachesafe.providers.blocks.builder import mapping
from pytest_cachesafe.providers.cache.outcome import Asked, Outcome, Written, enough
from pytest_cachesafe.providers.cache.usage import Tokens
from pytest_cachesafe.providers.rules.table import ProviderRules
from pytest_cachesafe.providers.tokens import Counter

__all__ = ["BreakpointCache", "PrefixKept"]


class BreakpointCache:
    """OpenAI from GPT-5.6 on: entries end at breakpoints, implicit and explicit, and are read at exact boundaries."""

    def __init__(self, rules: ProviderRules) -> None:
        facts = {name: fact.value for name, fact in rules.facts.items()}
        self._most = int(facts["max_markers"])
        self._first, self._latest = int(facts["read.first"]), int(facts["read.latest"])
        self._messages = int(facts["read.messages"])
        self._seconds = {ttl: facts[f"ttl.{ttl}"] for ttl in ("30m", "12h")}

    def request(self, asked: Asked, layout: Layout, body: Mapping[str, Any]) -> Outcome:
        """Look up, bill, and note what is to be written."""
        outcome = Outcome()
        options = mapping(body.get("prompt_cache_options"))
        implicit = options.get("mode") != "explicit"
        ttl = options.get("ttl")
        ttl = ttl if isinstance(ttl, str) else "30m"
        marks = [(i, asked.blocks[i].marker) for i in asked.special]
        explicit = [(i, marker.ttl) for i, marker in marks if marker is not None]
        ends = layout.ends if implicit else ()
        hit = self._find(asked, [i for i, _ in explicit], ends, layout.developer_end if implicit else None)
        written = explicit[-(self._most - 1) :] if implicit else explicit[-self._most :]
        if ends and all(i != ends[0] for i, _ in written):
            written = sorted([*written, (ends[0], ttl)])
        outcome.read_at = hit
        outcome.read = asked.tokens(hit).best if hit is not None else 0
        usable = [
            (i, kept) for i, kept in written
            if enough(asked.tokens(i), asked, asked.blocks[i].path, outcome)
        ]  # fmt: skip
        self._bill(asked, usable, outcome)
        if hit is not None:
            entries = asked.path[hit].entries
            for kept, end in entries.items():
                if end > asked.now:
                    entries[kept] = max(end, asked.now + self._seconds[kept])
        outcome.cause = self._cause(asked, usable, written, hit)
        if outcome.cause == "expired":
            outcome.unsure.append("lifetimes are at least what was asked for: the entry may still be kept")
        return outcome

    def _find(self, asked: Asked, explicit: list[int], ends: tuple[int, ...], developer_end: int | None) -> int | None:
        """The longest live entry among the boundaries that are checked."""
        checked = {*explicit[: self._first], *explicit[-self._latest :], *ends[: self._messages + 1]}
        if developer_end is not None:
            checked.add(developer_end)
        return max((i for i in checked if asked.path[i].live(asked.now)), default=None)

    def _bill(self, asked: Asked, usable: list[tuple[int, str]], outcome: Outcome) -> None:
        """What lies behind the hit is written up to the last breakpoint, each stretch with the lifetime of its end."""
        begin = outcome.read
        for i, ttl in usable:
            node = asked.path[i]
            if ttl not in self._seconds:
                continue
            if not node.live(asked.now):
                outcome.pending.append((node, ttl, asked.now + self._seconds[ttl]))
                outcome.entries.append(Written(asked.blocks[i].path, ttl, asked.tokens(i)))
            stretch = asked.tokens(i).best - begin
            if stretch > 0:
                outcome.written[ttl] = outcome.written.get(ttl, 0) + stretch
                begin += stretch

    def _cause(
        self, asked: Asked, usable: list[tuple[int, str]], written: list[tuple[int, str]], hit: int | None
    ) -> str | None:
        for i in range(len(asked.path) - 1, -1 if hit is None else hit, -1):
            node = asked.path[i]
            if node.live(asked.now):
                return "out-of-lookback"
            if node.entries:
                return "expired"
            if node.waiting:
                return "not-begun"
        if hit is not None:
            return None
        if not written:
            return "no-marker"
        return None if usable or not asked.limited else "below-minimum"


class PrefixKept:
    """Any prefix of an earlier request is found again, in whole units: OpenAI before GPT-5.6, Gemini.

    Args:
        unit: tokens that a read is a multiple of; 1: not published.
        seconds: how long a prefix is kept without use.
        floor: what reported tokens are rounded down to.
    """

    def __init__(self, unit: int, seconds: float, floor: int, note: str) -> None:
        self._unit, self._seconds, self._floor, self._note = unit, seconds, floor, note

    def request(self, asked: Asked, counter: Counter) -> Outcome:
        """Look up; nothing is billed for writing."""
        outcome = Outcome()
        shared, index = self._shared(asked, counter)
        shared = asked.within(shared)
        if shared.best and enough(shared, asked, "the shared prefix", outcome):
            outcome.read = shared.best // self._unit * self._unit // self._floor * self._floor
            outcome.read_at = index if outcome.read else None
            outcome.unsure.append(self._note)
        elif shared.best:
            outcome.cause = "below-minimum" if asked.limited else None
        elif any(node.until > float("-inf") for node in asked.path[:1]):
            outcome.cause = "expired"
        elif any(node.waiting for node in asked.path[:1]):
            outcome.cause = "not-begun"
        path, end = list(asked.path), asked.now + self._seconds
        for node in path[:1]:
            node.waiting += 1

        def keep() -> None:
            for node in path:
                node.until = max(node.until, end)
            for node in path[:1]:
                node.waiting -= 1

        outcome.then = keep
        return outcome

    def _shared(self, asked: Asked, counter: Counter) -> tuple[Tokens, int | None]:
        """Tokens of the longest prefix that an earlier request had, up to inside a text; and its last whole block."""
        n = len(asked.path)
        while n and asked.path[n - 1].until <= asked.now:
            n -= 1
        last = n - 1 if n else None
        if n == len(asked.path):
            return (asked.path[-1].tokens if n else Tokens.exactly(0)), last
        parent, block, best = asked.path[n].parent, asked.blocks[n], ""
        assert parent is not None
        for other in parent.children.values():
            twin = other.block
            if twin is None or other.until <= asked.now or (twin.kind, twin.role) != (block.kind, block.role):
                continue
            best = max(best, _common(twin.text, block.text), key=len)
        return (parent.tokens + counter.text(best) if best else parent.tokens), last


def _common(a: str, b: str) -> str:
    """What two texts begin with alike."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return a[:low]
