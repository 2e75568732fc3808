"""What is known of one file before anything is concluded of it, and its form in the cache and between processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_cachesafe.lint.cache import StoredUnit

if TYPE_CHECKING:
    from cachesafe_rules.api import Report
    from pytest_cachesafe.lint.flow.arrive import Hit

__all__ = ["Unit", "decoded", "encoded"]


class Unit(NamedTuple):
    """What the analysis of one file gives; `hits` and `votes` of all files together say what arrives."""

    hits: Sequence[Hit]
    votes: Sequence[tuple[str, str]]
    reports: Sequence[tuple[str, Report]]
    used: tuple[str, ...]
    # Row, column and message where the file cannot be parsed.
    problem: tuple[int, int, str] | None = None
    # False where nobody looked whether it can; such a unit is not kept.
    parsed: bool = True


def encoded(unit: Unit) -> StoredUnit:
    """The unit as JSON values."""
    problem = list(unit.problem) if unit.problem is not None else None
    if not unit.hits and not unit.reports:
        return StoredUnit([], [list(vote) for vote in dict.fromkeys(unit.votes)], [], unit.used, problem)
    from pytest_cachesafe.lint.encode import hit_json, report_json

    return StoredUnit(
        [hit_json(hit) for hit in unit.hits],
        [list(vote) for vote in dict.fromkeys(unit.votes)],
        [[code, report_json(report)] for code, report in unit.reports],
        unit.used,
        problem,
    )


def decoded(unit: StoredUnit, codes: frozenset[str]) -> Unit | None:
    """The reverse of `encoded`; None where it is damaged, or holds reports of rules that are off."""
    try:
        hits: list[Hit] = []
        reports: list[tuple[str, Report]] = []
        if unit.hits or unit.reports:
            from pytest_cachesafe.lint.encode import hit_from, report_from

            hits = list(map(hit_from, unit.hits))
            reports = [(code, report_from(report)) for code, report in unit.reports]
        if any(code not in codes for code, _ in reports):
            return None
        problem = None
        if unit.problem is not None:
            row, column, message = unit.problem
            problem = (int(row), int(column), str(message))
        votes = [(str(mark), str(word)) for mark, word in unit.votes]
        return Unit(hits, votes, reports, unit.used, problem)
    except (TypeError, ValueError, IndexError, KeyError):
        return None
