"""What is said about two prompts: the vocabulary of the semantic checks. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

__all__ = ["KINDS", "Difference", "PairVerdict", "Span", "TextVerdict", "Tier"]

# certain: fails a test. suspect: a note, fails in strict mode. none: nothing found that needs another answer.
Tier = Literal["certain", "suspect", "none"]

# Stable names of what may differ; users name them in tables, allow lists and reports.
KINDS = (
    "negation", "antonym", "number", "unit", "money", "percent", "version", "date", "time", "weekday", "month",
    "period", "ordinal", "quantifier", "comparative", "entity", "code", "direction", "role_swap", "language", "format",
    "person", "tense", "substitution", "scope",
)  # fmt: skip


class Span(NamedTuple):
    """Characters `start` up to `end` of a prompt as given."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which two prompts differ."""

    # One of `KINDS`, or a kind of the user's own tables.
    kind: str
    tier: Literal["certain", "suspect"]
    # Where it stands in either prompt; empty on the side that has nothing of the kind.
    a: tuple[Span, ...]
    b: tuple[Span, ...]
    # What differs, in words that hold no more of the prompts than the two values: "monthly / annual".
    words: str

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"kind": self.kind, "tier": self.tier, "a": [list(s) for s in self.a], "b": [list(s) for s in self.b]}


@dataclass(frozen=True, slots=True)
class TextVerdict:
    """Whether two texts need different answers, by their words alone. Symmetric: (b, a) gives the mirror image."""

    # Worst first: certain before suspect, then by place.
    differences: tuple[Difference, ...] = ()
    # Why nothing was judged (another language, …).
    note: str | None = None

    @property
    def different_answer(self) -> Tier:
        """The worst tier found."""
        return self.differences[0].tier if self.differences else "none"

    @property
    def kind(self) -> str | None:
        """Kind of the worst difference."""
        return self.differences[0].kind if self.differences else None


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """Both statements about one pair of prompts."""

    a: str
    b: str
    # Cosine of the embeddings, -1 to 1.
    similarity: float
    # The cache merges at this cosine and above.
    threshold: float
    text: TextVerdict
    # Score of the user's own verifier, where one was asked.
    verifier: float | None = None

    @property
    def merged(self) -> bool:
        """Whether the cache would serve one prompt the other's answer."""
        return self.similarity >= self.threshold

    @property
    def different_answer(self) -> Tier:
        """By the text alone."""
        return self.text.different_answer

    @property
    def collision(self) -> bool:
        """Merged, and certainly in need of different answers."""
        return self.merged and self.different_answer == "certain"

    def as_dict(self) -> dict[str, Any]:
        """JSON form, as `cachesafe collisions` prints it."""
        return {
            "a": self.a,
            "b": self.b,
            "similarity": round(self.similarity, 4),
            "merged": self.merged,
            "different_answer": self.different_answer,
            "kind": self.text.kind,
            "spans": [d.as_dict() for d in self.text.differences],
            "note": self.text.note,
        }
