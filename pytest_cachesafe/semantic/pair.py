"""What an assertion about one pair found, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pytest_cachesafe.semantic.verdict import PairVerdict, TextVerdict

__all__ = ["PairReport"]


@dataclass
class PairReport:
    """One pair of prompts and why an assertion about it fails; true when it holds."""

    a: str
    b: str
    text_verdict: TextVerdict
    # Both statements; None where the texts alone were asked about.
    verdict: PairVerdict | None = None
    # One sentence each, worst first.
    reasons: list[str] = field(default_factory=list)
    # What to do.
    advice: list[str] = field(default_factory=list)
    encoder: str | None = None
    # Where the pair stands in a file: "cases.jsonl: line 3".
    where: str | None = None
    layout: Callable[[PairReport, int, Any], str] | None = None

    @property
    def gate_kind(self) -> str:
        """What reports of a run call a check of this kind."""
        return "collisions"

    @property
    def passed(self) -> bool:
        """Whether the assertion holds."""
        return not self.reasons

    def __bool__(self) -> bool:
        return self.passed

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        if self.verdict is not None:
            pair = self.verdict.as_dict()
        else:
            text = self.text_verdict
            pair = {
                "a": self.a, "b": self.b, "different_answer": text.different_answer, "kind": text.kind,
                "spans": [d.as_dict() for d in text.differences],
            }  # fmt: skip
        return pair | {"passed": self.passed, "reasons": list(self.reasons)}

    def text(self, verbosity: int = 0, redact: Any = "none") -> str:
        """For people; the first line is complete in itself."""
        if self.layout is not None:
            return self.layout(self, verbosity, redact)
        return "; ".join(self.reasons) or "as asserted"
