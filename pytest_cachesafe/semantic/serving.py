"""The check of a set, or of pairs, by a running cache: what it serves is judged by the words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.semantic.allow import Allowances
from pytest_cachesafe.semantic.collisions import pairs_left, placed, unjudged_notes, why_unused
from pytest_cachesafe.semantic.prompts import PromptSet, as_pair
from pytest_cachesafe.semantic.result import CollisionReport, Level

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.judge import CollisionJudge
    from pytest_cachesafe.semantic.served import ServingCache

__all__ = ["serve_collisions", "serve_pairs"]


def serve_collisions(
    judge: CollisionJudge,
    cache: ServingCache,
    prompts: Iterable[str] | PromptSet,
    *,
    level: Level = "certain",
    allow: Iterable[Any] | Allowances = (),
) -> CollisionReport:
    """Put a set to a cache as traffic, and judge each pair that shared an answer.

    A prompt that is served is not stored, as in the real cache: of three that are alike, two pairs may show.

    Raises:
        UsageError: a prompt that cannot be judged, fewer than two, or a cache that was not empty.
    """
    found = PromptSet.of(prompts)
    found.need_two()
    allowed = allow if isinstance(allow, Allowances) else Allowances(allow)
    compared = pairs_left(found, allowed)
    pairs = [
        placed(judge, judge.decided(found.texts[a], found.texts[b], True), found.places[a], found.places[b], allowed)
        for a, b in cache.replay(found.texts)
    ]
    report = CollisionReport(
        cache.name, None, level, found.given, len(found), compared, len(pairs), sorted(pairs, key=lambda p: p.weight),
        None, unit=found.unit, unused=[(entry, why_unused(entry, found)) for entry in allowed.unused], layout=_render,
    )  # fmt: skip
    report.notes += unjudged_notes(report)
    return report


def serve_pairs(
    judge: CollisionJudge,
    cache: ServingCache,
    pairs: Sequence[tuple[str, str]],
    *,
    level: Level = "certain",
    allow: Iterable[Any] | Allowances = (),
    places: Sequence[int] | None = None,
) -> CollisionReport:
    """Put each pair to the emptied cache, in both orders.

    Raises:
        UsageError: no pair, a prompt that cannot be judged, or a cache that cannot be emptied.
    """
    unit = "pair" if places is None else "line"
    at = list(places) if places is not None else list(range(len(pairs)))
    good = [as_pair(a, b, f"{unit} {number}") for (a, b), number in zip(pairs, at, strict=True)]
    found = PromptSet.of([text for pair in good for text in pair])
    found.need_two()
    allowed = allow if isinstance(allow, Allowances) else Allowances(allow)
    judged = [
        placed(judge, judge.decided(a, b, a == b or cache.serves(a, b)), number, number, allowed)
        for (a, b), number in zip(good, at, strict=True)
    ]
    report = CollisionReport(
        cache.name, None, level, len(good), len({frozenset(pair) for pair in good}), len(good),
        sum(pair.verdict.merged for pair in judged), judged, None, unit=unit, as_pairs=True,
        unused=[(entry, why_unused(entry, found)) for entry in allowed.unused], layout=_render,
    )  # fmt: skip
    report.notes += unjudged_notes(report)
    return report


def _render(report: CollisionReport, verbosity: int, mode: Any) -> str:
    from pytest_cachesafe.report.semantic import render

    return render(report, verbosity, mode)
