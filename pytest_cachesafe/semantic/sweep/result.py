"""What a sweep found, as data; text, CSV and pictures are made in `report.semantic_sweep`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_cachesafe.semantic.sweep.curve import Curve, Point

__all__ = ["Advice", "Outcome", "SweepReport"]

# safe: a threshold keeps the budget and hits enough. none: no threshold does both. too_few: nothing can be said.
Outcome = Literal["safe", "none", "too_few"]


@dataclass(frozen=True, slots=True)
class Advice:
    """The smallest safe threshold of one curve, or why there is none."""

    curve: str
    outcome: Outcome
    # The smallest threshold that keeps the budget, if any does; with outcome `none` it leaves too few hits.
    point: Point | None
    # One-sided exact bound of its wrong-hit rate.
    bound: float | None
    # The smallest threshold at which the pairs themselves kept the budget: says less, as it leaves chance out.
    observed: Point | None

    @property
    def threshold(self) -> float | None:
        """The smallest safe threshold; None where there is none."""
        return self.point.threshold if self.point is not None and self.outcome == "safe" else None

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "curve": self.curve,
            "outcome": self.outcome,
            "threshold": self.threshold,
            "budget_threshold": None if self.point is None else self.point.threshold,
            "hits": None if self.point is None else self.point.hits.as_dict(),
            "wrong_hits": None if self.point is None else self.point.wrong.as_dict(),
            "wrong_hits_bound": None if self.bound is None else round(self.bound, 6),
            "observed_threshold": None if self.observed is None else self.observed.threshold,
        }


@dataclass
class SweepReport:
    """Hits and wrong hits of labelled pairs over all thresholds, with and without the detector's veto."""

    encoder: str
    # Pairs by label; ambiguous ones are left out or count as different, see `strict`.
    same: int
    different: int
    ambiguous: int
    strict: bool
    # Largest share of the different pairs that may be served, and how sure the advice has to be of it.
    budget: float
    confidence: float
    # A threshold that leaves a smaller share of the hits than that separates nothing.
    least_hits: float
    # Fewest pairs of either label for which advice is given.
    least_same: int
    least_different: int
    curves: list[Curve]
    advice: list[Advice]
    # How often a pair with one answer is closer than one with two; 0.5 is a coin.
    auc: float | None
    notes: list[str] = field(default_factory=list)
    # How it is written; `report.semantic_sweep` sets it.
    layout: Callable[[SweepReport, str, int], str] | None = None

    @property
    def enough(self) -> bool:
        """Whether there are pairs enough for advice."""
        return self.same >= self.least_same and self.different >= self.least_different

    def curve(self, key: str) -> Curve:
        """`cosine`, `certain` or `all`."""
        return next(found for found in self.curves if found.key == key)

    def advice_for(self, key: str) -> Advice:
        """Advice for `cosine`, `certain` or `all`."""
        return next(found for found in self.advice if found.curve == key)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "encoder": self.encoder,
            "pairs": {"same": self.same, "different": self.different, "ambiguous": self.ambiguous},
            "budget": self.budget,
            "confidence": self.confidence,
            "least_hits": self.least_hits,
            "least": {"same": self.least_same, "different": self.least_different},
            "auc": None if self.auc is None else round(self.auc, 6),
            "advice": [found.as_dict() for found in self.advice],
            "curves": {found.key: [point.as_dict() for point in found.points] for found in self.curves},
            "notes": list(self.notes),
        }

    def text(self, verbosity: int = 0) -> str:
        """For people; the first line is complete in itself."""
        return self._written("text", verbosity)

    def csv(self) -> str:
        """A line per curve and threshold, with a head; shares from 0 to 1."""
        return self._written("csv", 0)

    def svg(self) -> str:
        """The curve as a picture of its own, without scripts."""
        return self._written("svg", 0)

    def html(self) -> str:
        """A page of its own: the curve, the advice and the table."""
        return self._written("html", 0)

    def _written(self, form: str, verbosity: int) -> str:
        if self.layout is None:
            raise ValueError("no layout")
        return self.layout(self, form, verbosity)
