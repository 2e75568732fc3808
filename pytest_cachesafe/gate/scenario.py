"""What a run found, as data that every report format is written from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Kind", "Regression", "Run", "Scenario"]

Kind = Literal["stable", "reuse", "provider", "collisions"]


@dataclass(slots=True)
class Scenario:
    """One check of one test. `data` is its report's JSON form, without prompt text where the run redacts."""

    test: str
    name: str
    kind: Kind
    passed: bool
    data: Mapping[str, Any]
    # "tests/test_agent.py:12", the user's line that made the check, relative to pytest's root; None: not known.
    line: str | None = None
    # The first line of the check's text, complete in itself, without prompt text where the run redacts.
    headline: str = ""

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "test": self.test, "name": self.name, "kind": self.kind, "passed": self.passed, "line": self.line,
            "headline": self.headline, "data": dict(self.data),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Regression:
    """A check that got worse than the lock file or a budget allows."""

    test: str
    name: str
    text: str
    failed: bool


@dataclass(slots=True)
class Run:
    """Everything there is to report of one pytest run."""

    scenarios: list[Scenario] = field(default_factory=list)
    regressions: list[Regression] = field(default_factory=list)
    # Findings of --cachesafe-lint, in the linter's JSON form.
    lint: list[Mapping[str, Any]] = field(default_factory=list)
    # Lines of the gate's summary.
    gate: list[str] = field(default_factory=list)
    redact: str = "none"

    @property
    def failed(self) -> list[Scenario]:
        """Checks that failed."""
        return [scenario for scenario in self.scenarios if not scenario.passed]

    def as_dict(self) -> dict[str, Any]:
        """JSON form, as `--cachesafe-report=json` writes it."""
        return {
            "schema": 1,
            "redact": self.redact,
            "scenarios": [scenario.as_dict() for scenario in self.scenarios],
            "regressions": [
                {"test": r.test, "name": r.name, "message": r.text, "failed": r.failed} for r in self.regressions
            ],
            "lint": [dict(finding) for finding in self.lint],
            "gate": list(self.gate),
        }
