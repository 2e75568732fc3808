"""Mutants and twins put to a cache: by the encoder's cosine and a threshold, or by asking the cache itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.semantic.encoder import VectorError
from pytest_cachesafe.semantic.mutants.make import LONGEST, MUTATORS, TWINS, make_mutants
from pytest_cachesafe.semantic.mutants.mutant import Mutant
from pytest_cachesafe.semantic.mutants.result import MutantReport, TriedMutant
from pytest_cachesafe.semantic.prompts import PromptSet
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.judge import CollisionJudge

__all__ = ["mutants", "try_mutants"]


def mutants(
    judge: CollisionJudge,
    prompts: Iterable[str] | PromptSet,
    *,
    seed: int = 0,
    only: Sequence[str] | None = None,
    per_prompt: int = 1,
) -> MutantReport:
    """What a cache serves wrongly of prompts changed in one place.

    Args:
        seed: other seeds draw other mutants.
        only: names of mutators and twins (`MUTATORS`, `TWINS`); all without it.
        per_prompt: most mutants of a prompt by each mutator.

    Raises:
        UsageError: no prompt, one that cannot be judged, options that cannot be used, or prompts in which there is
            nothing to change.
    """
    found = PromptSet.of(prompts)
    if not found:
        raise UsageError("no prompts: there is nothing to change")
    made = make_mutants(found, seed=seed, only=only, per_prompt=per_prompt, tables=judge.detector.tables)
    if not any(not one.same for one in made) and not (only and set(only) <= set(TWINS)):
        names = ", ".join(only) if only else "any mutator"
        raise UsageError(
            f"no mutant of {len(found)} prompts by {names}: nothing was tried; give prompts as users ask them"
        )
    report = try_mutants(judge, made, unit=found.unit)
    report.seed, report.prompts = seed, len(found)
    long = sum(len(text) > LONGEST for text in found.texts)
    if long:
        report.notes.append(
            f"{long:,} {'prompt' if long == 1 else 'prompts'} of more than {LONGEST:,} characters not changed"
        )
    wanted = tuple(only) if only is not None else (*MUTATORS, *TWINS)
    made_by = {one.mutator for one in made}
    report.without = [name for name in wanted if name not in made_by]
    return report


def try_mutants(judge: CollisionJudge, made: Sequence[Mutant], *, unit: str = "prompt") -> MutantReport:
    """Put mutants, one's own as well, to the judge's cache.

    Args:
        unit: "prompt" or "line": what `Mutant.at` counts.

    Raises:
        UsageError: no mutant, or an encoder or cache that cannot be used.
    """
    from pytest_cachesafe.report.semantic_mutants import render

    if not made:
        raise UsageError("no mutants: nothing was tried")
    similarity: list[float | None] = [None] * len(made)
    if judge.cache is not None:
        served = [judge.cache.serves(one.prompt, one.text) for one in made]
        threshold, notes = None, []
    else:
        known = _similarities(judge, made, unit)
        similarity, served = list(known), [value >= judge.threshold for value in known]
        threshold, notes = judge.threshold, list(judge.encoder.notes)
    tried = []
    for one, value, hit in zip(made, similarity, served, strict=True):
        verdict = judge.detector.compare(one.prompt, one.text)
        named = any(difference.kind in one.kinds for difference in verdict.differences)
        flagged = verdict.different_answer == "none" if one.same else named
        tried.append(TriedMutant(one, value, hit, verdict.different_answer, flagged))
    prompts = len({one.prompt for one in made})
    return MutantReport(judge.name, threshold, 0, prompts, tried, unit=unit, notes=notes, layout=render)


def _similarities(judge: CollisionJudge, made: Sequence[Mutant], unit: str) -> list[float]:
    from pytest_cachesafe.semantic.similarity import cosines

    texts = list(dict.fromkeys(text for one in made for text in (one.prompt, one.text)))
    rows = {text: row for row, text in enumerate(texts)}
    try:
        vectors = judge.encoder.embed(texts)
    except VectorError as error:
        bad = next(one for one in made if texts[error.index] in (one.prompt, one.text))
        changed = "" if texts[error.index] == bad.prompt else f" as changed by {bad.mutator}"
        raise UsageError(f"{error.who}: the vector of {unit} {bad.at}{changed} {error.rest}") from None
    values = cosines(vectors[[rows[one.prompt] for one in made]], vectors[[rows[one.text] for one in made]])
    found = [float(value) for value in values]
    if all(value == 1.0 for one, value in zip(made, found, strict=True) if not one.same) and len(texts) > 2:
        # Letters that an encoder folds make twins equal; a mutant differs in words.
        alone = judge.encoder.embed([texts[0], "Penguins cannot fly."])
        if float(cosines(alone[:1], alone[1:])[0]) == 1.0:
            raise UsageError(
                f"encoder {judge.encoder.name} gives the same vector for all texts: nothing was tried; give the "
                "encoder that your cache uses"
            )
    return found
