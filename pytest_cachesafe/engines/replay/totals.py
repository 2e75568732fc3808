"""Sums over requests: in all, per tag and tenant, over time, per reason. All of them add up exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["OTHER", "Groups", "LeftOut", "ReasonTotals", "Totals", "Windows"]

OTHER = "(other)"
# Names that get a line of their own; more would let memory grow with the log.
_NAMES = 100_000
_WINDOWS = 60


class Totals:
    """Requests, prompt tokens, those that came from the cache, and the blocks that they are."""

    __slots__ = ("cached_tokens", "hit_blocks", "requests", "tokens")

    def __init__(self, requests: int = 0, tokens: int = 0, cached_tokens: int = 0, hit_blocks: int = 0) -> None:
        self.requests = requests
        self.tokens = tokens
        self.cached_tokens = cached_tokens
        self.hit_blocks = hit_blocks

    def add(self, requests: int, tokens: int, cached_tokens: int, hit_blocks: int) -> None:
        """Add numbers."""
        self.requests += requests
        self.tokens += tokens
        self.cached_tokens += cached_tokens
        self.hit_blocks += hit_blocks

    @property
    def hit_rate(self) -> float:
        """Share of the prompt tokens that came from the cache, 0 to 1; 0 without tokens."""
        return self.cached_tokens / self.tokens if self.tokens else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON; the share is rounded to 6 places."""
        return {
            "requests": self.requests,
            "tokens": self.tokens,
            "cached_tokens": self.cached_tokens,
            "hit_blocks": self.hit_blocks,
            "hit_rate": round(self.hit_rate, 6),
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Totals) and self.as_dict() == other.as_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Totals({self.requests}, {self.tokens}, {self.cached_tokens}, {self.hit_blocks})"


class Groups(dict[str, Totals]):
    """Totals per name, as many names as memory allows; the others share one."""

    def of(self, name: str) -> Totals:
        """The totals of a name."""
        found = self.get(name)
        if found is None:
            if len(self) >= _NAMES:
                name = OTHER
            found = self.setdefault(name, Totals())
        return found


class Windows:
    """Totals over time: by requests of the log, or by its timestamps.

    Without a width there are at most 60 windows: their width doubles with the log, so that parts of a log that count
    requests alike have windows of the same width.
    """

    def __init__(self, width: int | float | None = None, by: str = "requests") -> None:
        self.by = by
        self.fixed = width is not None
        self.width: int | float = width if width is not None else 1
        # Most windows that are kept: even fixed ones double, far later.
        self._most = 10_000 if self.fixed else _WINDOWS
        self._first: float | None = None
        self.found: dict[int, Totals] = {}

    def reach(self, position: int | float) -> int:
        """The window that a position falls in; positions are those of the whole log, whoever counts them."""
        at = int(position // self.width)
        while at >= self._most:
            self._double()
            at = int(position // self.width)
        return at

    def of(self, position: int | float) -> Totals:
        """The totals of the window that a position falls in."""
        at = self.reach(position)
        found = self.found.get(at)
        if found is None:
            found = self.found[at] = Totals()
        return found

    def since_first(self, timestamp: float) -> float:
        """Seconds since the log's first timestamp; earlier ones count as the first."""
        if self._first is None:
            self._first = timestamp
        return max(timestamp - self._first, 0.0)

    def _double(self) -> None:
        self.width *= 2
        merged: dict[int, Totals] = {}
        for at, totals in self.found.items():
            into = merged.setdefault(at // 2, Totals())
            into.add(totals.requests, totals.tokens, totals.cached_tokens, totals.hit_blocks)
        self.found = merged

    def as_list(self) -> list[dict[str, Any]]:
        """For JSON: windows with requests in them, each with where it begins."""
        begins = "first_request" if self.by == "requests" else "second"
        return [{begins: at * self.width, **self.found[at].as_dict()} for at in sorted(self.found)]


class LeftOut:
    """Requests that say something which their template does not print: their tokens are not those of what was sent."""

    def __init__(self) -> None:
        self.requests = 0
        # Line of the first of them.
        self.first_line: int | None = None
        # Requests per kind ("tools", "message", "tool call", "tool result"); one may lack several.
        self.what: dict[str, int] = {}

    def add(self, requests: int, line: int | None, what: Mapping[str, int]) -> None:
        """Add requests, the first of them at `line`."""
        self.requests += requests
        if line is not None and (self.first_line is None or line < self.first_line):
            self.first_line = line
        for kind, count in what.items():
            self.what[kind] = self.what.get(kind, 0) + count

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"requests": self.requests, "first_line": self.first_line, "what": dict(sorted(self.what.items()))}


class ReasonTotals(dict[str, list[int]]):
    """Per reason: [requests that it was the first reason of, tokens]."""

    def count(self, found: Iterable[tuple[str, int]], requests: int = 1) -> str | None:
        """Add the reasons of one request; returns the first."""
        first = None
        for reason, tokens in found:
            both = self.get(reason)
            if both is None:
                both = self[reason] = [0, 0]
            both[1] += tokens
            if first is None:
                first = reason
                both[0] += requests
        return first

    def as_dict(self, order: Mapping[str, str]) -> dict[str, Any]:
        """For JSON, in the given order of names."""
        return {name: {"requests": self[name][0], "tokens": self[name][1]} for name in order if name in self}
