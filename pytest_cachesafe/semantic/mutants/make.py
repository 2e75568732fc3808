"""All mutants and twins of a set of prompts, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.semantic.mutants import structure, twins, values, words
from pytest_cachesafe.semantic.mutants.mutant import Change, Mutant, Mutator, Twin
from pytest_cachesafe.semantic.prompts import PromptSet
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.tables import Tables

__all__ = ["LONGEST", "MUTATORS", "TWINS", "make_mutants"]

# Characters of a prompt that is changed. One word of a longer one hardly shows in its embedding.
LONGEST = 4_000

# By stable name.
MUTATORS: dict[str, Mutator] = {
    "negation": words.negation,
    "antonym": words.antonym,
    "number": values.number,
    "unit": values.unit,
    "period": values.period,
    "date": values.date,
    "version": values.version,
    "code": values.code,
    "direction": structure.direction,
    "entity": structure.entity,
    "quantifier": words.quantifier,
    "comparative": words.comparative,
    "role": words.role,
    "language": structure.language,
    "format": structure.form,
}
TWINS: dict[str, Twin] = {
    "politeness": twins.politeness,
    "case": twins.case,
    "number_word": twins.number_word,
    "punctuation": twins.punctuation,
    "contraction": twins.contraction,
}


def make_mutants(
    prompts: Iterable[str] | PromptSet,
    *,
    seed: int = 0,
    only: Sequence[str] | None = None,
    per_prompt: int = 1,
    tables: Tables | None = None,
) -> list[Mutant]:
    """Mutants of each prompt up to `LONGEST` characters, at most `per_prompt` by each mutator and each twin.

    A prompt's mutants depend on the seed and on the prompt alone (entities: on the names in the set as well), so that
    adding a prompt does not change those of the others.

    Args:
        only: names of mutators and twins; all without it.
        tables: for names, and the user's own opposites and entity sets.

    Raises:
        UsageError: prompts that cannot be judged, an unknown name, or `per_prompt` below 1.
    """
    known = (*MUTATORS, *TWINS)
    wanted = known if only is None else tuple(only)
    for name in wanted:
        if name not in known:
            raise UsageError(f"mutants: {name!r} is unknown; known are {', '.join(known)}")
    if isinstance(per_prompt, bool) or not isinstance(per_prompt, int) or per_prompt < 1:
        raise UsageError(f"mutants: per_prompt {per_prompt!r}: a number from 1 is meant")
    if tables is None:
        from pytest_cachesafe.semantic.tables import Tables as _Tables

        tables = _Tables.default()
    found = PromptSet.of(prompts)
    context = structure.context_of([text for text in found.texts if len(text) <= LONGEST], tables)
    made: list[Mutant] = []
    for prompt, place in zip(found.texts, found.places, strict=True):
        if len(prompt) > LONGEST:
            continue
        for name in wanted:
            mutator = MUTATORS.get(name)
            changes = list(mutator(prompt, context)) if mutator else list(TWINS[name](prompt))
            made += [
                Mutant(prompt, change.text, name, change.kinds, change.before, change.after, place, mutator is None)
                for change in _drawn(changes, prompt, found, f"{seed}\x1f{name}\x1f{prompt}", per_prompt)
            ]
    return made


def _drawn(changes: list[Change], prompt: str, found: PromptSet, seed: str, most: int) -> list[Change]:
    """Distinct changes; what is a prompt of the set by itself is judged there, with an answer of its own."""
    distinct = list({change.text: change for change in changes if change.text.strip() != prompt.strip()}.values())
    left = [change for change in distinct if change.text not in found]
    if len(left) > most:
        left = random.Random(seed).sample(left, most)
    return left
