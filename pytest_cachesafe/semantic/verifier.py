"""A second opinion on suspects: the user's own `verifier(a, b) -> score`, made usable by the user's own labelled pairs.

What a score means depends on the model and on the traffic, so nothing is fixed here: calibration finds out which way
the scores run, and two limits. Above one a pair is confirmed as different, below the other it is cleared, in between it
stays a suspect. Both limits are order statistics of the labelled pairs, chosen by their number alone; that makes them
tolerance limits, valid for scores of any distribution (S. S. Wilks, "Determination of sample sizes for setting
tolerance limits", Annals of Mathematical Statistics 12, 1941).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_cachesafe.semantic.prompts import as_pair
from pytest_cachesafe.semantic.sweep.curve import area
from pytest_cachesafe.semantic.sweep.interval import CONFIDENCE, Share, needed, upper_bound, wilson
from pytest_cachesafe.semantic.sweep.labelled import LabelledPair, LabelledPairs
from pytest_cachesafe.semantic.verdict import PairVerdict, Tier
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.detect import Detector

__all__ = ["BUDGET", "CalibratedVerifier", "CrossEncoderVerifier", "Opinion", "calibrate", "second_opinion"]

# Share of the pairs with one answer that may be confirmed, and of the others that may be cleared.
BUDGET = 0.05
Opinion = Literal["different", "same", "unsure"]
Verifier = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class CalibratedVerifier:
    """A verifier with limits for its scores; called, it gives the score alone."""

    verifier: Verifier = field(repr=False)
    # 1 where a high score says "different", -1 where a low one does.
    sign: int
    # Limits in the verifier's own scores: beyond `confirms` different, beyond `clears` (on the other side) the same.
    confirms: float
    clears: float
    # How often a pair with different answers scores as more different than one with the same (0.5: a coin).
    auc: float
    # Of the labelled pairs: different ones that are confirmed and cleared, same ones that are confirmed and cleared.
    confirmed: Share
    cleared_wrongly: Share
    confirmed_wrongly: Share
    cleared: Share
    budget: float
    confidence: float

    def __call__(self, a: str, b: str) -> float:
        """The score, the same for both orders of the prompts.

        Raises:
            UsageError: the verifier gives no number.
        """
        return _score(self.verifier, *sorted((a, b)))

    def opinion(self, score: float) -> Opinion:
        """What a score says, at the limits found."""
        value = score * self.sign
        if value > self.confirms * self.sign:
            return "different"
        return "same" if value < self.clears * self.sign else "unsure"

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "high_means": "different" if self.sign > 0 else "same",
            "confirms": self.confirms,
            "clears": self.clears,
            "auc": round(self.auc, 6),
            "budget": self.budget,
            "confidence": self.confidence,
            "confirmed": self.confirmed.as_dict(),
            "confirmed_wrongly": self.confirmed_wrongly.as_dict(),
            "cleared": self.cleared.as_dict(),
            "cleared_wrongly": self.cleared_wrongly.as_dict(),
        }

    def text(self) -> str:
        """For people; the first line is complete in itself."""
        way = ("above", "below") if self.sign > 0 else ("below", "above")
        bound = f"at most {self.budget:.0%} lie there ({self.confidence:.0%} sure)"
        return "\n".join(
            (
                f"the verifier confirms {self.confirmed} of {self.confirmed.n:,} pairs with different answers and "
                f"clears {self.cleared} of {self.cleared.n:,} with one answer",
                f"  {way[0]} {self.confirms:g}: different; of pairs with one answer {bound}",
                f"  {way[1]} {self.clears:g}: the same; of pairs with different answers {bound}",
                f"  a pair with different answers scores as more different in {self.auc:.0%} of all cases (a coin: "
                "50%)",
            )
        )


def second_opinion(verdict: PairVerdict, verifier: CalibratedVerifier) -> Tier:
    """The tier of a pair after the verifier was heard: a suspect is confirmed, cleared, or stays one.

    What is certain is not asked about, and what has no difference neither. The score that the verdict holds is used if
    there is one.

    Raises:
        UsageError: the verifier gives no number.
    """
    tier = verdict.different_answer
    if tier != "suspect":
        return tier
    score = verdict.verifier if verdict.verifier is not None else verifier(verdict.a, verdict.b)
    opinion = verifier.opinion(score)
    return "certain" if opinion == "different" else "none" if opinion == "same" else "suspect"


def calibrate(
    verifier: Verifier,
    pairs: Iterable[Any] | LabelledPairs,
    *,
    detector: Detector | None = None,
    budget: float = BUDGET,
    confidence: float = CONFIDENCE,
) -> CalibratedVerifier:
    """Limits for a verifier's scores, from labelled pairs.

    Args:
        verifier: `verifier(a, b)` gives a number; whether high means same or different is found out.
        pairs: as for a sweep; ambiguous ones are left out.
        detector: only pairs that it calls suspect are used, as those are what the verifier will be asked about.
        budget: largest share of either label that may end up on the wrong side, above 0 and below 0.5.
        confidence: how sure that is to be, above 0.5 and below 1.

    Raises:
        UsageError: too few pairs, options or scores that cannot be used, or scores that do not tell the labels apart.
    """
    if not callable(verifier):
        raise UsageError(f"verifier {verifier!r}: a function verifier(a, b) that gives a number is meant")
    for name, value, low, high in (("budget", budget, 0.0, 0.5), ("confidence", confidence, 0.5, 1.0)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low < value < high:
            raise UsageError(f"{name} {value!r}: a share above {low:g} and below {high:g} is meant")
    kept = [pair for pair in LabelledPairs.of(pairs).pairs if pair.same is not None]
    if detector is not None:
        kept = [pair for pair in kept if detector.compare(pair.a, pair.b).different_answer == "suspect"]
    least = needed(budget, confidence)
    counts = [sum(pair.same is label for pair in kept) for label in (True, False)]
    if min(counts) < least:
        among = " that the detector suspects" if detector is not None else ""
        raise UsageError(
            f"verifier: {counts[0]} pairs with one answer and {counts[1]} with different ones{among}; {least} of each "
            f"are the least to keep errors at {budget:.0%}: label more pairs, or allow more errors"
        )
    same, different = _scores(verifier, kept)
    separates = area(different, same) or 0.0
    sign = 1 if separates >= 0.5 else -1
    if _chance(max(separates, 1 - separates), len(same), len(different), confidence):
        raise UsageError(
            f"verifier: its scores do not tell the labels apart (in {separates:.0%} of all cases a pair with different "
            "answers scores higher; a coin: 50%): it cannot give a second opinion on these prompts"
        )
    high = _limit([score * sign for score in same], budget, confidence)
    low = -_limit([-score * sign for score in different], budget, confidence)
    # Where the labels lie far apart the limits pass each other; what lies between them nobody has seen.
    confirms, clears = max(high, low) * sign, min(high, low) * sign
    found = CalibratedVerifier(
        verifier, sign, confirms, clears, max(separates, 1 - separates),
        *(Share(0, 0, 0.0, 1.0),) * 4, budget, confidence,
    )  # fmt: skip
    said = [[found.opinion(score) for score in scores] for scores in (same, different)]
    return CalibratedVerifier(
        verifier, sign, confirms, clears, found.auc,
        wilson(said[1].count("different"), len(different), confidence),
        wilson(said[1].count("same"), len(different), confidence),
        wilson(said[0].count("different"), len(same), confidence),
        wilson(said[0].count("same"), len(same), confidence),
        budget, confidence,
    )  # fmt: skip


def _scores(verifier: Verifier, pairs: Sequence[LabelledPair]) -> tuple[list[float], list[float]]:
    from pytest_cachesafe.report.progress import Progress

    same: list[float] = []
    different: list[float] = []
    bar = Progress()
    try:
        for done, pair in enumerate(pairs):
            (same if pair.same else different).append(_score(verifier, *sorted((pair.a, pair.b))))
            if bar.due():
                bar.show(done, len(pairs), f"{done:,} of {len(pairs):,} pairs scored")
    finally:
        bar.clear()
    return same, different


def _score(verifier: Verifier, a: str, b: str) -> float:
    raw = verifier(a, b)
    try:
        score = float(raw)
    except (TypeError, ValueError):
        score = math.nan
    if not math.isfinite(score):
        raise UsageError(f"verifier gives {type(raw).__name__} {str(raw)[:40]}: one finite number a pair is needed")
    return score


def _limit(scores: Sequence[float], budget: float, confidence: float) -> float:
    """The score above which at most `budget` of such pairs lie, with that confidence."""
    ordered = sorted(scores, reverse=True)
    beyond = 0
    # How many may lie above it is a matter of their number alone, not of the scores.
    while beyond + 1 < len(ordered) and upper_bound(beyond + 1, len(ordered), confidence) <= budget:
        beyond += 1
    return ordered[beyond]


def _chance(auc: float, same: int, different: int, confidence: float) -> bool:
    """Whether scores without meaning give such an area as easily (normal approximation of the Mann-Whitney U)."""
    from statistics import NormalDist

    deviation = math.sqrt((same + different + 1) / (12 * same * different))
    return auc - 0.5 <= NormalDist().inv_cdf((1 + confidence) / 2) * deviation


class CrossEncoderVerifier:
    """A cross-encoder of the user's choice as verifier, through sentence-transformers.

    A model with an entailment label (NLI) scores 1 less the smaller entailment of both directions: two questions have
    one answer where each follows from the other. A model with one output (similarity, duplicates) scores what it says,
    averaged over both orders.

    Args:
        model: a model's folder or name, or a loaded `CrossEncoder`.
        entailment: index of the entailment label, for a model that does not name its labels.

    Raises:
        UsageError: sentence-transformers is missing, the model cannot be loaded, or has no entailment label.
    """

    def __init__(self, model: Any, *, entailment: int | None = None) -> None:
        self._model = _load(model) if isinstance(model, (str, os.PathLike)) else model
        self.name = os.fspath(model) if isinstance(model, (str, os.PathLike)) else type(model).__name__
        config = getattr(getattr(self._model, "model", None), "config", None)
        labels = {int(k): str(v).lower() for k, v in (getattr(config, "id2label", None) or {}).items()}
        if entailment is None and len(labels) > 1:
            # "not_entailment" is a label of two-class models.
            entailment = next((index for index, label in labels.items() if label == "entailment"), None)
            if entailment is None:
                raise UsageError(
                    f"verifier {self.name} names its labels {', '.join(labels.values())}: give entailment=INDEX of the "
                    "one that means entailment"
                )
        self.entailment = entailment

    def __call__(self, a: str, b: str) -> float:
        """The score of a pair, the same for both orders; 0 to 1 for an NLI model."""
        a, b = as_pair(a, b)
        rows = self._model.predict([(a, b), (b, a)], show_progress_bar=False, apply_softmax=self.entailment is not None)
        if self.entailment is None:
            return (float(rows[0]) + float(rows[1])) / 2
        return 1.0 - min(float(row[self.entailment]) for row in rows)


def _load(model: str | os.PathLike[str]) -> Any:
    from pytest_cachesafe.models.errors import need, one_line

    folder = Path(model)
    # Said before torch is imported, which takes long.
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise UsageError(
            f"verifier {folder} cannot be loaded: no config.json in it; give a folder with a cross-encoder"
        )
    need("sentence_transformers", "semantic", f"verifying with {os.fspath(model)}")
    from sentence_transformers import CrossEncoder

    try:
        return CrossEncoder(os.fspath(model), device="cpu", local_files_only=True, trust_remote_code=False)
    # Every loader has exceptions of its own; whatever is wrong, it is wrong in the user's folder or machine.
    except Exception as error:
        raise UsageError(
            f"verifier {os.fspath(model)} cannot be loaded: {one_line(error)}; give a folder with the model"
        ) from error
