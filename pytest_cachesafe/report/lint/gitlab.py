"""GitLab's Code Quality report (GitLab documentation, Code Quality, "Code Quality report format", 18.x)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.findings import Finding, fingerprint
from pytest_cachesafe.lint.result import LintResult, Sources
from pytest_cachesafe.report.lint.encode import json_text
from pytest_cachesafe.report.lint.place import place_of
from pytest_cachesafe.report.visible import visible

if TYPE_CHECKING:
    from cachesafe_rules.api import Rule

__all__ = ["render"]

# GitLab knows info, minor, major, critical and blocker; nothing here is a fault of security.
_LEVELS = {"error": "major", "warning": "minor", "note": "info"}


def render(result: LintResult, *, sources: Sources, rules: Iterable[Rule] = ()) -> str:
    """A JSON list; every fingerprint in it is unique, since GitLab shows one of several equal ones only."""
    used: dict[str, int] = {}
    return json_text([_entry(finding, used) for finding in result.findings])


def _entry(finding: Finding, used: dict[str, int]) -> dict[str, Any]:
    place = place_of(finding)
    unique = own = str(finding.data.get("fingerprint") or fingerprint(finding.code, place.filename, finding.message))
    # The next number is remembered, so that a thousand equal ones cost a thousand steps.
    while unique in used:
        used[own] += 1
        unique = fingerprint(own, used[own])
    used[unique] = 0
    return {
        # GitLab does not show the name of the check, so the text begins with it.
        "description": visible(f"{finding.code} {finding.message}"),
        "check_name": finding.code,
        "fingerprint": unique,
        "severity": _LEVELS[str(finding.severity)],
        "location": {"path": place.filename, "lines": {"begin": place.row, "end": place.end_row}},
    }
