"""The check of a set: which prompts would a cache merge, and which of those need answers of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.semantic.allow import Allow, Allowances
from pytest_cachesafe.semantic.encoder import embed_set
from pytest_cachesafe.semantic.prompts import PromptSet, as_pair
from pytest_cachesafe.semantic.result import CollisionReport, CutGroup, JudgedPair, Level
from pytest_cachesafe.semantic.served import PROBES
from pytest_cachesafe.semantic.verdict import PairVerdict
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    import numpy as np

    from pytest_cachesafe.semantic.encoder import Encoder
    from pytest_cachesafe.semantic.judge import CollisionJudge
    from pytest_cachesafe.semantic.similarity import ClosePairs

    Array = np.ndarray[Any, np.dtype[np.float32]]

__all__ = [
    "LEVELS",
    "MARGIN",
    "check_level",
    "find_collisions",
    "judge_pairs",
    "placed",
    "unjudged_notes",
    "why_unused",
]

LEVELS = ("certain", "suspect")
# Pairs that far below the threshold are judged and shown as well: another threshold, or another version of the encoder,
# and they are merged.
MARGIN = 0.05
# Closest pairs that are judged by their words: half a minute.
_MOST = 100_000


def find_collisions(
    judge: CollisionJudge,
    prompts: Iterable[str] | PromptSet,
    *,
    threshold: float,
    level: Level = "certain",
    allow: Iterable[Any] | Allowances = (),
    margin: float = MARGIN,
    most: int = _MOST,
) -> CollisionReport:
    """Judge every pair of a set that comes close to the threshold.

    Args:
        prompts: at least two distinct ones; repeats are counted and left out.
        margin: pairs that far below the threshold are judged as well, and never fail.
        most: closest pairs that are judged by their words.

    Raises:
        UsageError: a prompt that cannot be judged, fewer than two distinct ones, an encoder that gives the same vector
            for all, vectors that cannot be used, or an allow list that leaves no pair.
    """
    from pytest_cachesafe.report.semantic import render
    from pytest_cachesafe.semantic.similarity import close_pairs

    found = PromptSet.of(prompts)
    found.need_two()
    allowed = allow if isinstance(allow, Allowances) else Allowances(allow)
    compared = pairs_left(found, allowed)
    encoder = judge.encoder
    vectors = embed_set(encoder, found)
    check_not_constant(encoder, vectors)
    close = close_pairs(vectors, threshold, max(threshold - margin, -1.0), most)
    judged = _all_judged(judge, found, threshold, close, allowed)
    a, b, similarity = close.closest
    nearest = next((p for p in judged if (p.verdict.a, p.verdict.b) == (found.texts[a], found.texts[b])), None)
    longer, cut = _cut(encoder, found)
    report = CollisionReport(
        encoder=encoder.name,
        threshold=threshold,
        level=level,
        given=found.given,
        distinct=len(found),
        compared=compared,
        merged=close.merged,
        # A near pair without a difference says nothing that anybody asked for.
        pairs=sorted((p for p in judged if p.verdict.merged or p.tier != "none"), key=lambda p: p.weight),
        # One below the margin was not judged; one that was is not judged twice, since a verifier takes its time.
        closest=nearest or _judged(judge, found, threshold, a, b, similarity, Allowances()),
        unit=found.unit,
        unjudged=close.above_floor - len(close),
        window=encoder.window,
        longer=longer,
        cut=cut,
        unused=[(entry, why_unused(entry, found)) for entry in allowed.unused],
        layout=render,
    )
    report.notes += _notes(report, encoder)
    return report


def judge_pairs(
    judge: CollisionJudge,
    pairs: Sequence[tuple[str, str]],
    *,
    threshold: float,
    level: Level = "certain",
    allow: Iterable[Any] | Allowances = (),
    places: Sequence[int] | None = None,
) -> CollisionReport:
    """Judge exactly these pairs, in their order.

    Args:
        places: line numbers of the pairs; without them, they count from 0.

    Raises:
        UsageError: no pair, a prompt that cannot be judged, or vectors that cannot be used.
    """
    from pytest_cachesafe.report.semantic import render
    from pytest_cachesafe.semantic.similarity import cosines

    unit = "pair" if places is None else "line"
    at = list(places) if places is not None else list(range(len(pairs)))
    good = [as_pair(a, b, f"{unit} {number}") for (a, b), number in zip(pairs, at, strict=True)]
    if not good:
        raise UsageError("no pairs: nothing was compared")
    found = PromptSet(unit=unit)
    for number, pair in zip(at, good, strict=True):
        for text in pair:
            found.add(text, number)
    if len(found) < 2:
        raise UsageError("every pair holds the same text twice: nothing was compared")
    allowed = allow if isinstance(allow, Allowances) else Allowances(allow)
    encoder = judge.encoder
    vectors = embed_set(encoder, found)
    check_not_constant(encoder, vectors)
    rows = [[row_of(found, pair[side]) for pair in good] for side in (0, 1)]
    values = cosines(vectors[rows[0]], vectors[rows[1]])
    judged = [
        placed(judge, judge.judged(a, b, float(value), threshold), number, number, allowed)
        for (a, b), value, number in zip(good, values, at, strict=True)
    ]
    longer, cut = _cut(encoder, found)
    report = CollisionReport(
        encoder=encoder.name,
        threshold=threshold,
        level=level,
        given=len(good),
        distinct=len({frozenset(pair) for pair in good}),
        compared=len(good),
        merged=int((values >= threshold).sum()),
        pairs=judged,
        closest=max(judged, key=lambda pair: pair.verdict.similarity),
        unit=unit,
        as_pairs=True,
        window=encoder.window,
        longer=longer,
        # Between pairs nobody asked; a pair that is cut to the same shows as 1.0.
        cut=[group for group in cut if len(set(group.at)) < len(group.at)],
        unused=[(entry, why_unused(entry, found)) for entry in allowed.unused],
        layout=render,
    )
    report.notes += _notes(report, encoder)
    return report


def check_level(level: object) -> Level:
    """The level asked for.

    Raises:
        UsageError: neither `certain` nor `suspect`.
    """
    if level not in LEVELS:
        raise UsageError(f"level={level!r}: 'certain' (the default) or 'suspect' (both tiers fail) is meant")
    return level  # type: ignore[return-value]


def pairs_left(found: PromptSet, allowed: Allowances) -> int:
    """Pairs of a set.

    Raises:
        UsageError: all of them are allowed.
    """
    pairs = len(found) * (len(found) - 1) // 2
    if sum(1 for entry in allowed if entry.a in found and entry.b in found) == pairs:
        raise UsageError(f"allow names every pair of the {len(found)} prompts: nothing is left to compare")
    return pairs


def _all_judged(
    judge: CollisionJudge, found: PromptSet, threshold: float, close: ClosePairs, allowed: Allowances
) -> list[JudgedPair]:
    from pytest_cachesafe.report.progress import Progress

    judged: list[JudgedPair] = []
    bar = Progress()
    try:
        for a, b, similarity in zip(close.a, close.b, close.similarity, strict=True):
            judged.append(_judged(judge, found, threshold, int(a), int(b), float(similarity), allowed))
            # A verifier may take a second a pair.
            if (judge.verifier is not None or not len(judged) % 256) and bar.due():
                bar.show(len(judged), len(close), f"{len(judged):,} of {len(close):,} close pairs judged")
    finally:
        bar.clear()
    return judged


def _judged(
    judge: CollisionJudge, found: PromptSet, threshold: float, a: int, b: int, similarity: float, allowed: Allowances
) -> JudgedPair:
    verdict = judge.judged(found.texts[a], found.texts[b], similarity, threshold)
    return placed(judge, verdict, found.places[a], found.places[b], allowed)


def placed(judge: CollisionJudge, verdict: PairVerdict, a_at: int, b_at: int, allowed: Allowances) -> JudgedPair:
    """A judged pair in its place, with the second opinion and the entry that allows it.

    An entry is needed where the pair would be told without it.
    """
    heard = judge.second_opinion(verdict)
    told = verdict.merged and (heard or verdict.different_answer) != "none"
    return JudgedPair(verdict, a_at, b_at, allowed.find(verdict.a, verdict.b) if told else None, heard)


def row_of(found: PromptSet, text: str) -> int:
    row = found.index(text)
    if row is None:
        raise LookupError(text)
    return row


def check_not_constant(encoder: Encoder, vectors: Array) -> None:
    """A check with an encoder that gives the same vector for everything would mean nothing.

    Raises:
        UsageError: it does.
    """
    import numpy as np

    if not np.allclose(vectors, vectors[0], rtol=0.0, atol=1e-6):
        return
    # An encoder that gives the same vector for everything is one thing, a set of prompts the same to it another.
    try:
        probes = encoder.embed(PROBES)
    # Whatever a table of vectors raises for texts that are not in it: of two equal ones nothing can be said.
    except Exception:
        if len(vectors) == 2:
            return
        probes = np.stack([vectors[0], vectors[0]])
    if np.allclose(probes, probes[0], rtol=0.0, atol=1e-6):
        raise UsageError(
            f"encoder {encoder.name} gives the same vector for all {len(vectors)} texts: nothing was compared; give "
            "the encoder that your cache uses"
        )


def _cut(encoder: Encoder, found: PromptSet) -> tuple[list[int], list[CutGroup]]:
    """Prompts longer than the window, and those among them that are the same within it.

    Only a text of more characters than the window has tokens can be longer: a token is a character at the least.
    """
    if encoder.window is None:
        return [], []
    longer: list[int] = []
    groups: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for text, place in zip(found.texts, found.places, strict=True):
        if len(text) + 2 <= encoder.window or (tokens := encoder.count(text)) is None or tokens <= encoder.window:
            continue
        longer.append(place)
        ids = encoder.truncated_ids(text)
        if ids is not None:
            groups.setdefault(ids, []).append((place, tokens))
    cut = [
        CutGroup(tuple(place for place, _ in group), max(tokens for _, tokens in group))
        for group in groups.values()
        if len(group) > 1
    ]
    return longer, cut


def why_unused(entry: Allow, found: PromptSet) -> str:
    """Why an entry of the allow list hides nothing."""
    missing = [text for text in (entry.a, entry.b) if text not in found]
    if missing:
        return "both prompts are not in the set" if len(missing) == 2 else "one of the prompts is not in the set"
    return "the pair is no collision here"


def _notes(report: CollisionReport, encoder: Encoder) -> list[str]:
    notes = list(encoder.notes)
    if report.unjudged:
        notes.append(
            f"{report.unjudged:,} more pairs are close to the threshold and were not judged: the "
            f"{len(report.pairs):,} closest were; raise the threshold, or check fewer prompts at a time"
        )
    notes += unjudged_notes(report)
    if report.longer:
        count = len(report.longer)
        notes.append(
            f"{count:,} {'prompt is' if count == 1 else 'prompts are'} longer than the {report.window} tokens that "
            "the encoder reads: what lies behind them changes nothing"
        )
    return notes


def unjudged_notes(report: CollisionReport) -> list[str]:
    """Merged pairs about which the detector says nothing, by its reason."""
    silent: dict[str, int] = {}
    for pair in report.pairs:
        if pair.verdict.merged and pair.verdict.text.note:
            silent[pair.verdict.text.note] = silent.get(pair.verdict.text.note, 0) + 1
    return [f"{count:,} merged {'pair' if count == 1 else 'pairs'}: {why}" for why, count in silent.items()]
