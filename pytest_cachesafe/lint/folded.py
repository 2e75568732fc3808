"""Findings that another one carries: they come out under their own code once that one is mended.

Only the baseline asks for them, and what they must be for it: not silenced, not switched off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_cachesafe.findings import Finding

__all__ = ["FOLDED", "by_statement", "folded_in", "only_folded", "told_instead", "unburdened", "with_folded"]

FOLDED = "folded"


def folded_in(finding: Finding) -> Sequence[Finding]:
    """The findings that this one carries."""
    found: Sequence[Finding] = finding.data.get(FOLDED) or ()
    return found


def by_statement(finding: Finding) -> list[list[Finding]]:
    """The finding and those that it carries; what stands in one another is together."""
    out: list[list[Finding]] = []
    last = (0, 0)
    for one in sorted((finding, *folded_in(finding)), key=_ends):
        start, end = _ends(one)
        if start < last:
            out[-1].append(one)
        else:
            out.append([one])
        last = max(last, end)
    return out


def _ends(finding: Finding) -> tuple[tuple[int, int], tuple[int, int]]:
    start = finding.location.row or 1, finding.location.column or 1
    end = finding.data.get("end_location")
    return start, (end["row"], end["column"]) if end else start


def with_folded(finding: Finding, folded: Sequence[Finding]) -> Finding:
    """The finding that carries these and no others."""
    data = {key: value for key, value in finding.data.items() if key != FOLDED}
    return replace(finding, data={**data, FOLDED: list(folded)} if folded else data)


def only_folded(finding: Finding, wanted: Callable[[Finding], bool]) -> Finding:
    """The finding without those it carries that are not wanted."""
    folded = folded_in(finding)
    return with_folded(finding, [other for other in folded if wanted(other)]) if folded else finding


def unburdened(finding: Finding) -> Finding:
    """The finding as it is reported."""
    return with_folded(finding, ()) if FOLDED in finding.data else finding


def told_instead(folded: Sequence[Finding]) -> Finding:
    """One report for findings whose host is known: the first of them, which is the worst, carries the others."""
    from pytest_cachesafe.lint.masked import carrying

    first, *others = folded
    if not others:
        return first
    sources = list(first.data.get("sources") or ())
    for other in others:
        sources += [source for source in other.data.get("sources") or () if source not in sources]
    told = carrying(first, others)
    return replace(told, data={**told.data, "sources": sources}) if sources else told
