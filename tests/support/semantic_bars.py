"""The bars of the collision detector on sets that others wrote, checked by the tests and by the benchmark alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from semantic_scores import Judged, Quality, Share, at_least, false_flags, quality, veto

__all__ = ["FALSE_FLAGS", "OWN", "Bar", "bars", "flags_and_labels"]

# Set name of pairs that a user hands to the benchmark.
OWN = "pairs"
# Certain flags on pairs that have one answer, at most. QQP's labels are noisy.
FALSE_FLAGS = {"fow-odd": 0.02, "sick": 0.02, "mock": 0.03, "qqp": 0.06}


class Bar(NamedTuple):
    """One demand, the figure it is about, and whether that meets it."""

    what: str
    figure: Share
    met: bool


def flags_and_labels(judged: Sequence[Judged], tier: str) -> tuple[list[bool], list[bool]]:
    """What the rules of a tier flag ("certain", "all"), and which pairs need different answers."""
    return [one.flagged(tier) for one in judged], [not one.pair.same for one in judged]


def _quality(judged: Sequence[Judged], tier: str) -> Quality:
    return quality(*flags_and_labels(judged, tier))


def bars(name: str, judged: Sequence[Judged]) -> list[Bar]:
    """The bars of a set. Sets that rules are made on have none."""
    found = []
    merged = at_least(judged, 0.80)

    def minimum(what: str, figure: Share, limit: float) -> None:
        found.append(Bar(f"{what}: at least {limit:.2f}", figure, figure.n > 0 and figure.value >= limit))

    def maximum(what: str, figure: Share, limit: float) -> None:
        found.append(Bar(f"{what}: at most {limit:.0%}", figure, figure.n > 0 and figure.value <= limit))

    if name in ("fow-odd", OWN):
        minimum("cosine >= .80, all rules, F1", _quality(merged, "all").f1, 0.90 if name == OWN else 0.88)
        certain = _quality(merged, "certain")
        minimum("cosine >= .80, certain rules, precision", certain.precision, 0.95)
        if name == "fow-odd":
            minimum("cosine >= .80, certain rules, recall", certain.recall, 0.60)
    if name == "fow-odd":
        # One of the two vetoes has to meet both: few wrong hits are easy without hits.
        served = {tier: veto(judged, flags_and_labels(judged, tier)[0], 0.90) for tier in ("certain", "all")}
        good = {tier: both.wrong.value <= 0.02 and both.hits.value >= 0.45 for tier, both in served.items()}
        tier = "certain" if good["certain"] else "all"
        found.append(Bar(f"veto of {tier} rules at .90, wrong hits: at most 2%", served[tier].wrong, good[tier]))
        found.append(Bar(f"veto of {tier} rules at .90, hits: at least 45%", served[tier].hits, good[tier]))
    if name in FALSE_FLAGS:
        # On all of them, since `assert_mergeable` and `assert_distinct` ask at any cosine, and on those a cache merges.
        for text, some in (("all pairs", judged), ("cosine >= .80", merged)):
            maximum(f"{text}, certain flags on one-answer pairs", _false(some), FALSE_FLAGS[name])
    return found


def _false(judged: Sequence[Judged]) -> Share:
    return false_flags(*flags_and_labels(judged, "certain"))
