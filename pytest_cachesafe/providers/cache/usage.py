"""Input tokens of one request, split as its provider bills them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Tokens", "Usage"]


# Not frozen, which makes it more expensive to make: there are several for each block of a request.
@dataclass(slots=True, unsafe_hash=True)
class Tokens:
    """A number of tokens: exact (all three equal), or an estimate with its band. Shared: never changed."""

    low: int
    best: int
    high: int

    @classmethod
    def exactly(cls, n: int) -> Tokens:
        """A counted number."""
        return cls(n, n, n)

    @property
    def exact(self) -> bool:
        """Whether the number was counted."""
        return self.low == self.high

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(self.low + other.low, self.best + other.best, self.high + other.high)

    def at_least(self, minimum: int) -> bool | None:
        """True: surely; False: surely not; None: the band holds the limit."""
        if self.low >= minimum:
            return True
        return False if self.high < minimum else None

    def within(self, whole: Tokens, told: int | None) -> Tokens:
        """An estimated prefix of `whole`, held against the provider's own count of the whole.

        What stands behind the prefix is not in it; what a provider adds (tool instructions, a system text) stands in
        front and is.
        """
        if told is None or self.exact:
            return self
        low = max(told - (whole.high - self.high), 0)
        high = max(told - (whole.low - self.low), low)
        share = self.best * told // whole.best if whole.best else 0
        return Tokens(low, min(max(share, low), high), high)

    def __str__(self) -> str:
        return f"{self.best:,}" if self.exact else f"about {self.best:,} ({self.low:,} to {self.high:,})"


@dataclass(frozen=True, slots=True)
class Usage:
    """One request's input tokens. `total` is always `read + uncached + the sum of written`."""

    total: int
    read: int
    uncached: int
    # Written to the cache, by lifetime as the provider names it: {"5m": 2823, "1h": 0}, {"30m": …}; () if none.
    written: tuple[tuple[str, int], ...] = ()
    # Whether the numbers are counted ones; otherwise they come from estimates and every output says so.
    exact: bool = False
    # What was written but with no write charge is in neither (OpenAI before 5.6, Gemini): `written` is empty there.
    output: int = 0

    @property
    def write(self) -> int:
        """Tokens written, over all lifetimes."""
        return sum(n for _, n in self.written)
