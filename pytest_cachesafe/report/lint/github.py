"""Annotations for GitHub Actions: one workflow command a finding.

Escapes as the runner undoes them (GitHub documentation, Workflow commands for GitHub Actions; escapeData and
escapeProperty of @actions/core 1.x): in the message `%`, carriage return and line feed; in properties `:` and `,` too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.lint.result import LintResult, Sources
from pytest_cachesafe.report.lint.encode import prose
from pytest_cachesafe.report.lint.place import head, name_of, place_of
from pytest_cachesafe.report.visible import visible

if TYPE_CHECKING:
    from cachesafe_rules.api import Rule

__all__ = ["render"]

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def render(result: LintResult, *, sources: Sources, rules: Iterable[Rule] = ()) -> str:
    """One command a line. The message is the line of the concise format and the help below it."""
    return "".join(f"{_command(finding)}\n" for finding in result.findings)


def _command(finding: Finding) -> str:
    place = place_of(finding)
    properties = {
        "file": visible(place.filename),
        "line": str(place.row),
        "col": str(place.column),
        "endLine": str(place.end_row),
        "endColumn": str(place.end_column),
        "title": visible(f"cachesafe {finding.code} ({name_of(finding)})"),
    }
    message = head(finding) + (f"\n{prose(finding.help)}" if finding.help else "")
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_LEVELS[str(finding.severity)]} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
