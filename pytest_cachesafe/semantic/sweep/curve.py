"""Counts over thresholds: of pairs with one answer those that are served (hits), of the others too (wrong hits)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe.semantic.sweep.interval import Share, upper_bound, wilson
from pytest_cachesafe.usage import UsageError

__all__ = ["GRID", "Curve", "Point", "area", "as_grid", "curve", "smallest_safe"]

# Fixed before the pairs are looked at, as a threshold that is chosen among them has to be (see `smallest_safe`).
GRID = tuple(round(0.5 + step / 200, 3) for step in range(101))


@dataclass(frozen=True, slots=True)
class Point:
    """What a cache serves at one threshold."""

    threshold: float
    # Of the pairs with one answer.
    hits: Share
    # Of the pairs that need different answers.
    wrong: Share

    @property
    def served_wrongly(self) -> float | None:
        """Share of what is served that is wrong, in the mix of these pairs; None where nothing is served."""
        served = self.hits.count + self.wrong.count
        return self.wrong.count / served if served else None

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        wrong = self.served_wrongly
        return {
            "threshold": self.threshold,
            "hits": self.hits.as_dict(),
            "wrong_hits": self.wrong.as_dict(),
            "wrong_share_of_served": None if wrong is None else round(wrong, 6),
        }


@dataclass(frozen=True, slots=True)
class Curve:
    """One way to decide, over all thresholds (ascending)."""

    # Stable: "cosine", "certain" (its pairs never merged) or "all" (suspects neither).
    key: str
    label: str
    points: tuple[Point, ...]

    def at(self, threshold: float) -> Point:
        """The point of a threshold of the grid."""
        return next(point for point in self.points if point.threshold == threshold)


def as_grid(thresholds: Sequence[float] | None) -> tuple[float, ...]:
    """Thresholds to sweep, ascending; `GRID` for None.

    Raises:
        UsageError: none at all, or one outside 0..1.
    """
    if thresholds is None:
        return GRID
    found = []
    for value in thresholds:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise UsageError(f"thresholds: {value!r}: cosine similarities from 0 to 1 are meant")
        found.append(float(value))
    if not found:
        raise UsageError("thresholds: an empty list; leave it out for 0.5 to 1 in steps of 0.005")
    return tuple(sorted(set(found)))


def curve(
    key: str,
    label: str,
    same: Sequence[float],
    different: Sequence[float],
    totals: tuple[int, int],
    grid: Sequence[float],
    confidence: float,
) -> Curve:
    """Count what is merged at each threshold.

    Args:
        same, different: cosines of the pairs that may be merged at all, by label.
        totals: pairs of either label, vetoed ones included.
    """
    good, bad = sorted(same), sorted(different)
    return Curve(
        key,
        label,
        tuple(
            Point(
                threshold,
                wilson(len(good) - bisect_left(good, threshold), totals[0], confidence),
                wilson(len(bad) - bisect_left(bad, threshold), totals[1], confidence),
            )
            for threshold in grid
        ),
    )


def smallest_safe(found: Curve, budget: float, confidence: float) -> Point | None:
    """The smallest threshold at which, with that confidence, at most `budget` of the different pairs are served.

    Thresholds are tested from the highest down, on a grid that does not depend on the pairs, and the first one that
    fails ends it: so the confidence holds for the one chosen, although many were tried (fixed-sequence testing, as in
    Angelopoulos, Bates, Candès, Jordan, Lei, "Learn then Test", arXiv 2110.01052, 2021).

    Returns:
        None where there is none, or none that serves anything.
    """
    best = None
    for point in reversed(found.points):
        if upper_bound(point.wrong.count, point.wrong.n, confidence) > budget:
            break
        best = point
    return best if best is not None and best.hits.count else None


def area(same: Sequence[float], different: Sequence[float]) -> float | None:
    """How often a pair with one answer is closer than one with two (ties count half): 0.5 is a coin, 1 separates."""
    if not same or not different:
        return None
    bad = sorted(different)
    # A tie is below on one side only: half.
    below = sum(bisect_left(bad, value) + bisect_right(bad, value) for value in same)
    return below / (2 * len(same) * len(bad))
