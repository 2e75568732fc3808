"""What a finding says of its place, name and fix, read once for all formats.

Findings may come from rules of third parties, so whatever is missing or senseless gets a value every format can write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.report.visible import visible

__all__ = ["Edit", "Place", "confidence_of", "edits_of", "head", "name_of", "place_of"]


class Place(NamedTuple):
    """A stretch of a file; rows and columns from 1, `end_column` the first column behind."""

    filename: str
    row: int
    column: int
    end_row: int
    end_column: int


class Edit(NamedTuple):
    """Replace what lies between two positions; equal positions insert."""

    row: int
    column: int
    end_row: int
    end_column: int
    content: str


def place_of(finding: Finding) -> Place:
    """Where a finding lies. Without an end it is one column wide; a finding for a whole file lies at its start."""
    where = finding.location
    row, column = max(where.row or 1, 1), max(where.column or 1, 1)
    end_row, end_column = _position(finding.data.get("end_location"), (row, column + 1))
    if (end_row, end_column) <= (row, column):
        end_row, end_column = row, column + 1
    return Place(where.filename or "", row, column, end_row, end_column)


def name_of(finding: Finding) -> str:
    """The rule's name in kebab case, its code where it has none."""
    return str(finding.data.get("name") or finding.code)


def confidence_of(finding: Finding) -> str:
    """high, medium or low."""
    return str(finding.data.get("confidence") or "high")


def edits_of(finding: Finding) -> list[Edit]:
    """The edits of a finding's fix, in order; none for a suggestion in words."""
    fix = finding.data.get("fix")
    if not isinstance(fix, Mapping):
        return []
    edits = []
    for edit in fix.get("edits") or ():
        start = _position(edit.get("location"), (1, 1))
        edits.append(
            Edit(*start, *max(_position(edit.get("end_location"), start), start), str(edit.get("content", "")))
        )
    return edits


def head(finding: Finding, *, severity: bool = False) -> str:
    """`path:row:col: CODE message [name]` on one line that no terminal and no CI obeys."""
    place = place_of(finding)
    level = f"{finding.severity} " if severity else ""
    # Made harmless as a whole: a path ":" and the colon behind it would be the start of a command.
    return visible(
        f"{place.filename}:{place.row}:{place.column}: {level}{finding.code} {finding.message} [{name_of(finding)}]"
    )


def _position(value: Any, default: tuple[int, int]) -> tuple[int, int]:
    if not isinstance(value, Mapping):
        return default
    return max(int(value.get("row") or 1), 1), max(int(value.get("column") or 1), 1)
