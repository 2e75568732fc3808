"""How well a detector tells prompts that need different answers from those that do not: shares with their intervals.

"Flagged" is what the detector says, "different" what the label says. Every figure carries its n and a 95 % interval:
Wilson's for a share (E. B. Wilson, JASA 22, 1927), the percentile bootstrap over pairs for F1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from semantic_sets import Pair

__all__ = ["Judged", "Quality", "Share", "Veto", "at_least", "by_kind", "f1", "false_flags", "quality", "share", "veto"]

_Z = 1.959963984540054
_RESAMPLES = 2000


class Judged(NamedTuple):
    """A labelled pair, its cosine, and what the detector says."""

    pair: Pair
    cosine: float
    # "certain", "suspect" or "none".
    tier: str
    # Kind of the worst difference.
    kind: str | None

    def flagged(self, tier: str) -> bool:
        """By the certain rules alone, or by all of them."""
        return self.tier == "certain" or (tier == "all" and self.tier == "suspect")


class Share(NamedTuple):
    """A share with its 95 % interval; not a number where there is nothing to count."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.1%} [{self.low:.1%}, {self.high:.1%}] n={self.n}" if self.n else "- n=0"


class Quality(NamedTuple):
    """Of the class "needs different answers"."""

    precision: Share
    recall: Share
    f1: Share

    def __str__(self) -> str:
        if not self.f1.n:
            return "n=0"
        p, r, f = self.precision, self.recall, self.f1
        return (
            f"F1 {f.value:.3f} [{f.low:.3f}, {f.high:.3f}]  P {p.value:.3f} [{p.low:.3f}, {p.high:.3f}] of {p.n}  "
            f"R {r.value:.3f} [{r.low:.3f}, {r.high:.3f}] of {r.n}  n={f.n}"
        )


class Veto(NamedTuple):
    """What a cache serves at a threshold when flagged pairs are not merged."""

    # Of the pairs with one answer: those that the cache serves.
    hits: Share
    # Of the pairs with different answers: those that it serves wrongly.
    wrong: Share


def share(count: int, n: int) -> Share:
    """`count` of `n`, with Wilson's interval."""
    if n == 0:
        return Share(math.nan, math.nan, math.nan, 0)
    p, z2 = count / n, _Z * _Z
    middle = p + z2 / (2 * n)
    half = _Z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return Share(p, max(0.0, (middle - half) / (1 + z2 / n)), min(1.0, (middle + half) / (1 + z2 / n)), n)


def f1(true_flags: int, false_flags: int, missed: int, n: int) -> Share:
    """F1 with a bootstrap interval: `n` pairs drawn again with replacement, 2,000 times, from a fixed seed."""
    import numpy

    if n == 0:
        return Share(math.nan, math.nan, math.nan, 0)
    cells = [true_flags, false_flags, missed, n - true_flags - false_flags - missed]
    drawn = numpy.random.default_rng(0).multinomial(n, numpy.array(cells) / n, size=_RESAMPLES)
    below = numpy.maximum(2 * drawn[:, 0] + drawn[:, 1] + drawn[:, 2], 1)
    low, high = numpy.percentile(2 * drawn[:, 0] / below, [2.5, 97.5])
    return Share(2 * true_flags / max(1, 2 * true_flags + false_flags + missed), float(low), float(high), n)


def quality(flags: Sequence[bool], different: Sequence[bool]) -> Quality:
    """Precision, recall and F1 of `flags` against the labels."""
    both = Counter(zip(flags, different, strict=True))
    true_flags, wrong, missed = both[True, True], both[True, False], both[False, True]
    return Quality(
        share(true_flags, true_flags + wrong),
        share(true_flags, true_flags + missed),
        f1(true_flags, wrong, missed, len(flags)),
    )


def at_least(judged: Sequence[Judged], threshold: float | None) -> list[Judged]:
    """The pairs that a cache with this threshold merges; all for None."""
    return [one for one in judged if threshold is None or one.cosine >= threshold]


def false_flags(flags: Sequence[bool], different: Sequence[bool]) -> Share:
    """Of the pairs with one answer: those flagged."""
    same = [flag for flag, wrong in zip(flags, different, strict=True) if not wrong]
    return share(sum(same), len(same))


def veto(judged: Sequence[Judged], flags: Sequence[bool], threshold: float) -> Veto:
    """What is served at `threshold`, with the flagged pairs taken out."""
    served = [one.cosine >= threshold and not flag for one, flag in zip(judged, flags, strict=True)]
    same = [one.pair.same for one in judged]
    hits = sum(hit and good for hit, good in zip(served, same, strict=True))
    return Veto(share(hits, sum(same)), share(sum(served) - hits, len(same) - sum(same)))


def by_kind(judged: Sequence[Judged]) -> list[tuple[str, str, Share]]:
    """Kind of the worst difference, its tier, and how often that is right; most frequent first."""
    fired = Counter((one.kind or "", one.tier) for one in judged if one.tier != "none")
    right = Counter((one.kind or "", one.tier) for one in judged if one.tier != "none" and not one.pair.same)
    return [(kind, tier, share(right[kind, tier], n)) for (kind, tier), n in fired.most_common()]
