"""The findings as a JSON list; keys are added, never renamed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.lint.result import LintResult, Sources
from pytest_cachesafe.report.lint.encode import json_text
from pytest_cachesafe.report.lint.place import confidence_of, name_of, place_of

if TYPE_CHECKING:
    from cachesafe_rules.api import Rule

__all__ = ["entry", "render"]


def render(result: LintResult, *, sources: Sources, rules: Iterable[Rule] = ()) -> str:
    """A list of objects, empty where nothing was found. Rows and columns count from 1, columns in characters."""
    return json_text([entry(finding) for finding in result.findings])


def entry(finding: Finding) -> dict[str, Any]:
    """One finding."""
    place = place_of(finding)
    return {
        "code": finding.code,
        "name": name_of(finding),
        "message": finding.message,
        "severity": str(finding.severity),
        "confidence": confidence_of(finding),
        "filename": place.filename,
        "location": {"row": place.row, "column": place.column},
        "end_location": {"row": place.end_row, "column": place.end_column},
        "flow": [{"filename": step.filename, "row": step.row, "message": step.message} for step in finding.flow],
        "fix": finding.data.get("fix"),
        "fingerprint": finding.data.get("fingerprint"),
        "help": finding.help,
        "url": finding.data.get("url"),
    }
