"""What a cache does with mutants and twins, as data; text is made in `report.semantic_mutants`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pytest_cachesafe.semantic.mutants.mutant import Mutant
from pytest_cachesafe.semantic.sweep.interval import Share, wilson
from pytest_cachesafe.semantic.verdict import Tier

__all__ = ["KindResult", "MutantReport", "TriedMutant"]


@dataclass(frozen=True, slots=True)
class TriedMutant:
    """A mutant, and what became of it."""

    mutant: Mutant
    # Cosine with its prompt; None where a cache was asked, which tells none.
    similarity: float | None
    # The cache serves it its prompt's answer.
    served: bool
    # What the detector says of the two texts, and whether it names the mutant's own kind.
    tier: Tier
    flagged: bool

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return self.mutant.as_dict() | {
            "similarity": None if self.similarity is None else round(self.similarity, 4),
            "served": self.served,
            "different_answer": self.tier,
            "flagged": self.flagged,
        }


@dataclass(frozen=True, slots=True)
class KindResult:
    """All mutants of one mutator, or all twins of one sort."""

    name: str
    same: bool
    tried: tuple[TriedMutant, ...]

    @property
    def served(self) -> Share:
        """Share that is served the prompt's answer, with Wilson's 95% interval: wrong for mutants, right for twins."""
        return wilson(sum(one.served for one in self.tried), len(self.tried))

    @property
    def certain(self) -> Share:
        """Share that the detector's certain differences would keep out."""
        return wilson(sum(one.tier == "certain" for one in self.tried), len(self.tried))

    @property
    def flagged(self) -> Share:
        """Of mutants: the share that the detector names by its own kind. Of twins: the share it rightly lets pass."""
        return wilson(sum(one.flagged for one in self.tried), len(self.tried))

    @property
    def median(self) -> float | None:
        """Median cosine; the lower middle one of an even number."""
        known = sorted(one.similarity for one in self.tried if one.similarity is not None)
        return known[(len(known) - 1) // 2] if known else None

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "name": self.name,
            "same_answer": self.same,
            "served": self.served.as_dict(),
            "flagged": self.flagged.as_dict(),
            "certain": self.certain.as_dict(),
            "median_similarity": None if self.median is None else round(self.median, 4),
        }


@dataclass
class MutantReport:
    """Which changes of a prompt a cache would answer wrongly, and how often."""

    # Encoder, or the cache that was asked.
    judged_by: str
    # None where a cache was asked.
    threshold: float | None
    seed: int
    prompts: int
    tried: list[TriedMutant]
    # Mutators and twins that found nothing to change in these prompts.
    without: list[str] = field(default_factory=list)
    # "prompt" or "line": what `at` counts.
    unit: str = "prompt"
    notes: list[str] = field(default_factory=list)
    layout: Callable[[MutantReport, int, Any], str] | None = None

    @property
    def mutants(self) -> list[TriedMutant]:
        """Those that need an answer of their own."""
        return [one for one in self.tried if not one.mutant.same]

    @property
    def twins(self) -> list[TriedMutant]:
        """Those that one answer must serve."""
        return [one for one in self.tried if one.mutant.same]

    @property
    def wrong(self) -> list[TriedMutant]:
        """Mutants served wrongly, closest first."""
        return sorted((one for one in self.mutants if one.served), key=_closeness)

    @property
    def missed(self) -> list[TriedMutant]:
        """Twins that are not served: they cost a call, nothing else. Farthest first."""
        return sorted((one for one in self.twins if not one.served), key=lambda one: one.similarity or 0.0)

    @property
    def kinds(self) -> list[KindResult]:
        """By mutator, the one of which most is known to be served wrongly first (lower end of the interval)."""
        return sorted(_grouped(self.mutants), key=lambda found: (-found.served.low, found.name))

    @property
    def twin_kinds(self) -> list[KindResult]:
        """By sort of twin, the one that is missed most often first."""
        return sorted(_grouped(self.twins), key=lambda found: (found.served.value or 0.0, found.name))

    @property
    def served_wrongly(self) -> Share:
        """Of all mutants, with Wilson's 95% interval."""
        return wilson(len(self.wrong), len(self.mutants))

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "judged_by": self.judged_by,
            "threshold": self.threshold,
            "seed": self.seed,
            "prompts": self.prompts,
            "served_wrongly": self.served_wrongly.as_dict(),
            "kinds": [found.as_dict() for found in self.kinds],
            "twins": [found.as_dict() for found in self.twin_kinds],
            "without": list(self.without),
            "mutants": [one.as_dict() for one in (*self.wrong, *self.missed)],
            "notes": list(self.notes),
        }

    def text(self, verbosity: int = 0, redact: Any = "none") -> str:
        """For people; the first line is complete in itself."""
        if self.layout is None:
            return f"{len(self.wrong)} of {len(self.mutants)} mutants served wrongly"
        return self.layout(self, verbosity, redact)


def _grouped(tried: Iterable[TriedMutant]) -> list[KindResult]:
    groups: dict[str, list[TriedMutant]] = {}
    for one in tried:
        groups.setdefault(one.mutant.mutator, []).append(one)
    return [KindResult(name, group[0].mutant.same, tuple(group)) for name, group in groups.items()]


def _closeness(one: TriedMutant) -> tuple[float, int, str]:
    return (-(one.similarity if one.similarity is not None else 1.0), one.mutant.at, one.mutant.mutator)
