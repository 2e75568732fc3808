"""One report for a text and for those who only hand it on.

A function that builds a system text with a clock in it is one thing to mend; its callers, who put what it returns into
a request, are reported too, for every one of them spoils a prefix. Where both are at hand, the callers' reports become
steps of the one on the text. Suppressions, the baseline and fixes come first: they mean single places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.findings import Flow

if TYPE_CHECKING:
    from pytest_cachesafe.findings import Finding

__all__ = ["gathered"]

_SEVERITIES = ("error", "warning", "note")


def gathered(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those that another one stands for, which gets their places and their steps.

    Finding b goes into finding a where all sources of b are sources of a, b is no worse, and the way to b comes by the
    place of a. Order is kept, nothing of a flow is lost.
    """
    sources = [_sources(finding) for finding in findings]
    rows = [_rows(finding) for finding in findings]
    at_row: dict[tuple[str | None, int], list[int]] = {}
    for index, finding in enumerate(findings):
        for row in rows[index] if sources[index] else ():
            at_row.setdefault((finding.location.filename, row), []).append(index)
    into: dict[int, int] = {}
    for index, finding in enumerate(findings):
        own = {(finding.location.filename, row) for row in rows[index]}
        # The place nearest to the source stands for what follows.
        for step in finding.flow if sources[index] else ():
            place = (step.filename, step.row)
            if place in own:
                continue
            other = next((i for i in at_row.get(place, ()) if _stands_for(findings, sources, i, index, into)), None)
            if other is not None:
                into[index] = other
                break
    if not into:
        return list(findings)
    told: dict[int, list[int]] = {}
    for index in into:
        told.setdefault(_root(into, index), []).append(index)
    return [
        _merged(finding, [findings[other] for other in sorted(told.get(index, ()))])
        for index, finding in enumerate(findings)
        if index not in into
    ]


def _root(into: Mapping[int, int], index: int) -> int:
    while index in into:
        index = into[index]
    return index


def _sources(finding: Finding) -> frozenset[tuple[Any, ...]]:
    """Where the values of a finding arise; empty for rules that do not say."""
    listed = finding.data.get("sources")
    if not isinstance(listed, list):
        return frozenset()
    words = ("filename", "row", "column", "kind")
    return frozenset(tuple(s.get(w) for w in words) for s in listed if isinstance(s, Mapping))


def _rank(finding: Finding) -> int:
    return _SEVERITIES.index(str(finding.severity))


def _rows(finding: Finding) -> set[int]:
    """The rows of a finding's statement, and of those folded into it in its function."""
    first = finding.location.row or 1
    end = finding.data.get("end_location")
    last = end["row"] if isinstance(end, Mapping) else first
    return {*range(first, last + 1), *(a["row"] for a in finding.data.get("also") or () if isinstance(a, Mapping))}


def _stands_for(
    findings: Sequence[Finding],
    sources: Sequence[frozenset[tuple[Any, ...]]],
    index: int,
    other: int,
    into: Mapping[int, int],
) -> bool:
    """Whether mending the finding at `index` mends the other one as well."""
    return (
        sources[other] <= sources[index]
        and _rank(findings[index]) <= _rank(findings[other])
        and _root(into, index) != other
    )


def _merged(finding: Finding, others: Sequence[Finding]) -> Finding:
    if not others:
        return finding
    flow = dict.fromkeys(finding.flow)
    also = list(finding.data.get("also") or ())
    for other in others:
        where = other.location
        flow.update(dict.fromkeys(other.flow))
        sink = other.data.get("sink") or "prompt"
        place = f"{where.filename}:{where.row}"
        flow[Flow(where.filename or "", where.row or 1, f"also reaches {_worded(sink)} at {place}")] = None
        also.append(
            {
                "code": other.code,
                "name": other.data.get("name"),
                "filename": where.filename,
                "row": where.row,
                "message": other.message,
            }
        )
        also.extend(other.data.get("also") or ())
    return replace(finding, flow=tuple(flow), data={**finding.data, "also": also})


def _worded(sink: str) -> str:
    from cachesafe_rules.policy import worded

    return worded(sink)
