"""What a run found, as data that every report format is written from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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

    @property
    def built(self) -> str | None:
        """The line that built the text whose change loses most ("src/agent.py:7, clock()"), where it is known."""
        found = max(_built(self.data), key=lambda pair: pair[0], default=None)
        return None if found is None else found[1]

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "test": self.test, "name": self.name, "kind": self.kind, "passed": self.passed, "line": self.line,
            "headline": self.headline, "data": dict(self.data),
        }  # fmt: skip


def _built(data: Any) -> Iterator[tuple[int, str]]:
    """(tokens lost, line) of each divergence whose line is known."""
    if isinstance(data, Mapping):
        lost, line = data.get("lost_tokens"), data.get("built")
        if isinstance(line, str) and line:
            yield lost if isinstance(lost, int) else 0, line
        for item in data.values():
            yield from _built(item)
    elif isinstance(data, list):
        for item in data:
            yield from _built(item)


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

    def places(self) -> dict[tuple[str, str], str]:
        """For checks that got worse, by test and name: the line that built what changed, else that of the check."""
        worse = {(regression.test, regression.name) for regression in self.regressions}
        found = {(s.test, s.name): s.built or s.line for s in self.scenarios if (s.test, s.name) in worse}
        return {key: place for key, place in found.items() if place is not None}

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
