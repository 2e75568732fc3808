"""What was found in a set of prompts, as data. Rendering lives in `report.semantic`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_cachesafe.semantic.allow import Allow
from pytest_cachesafe.semantic.verdict import PairVerdict, Tier

__all__ = ["CollisionFailure", "CollisionReport", "CutGroup", "JudgedPair", "Level"]

# The weakest tier that fails.
Level = Literal["certain", "suspect"]
_RANK = {"certain": 0, "suspect": 1, "none": 2}


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Both statements about a pair, and where its prompts stand."""

    verdict: PairVerdict
    # Index of a prompt (from 0) or line of a file (from 1).
    a_at: int
    b_at: int
    # The entry that lets it share an answer.
    allowed: Allow | None = None
    # What a calibrated verifier makes of the tier; None where none was asked.
    heard: Tier | None = None

    @property
    def tier(self) -> Tier:
        """By the text, and by the second opinion where there is one."""
        return self.verdict.different_answer if self.heard is None else self.heard

    @property
    def weight(self) -> tuple[bool, bool, int, float, int, int]:
        """Worst first: what the cache merges before what it does not, allowed pairs last, by tier, then the closest."""
        found = self.verdict
        close = 0.0 if math.isnan(found.similarity) else -found.similarity
        return (not found.merged, self.allowed is not None, _RANK[self.tier], close, self.a_at, self.b_at)

    def as_dict(self) -> dict[str, Any]:
        """JSON form: that of the pair, with `at`, and `allowed`, `verifier` and `verified` where there is one."""
        allowed = {} if self.allowed is None else {"allowed": self.allowed.reason}
        verifier: dict[str, Any] = {} if self.verdict.verifier is None else {"verifier": self.verdict.verifier}
        if self.heard is not None:
            verifier["verified"] = self.heard
        return self.verdict.as_dict() | {"at": [self.a_at, self.b_at]} | verifier | allowed


@dataclass(frozen=True, slots=True)
class CutGroup:
    """Different prompts of which the encoder reads the same tokens: a cache cannot tell them apart at any threshold."""

    # Index of a prompt (from 0) or line of a file (from 1).
    at: tuple[int, ...]
    # Tokens of the longest.
    tokens: int

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"at": list(self.at), "tokens": self.tokens}


@dataclass
class CollisionReport:
    """What a cache would merge of a set of prompts, or of given pairs."""

    encoder: str
    # None: a cache decided, not a cosine.
    threshold: float | None
    level: Level
    # Prompts given, and distinct ones among them; with given pairs, the pairs and the distinct ones.
    given: int
    distinct: int
    # Pairs that were compared by cosine, and how many of them the cache merges.
    compared: int
    merged: int
    # Worst first; in the order given where pairs were given.
    pairs: list[JudgedPair]
    # The closest pair whatever its verdict.
    closest: JudgedPair | None
    # "prompt" or "line": what `at` counts.
    unit: str = "prompt"
    # Whether pairs were given, not prompts.
    as_pairs: bool = False
    # Pairs close enough to be judged, which were not, because there are too many.
    unjudged: int = 0
    # Prompts longer than the encoder's window (indices or lines), and the window in tokens.
    window: int | None = None
    longer: list[int] = field(default_factory=list)
    cut: list[CutGroup] = field(default_factory=list)
    # Entries of the allow list that hid nothing, each with why.
    unused: list[tuple[Allow, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    name: str | None = None
    layout: Callable[[CollisionReport, int, Any], str] | None = None

    @property
    def collisions(self) -> list[JudgedPair]:
        """Merged and certainly in need of different answers, not allowed; worst first."""
        return self._merged("certain")

    @property
    def suspects(self) -> list[JudgedPair]:
        """Merged and perhaps in need of different answers, not allowed."""
        return self._merged("suspect")

    @property
    def near(self) -> list[JudgedPair]:
        """Not merged, but shortly below the threshold and in need of different answers."""
        return sorted((p for p in self.pairs if not p.verdict.merged and p.tier != "none"), key=lambda p: p.weight)

    def _merged(self, tier: str) -> list[JudgedPair]:
        found = (p for p in self.pairs if p.verdict.merged and p.tier == tier and p.allowed is None)
        return sorted(found, key=lambda p: p.weight)

    @property
    def failures(self) -> list[JudgedPair]:
        """The pairs that fail at the level asked for."""
        return self.collisions + (self.suspects if self.level == "suspect" else [])

    @property
    def gate_kind(self) -> str:
        """What reports of a run call a check of this kind."""
        return "collisions"

    @property
    def passed(self) -> bool:
        """Whether no pair fails and the encoder can tell all prompts apart."""
        return not self.failures and not self.cut

    def __bool__(self) -> bool:
        return self.passed

    def exit_status(self, *, strict: bool = False) -> int:
        """0 fine or notes only, 1 collisions; with `strict`, suspects and unused allow entries count as well."""
        return int(not self.passed or (strict and bool(self.suspects or self.unused)))

    def as_dict(self) -> dict[str, Any]:
        """JSON form, as `cachesafe collisions` prints it."""
        return {
            "pairs": [pair.as_dict() for pair in self.pairs],
            "closest": None if self.closest is None else self.closest.as_dict(),
            "encoder": self.encoder,
            "threshold": self.threshold,
            "level": self.level,
            "prompts": self.given,
            "distinct": self.distinct,
            "compared": self.compared,
            "merged": self.merged,
            "collisions": len(self.collisions),
            "suspects": len(self.suspects),
            "unjudged": self.unjudged,
            "truncated": {
                "window": self.window,
                "longer": list(self.longer),
                "equal": [group.as_dict() for group in self.cut],
            },
            "unused_allow": [entry.as_dict() | {"why": why} for entry, why in self.unused],
            "notes": list(self.notes),
        }

    def text(self, verbosity: int = 0, redact: Any = "none") -> str:
        """For people; the first line is complete in itself."""
        if self.layout is not None:
            return self.layout(self, verbosity, redact)
        return f"{len(self.failures)} collisions [{self.encoder}]"


class CollisionFailure(AssertionError):
    """A cache would serve wrong answers; `report` holds the data, `str()` the text for people."""

    def __init__(self, report: Any, verbosity: int = 0) -> None:
        super().__init__(report.text(verbosity))
        self.report = report
        self._shown = verbosity

    def __reduce__(self) -> tuple[type[CollisionFailure], tuple[Any, int]]:
        """Pools hand failures over between processes."""
        return type(self), (self.report, self._shown)
