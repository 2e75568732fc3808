"""One report for a text and for those who only hand it on.

A function that builds a system text with a clock in it is one thing to mend; its callers, who put what it returns into
a request, are reported too, for every one of them spoils a prefix. Where both are at hand, the callers' reports become
steps of the one on the text. Prompts that only use one clock are told each. An order is mended where it arises, for
all prompts and tools that it comes to, so it is told once. Suppressions, the baseline and fixes come first: they mean
single places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.findings import Flow

if TYPE_CHECKING:
    from pytest_cachesafe.findings import Finding

__all__ = ["gathered"]

_SEVERITIES = ("error", "warning", "note")
# The function whose result is reported, and the step by which a caller takes that result.
_RESULT = lazy_pattern(r"reaches the return value of (\w+)\(\)")
_TAKEN = lazy_pattern(r"returned by (\w+)\(\)")
# Values that are known by their name alone: whoever hands `memory` on has the same one as the parameter `memory`.
_NAMED = frozenset({"memory", "session", "user"})
# Rules on an order that is another one each time; the last looks at the place where it arises and follows nothing.
_ORDER = frozenset({"CSF201", "CSF202", "CSF204"})
_PLACE = "CSF204"


def gathered(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those that others stand for; the first of these gets their places and their steps.

    Finding a stands for what finding b tells of where that is among the sources of a, b is no worse, and the way to b
    comes by the place of a or by the result of the function that a is about. What b has beside that costs less, and
    will be told when that is mended. Order is kept, nothing of a flow is lost.
    """
    sources = [_sources(finding) for finding in findings]
    rows = [_rows(finding) for finding in findings]
    at_row: dict[tuple[str | None, int], list[int]] = {}
    results: dict[str, list[int]] = {}
    for index, finding in enumerate(findings):
        for row in rows[index] if sources[index] else ():
            at_row.setdefault((finding.location.filename, row), []).append(index)
        for name in _results(finding, rows[index]) if sources[index] else ():
            results.setdefault(name, []).append(index)
    into: dict[int, int] = {}
    for index, finding in enumerate(findings):
        own = {(finding.location.filename, row) for row in rows[index]}
        left = _sources(finding, worst=True)
        hosts: list[int] = []
        before: Flow | None = None
        # The place nearest to the source stands for what follows.
        for step in finding.flow if left else ():
            place = (step.filename, step.row)
            taken = _TAKEN.fullmatch(step.message)
            others = [] if place in own else at_row.get(place, [])
            if taken is not None and before is not None:
                others = [*others, *(i for i in results.get(taken[1], ()) if _comes_by(findings[i], before))]
            before = step
            for other in others:
                worse = _rank(findings[other]) > _rank(finding)
                if not worse and index not in (other, _root(into, other)) and left & sources[other]:
                    hosts.append(other)
                    left -= sources[other]
        if hosts and not left:
            into[index] = hosts[0]
    into.update(_of_one_order(findings, rows, into))
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


def _of_one_order(findings: Sequence[Finding], rows: Sequence[set[int]], gone: Mapping[int, int]) -> dict[int, int]:
    """What stands for each finding on an order that another one is about, which is no milder.

    Those on several orders come first, then those near to where these arise.
    """
    asked = [i for i, finding in enumerate(findings) if finding.code in _ORDER and i not in gone]

    def key(index: int) -> tuple[int, ...]:
        finding = findings[index]
        own = _sources(finding)
        away = all(source[0] != finding.location.filename for source in own)
        return _rank(finding), finding.code == _PLACE, -len(own), away, len(finding.flow), index

    asked.sort(key=key)
    first: dict[tuple[Any, ...], int] = {}
    into: dict[int, int] = {}
    for index in asked:
        finding = findings[index]
        if finding.code == _PLACE and not _sources(finding):
            places = {(finding.location.filename, row) for row in rows[index]}
            host = next((i for source, i in first.items() if source[:2] in places), None)
        else:
            hosts = [first.get(source) for source in sorted(_sources(finding, worst=True), key=repr)]
            host = hosts[0] if hosts and None not in hosts else None
        if host is not None:
            into[index] = host
        else:
            for source in _sources(finding):
                first.setdefault(source, index)
    return into


def _root(into: Mapping[int, int], index: int) -> int:
    while index in into:
        index = into[index]
    return index


def _sources(finding: Finding, *, worst: bool = False) -> frozenset[tuple[Any, ...]]:
    """Where the values of a finding arise, or those that make it as bad as it is; empty for rules that do not say."""
    listed = finding.data.get("sources")
    if not isinstance(listed, list):
        return frozenset()
    return frozenset(
        ("", 0, 0, s["kind"], s.get("api"))
        if s.get("kind") in _NAMED
        else tuple(s.get(w) for w in ("filename", "row", "column", "kind"))
        for s in listed
        if isinstance(s, Mapping) and not (worst and _is_less(s, finding))
    )


def _is_less(source: Mapping[str, Any], finding: Finding) -> bool:
    """Whether a value costs less than what a finding says."""
    if not {"kind", "granularity", "api", "frozen"} <= source.keys():
        return False
    from cachesafe_rules.model import Source, Span
    from cachesafe_rules.policy import severity

    words = (source["kind"], source["granularity"], source["api"], Span("", 1, 1, 1, 1), source["frozen"])
    return _SEVERITIES.index(severity(Source(*words))) > _rank(finding)


def _rank(finding: Finding) -> int:
    return _SEVERITIES.index(str(finding.severity))


def _rows(finding: Finding) -> set[int]:
    """The rows of a finding's statement, and of those folded into it in its function."""
    first = finding.location.row or 1
    end = finding.data.get("end_location")
    last = end["row"] if isinstance(end, Mapping) else first
    return {*range(first, last + 1), *(a["row"] for a in finding.data.get("also") or () if isinstance(a, Mapping))}


def _results(finding: Finding, rows: set[int]) -> set[str]:
    """The functions whose results a finding is about: no place elsewhere says that it reaches them."""
    own: set[str] = set()
    elsewhere: set[str] = set()
    for step in finding.flow:
        found = _RESULT.fullmatch(step.message)
        if found is not None:
            inside = step.filename == finding.location.filename and step.row in rows
            (own if inside else elsewhere).add(found[1])
    return own - elsewhere


def _comes_by(finding: Finding, step: Flow) -> bool:
    """Whether the last step inside of a function is one of a finding's: many functions go by one name."""
    return any((s.filename, s.row) == (step.filename, step.row) for s in finding.flow)


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
