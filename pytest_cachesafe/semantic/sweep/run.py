"""The sweep: each labelled pair is embedded and compared once, then counted at every threshold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.semantic.encoder import embed_set
from pytest_cachesafe.semantic.prompts import PromptSet
from pytest_cachesafe.semantic.sweep.curve import Curve, area, as_grid, curve, smallest_safe
from pytest_cachesafe.semantic.sweep.interval import CONFIDENCE, needed, upper_bound
from pytest_cachesafe.semantic.sweep.labelled import LabelledPairs
from pytest_cachesafe.semantic.sweep.result import Advice, SweepReport
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.judge import CollisionJudge

__all__ = ["BUDGET", "LEAST_HITS", "LEAST_SAME", "sweep"]

# Share of the different pairs that may be served.
BUDGET = 0.01
# With fewer pairs of one answer, the hit rate is known to a fifth at best (Wilson, 95%): no advice rests on that.
LEAST_SAME = 30
# A threshold that serves less than that of the pairs with one answer leaves no cache worth having.
LEAST_HITS = 0.1
_CURVES = (
    ("cosine", "cosine alone", ()),
    ("certain", "certain differences as veto", ("certain",)),
    ("all", "all differences as veto", ("certain", "suspect")),
)


def sweep(
    judge: CollisionJudge,
    pairs: Iterable[Any] | LabelledPairs,
    *,
    budget: float = BUDGET,
    confidence: float = CONFIDENCE,
    thresholds: Sequence[float] | None = None,
    least_hits: float = LEAST_HITS,
    strict: bool = False,
) -> SweepReport:
    """Hits and wrong hits over all thresholds, and the smallest safe one.

    Args:
        pairs: `(a, b, label)` or mappings with "a", "b", "same_answer" (see `LabelledPairs.of`).
        budget: largest share of the pairs with different answers that may be served, above 0 and below 1.
        confidence: how sure the advice is to be that the budget is kept, above 0.5 and below 1.
        thresholds: cosine similarities to sweep (default 0.5 to 1 in steps of 0.005).
        least_hits: a threshold that serves a smaller share of the pairs with one answer is not advised.
        strict: ambiguous pairs count as different; they are left out otherwise.

    Raises:
        UsageError: pairs or options that cannot be used, or a label that no pair has.
    """
    from pytest_cachesafe.report.progress import Progress
    from pytest_cachesafe.report.semantic_sweep import render
    from pytest_cachesafe.semantic.similarity import cosines

    _check_option("budget", budget, 0.0)
    _check_option("confidence", confidence, 0.5)
    _check_option("least_hits", least_hits, 0.0)
    grid = as_grid(thresholds)
    found = LabelledPairs.of(pairs)
    kept = [pair for pair in found.pairs if pair.same is not None or strict]
    same, ambiguous = found.count(True), found.count(None)
    different = len(kept) - same
    if not same or not different:
        missing = "with one answer" if not same else "with different answers"
        raise UsageError(f"a sweep needs pairs of both labels: there are none {missing} among {len(found)}")
    texts = PromptSet(unit=found.unit, name=found.name)
    for pair in kept:
        texts.add(pair.a, pair.at)
        texts.add(pair.b, pair.at)
    rows = {text: row for row, text in enumerate(texts.texts)}
    vectors = embed_set(judge.encoder, texts)
    values = cosines(vectors[[rows[pair.a] for pair in kept]], vectors[[rows[pair.b] for pair in kept]])
    cosine = [float(value) for value in values]
    if min(cosine) == 1.0:
        raise UsageError(
            f"encoder {judge.encoder.name} gives both prompts of every pair the same vector: nothing was compared; "
            "give the encoder that your cache uses"
        )
    tiers = []
    bar = Progress()
    try:
        for done, pair in enumerate(kept):
            tiers.append(judge.detector.compare(pair.a, pair.b).different_answer)
            if bar.due():
                bar.show(done, len(kept), f"{done:,} of {len(kept):,} pairs compared")
    finally:
        bar.clear()
    good = [pair.same is True for pair in kept]
    curves = [
        curve(
            key,
            label,
            [value for value, tier, yes in zip(cosine, tiers, good, strict=True) if yes and tier not in vetoed],
            [value for value, tier, yes in zip(cosine, tiers, good, strict=True) if not yes and tier not in vetoed],
            (same, different),
            grid,
            confidence,
        )
        for key, label, vetoed in _CURVES
    ]
    report = SweepReport(
        encoder=judge.encoder.name,
        same=same,
        different=different,
        ambiguous=ambiguous,
        strict=strict,
        budget=budget,
        confidence=confidence,
        least_hits=least_hits,
        least_same=LEAST_SAME,
        least_different=needed(budget, confidence),
        curves=curves,
        advice=[],
        auc=area(
            [value for value, yes in zip(cosine, good, strict=True) if yes],
            [value for value, yes in zip(cosine, good, strict=True) if not yes],
        ),
        notes=_notes(found, judge, strict),
        layout=render,
    )
    report.advice = [_advice(report, found) for found in curves]
    return report


def _advice(report: SweepReport, found: Curve) -> Advice:
    allowed = [p for p in found.points if p.hits.count and p.wrong.count <= report.budget * p.wrong.n]
    observed = allowed[0] if allowed else None
    if not report.enough:
        return Advice(found.key, "too_few", None, None, observed)
    point = smallest_safe(found, report.budget, report.confidence)
    if point is None:
        return Advice(found.key, "none", None, None, observed)
    bound = upper_bound(point.wrong.count, point.wrong.n, report.confidence)
    enough = (point.hits.value or 0.0) >= report.least_hits
    return Advice(found.key, "safe" if enough else "none", point, bound, observed)


def _check_option(name: str, value: object, least: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least < value < 1:
        raise UsageError(
            f"{name} {value!r}: a share above {least:g} and below 1 is meant, e.g. 0.{1 if least == 0 else 95}"
        )


def _notes(found: LabelledPairs, judge: CollisionJudge, strict: bool) -> list[str]:
    notes = list(judge.encoder.notes)
    if found.repeats:
        notes.append(f"{_pairs(found.repeats, 'was', 'were')} given before and counted once")
    if found.identical:
        notes.append(f"{_pairs(found.identical, 'holds', 'hold')} one text twice, which every cache merges: left out")
    ambiguous = found.count(None)
    if ambiguous:
        notes.append(
            f"{_pairs(ambiguous, 'is', 'are')} ambiguous and {'counted as different' if strict else 'left out'}"
        )
    return notes


def _pairs(count: int, one: str, many: str) -> str:
    return f"{count:,} {f'pair {one}' if count == 1 else f'pairs {many}'}"
