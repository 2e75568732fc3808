"""One report per place: what is built in one function is told once.

A system text that holds a clock, the host and a user's name is one thing to mend, not three; the worst report stays and
carries the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from cachesafe_rules.api import Folded, Report, Rule
from cachesafe_rules.arrival_rule import ArrivalRule, joined
from cachesafe_rules.model import Step
from cachesafe_rules.policy import rank

__all__ = ["fold"]

Told = tuple[Rule, Report]

# Structural rules that look at one place of what flows are followed to.
_DOUBLES = frozenset({"CSF204", "CSF301"})


def fold(reports: Iterable[Told]) -> list[Told]:
    """One report per function of a file, per statement in module and class bodies; the order of the input is no matter.

    The most severe stays (then the lowest code, then the first place). The steps of the others are appended to its
    own, `data["also"]` lists them as `{"code", "name", "row", "message"}`, `data["sources"]` holds the sources of all,
    `folded` the others as they were.
    Reports without a group that do not come from flows stand alone, unless a flow tells the same (the order of a set in
    a schema, a value in front of what stays). Sorted by place and code; input is not changed.
    """
    groups: dict[tuple[Any, ...], list[Told]] = {}
    out: list[Told] = []
    ordered = sorted(reports, key=_order)
    flows = [told for told in ordered if isinstance(told[0], ArrivalRule)]
    doubles = []
    same: set[int] = set()
    # The newest message in front of the earlier ones is a value in front of what stays: the more exact rule speaks.
    inserts, changes = ({r.span for rule, r in ordered if rule.code == code} for code in ("CSF302", "CSF301"))
    for told in ordered:
        rule, report = told
        if rule.code in ("CSF301", "CSF302") and report.span in inserts & changes:
            group = groups.setdefault(("CSF302", report.span), [])
            group.insert(len(group) if rule.code == "CSF301" else 0, told)
            same.add(id(report))
            continue
        flow = next((f for f in flows if _tells(f, told)), None) if rule.code in _DOUBLES else None
        if flow is None:
            _put(told, groups, out)
        else:
            doubles.append((told, flow))
    for told, flow in doubles:
        # Where another defect of the place is told instead of that flow, this one would be told nowhere.
        group = groups.get(_key(flow) or (), [])
        if group and group[0][0].code == flow[0].code:
            group.append(told)
            same.add(id(told[1]))
        else:
            _put(told, groups, out)
    out.extend(_merged(group, same) for group in groups.values())
    return sorted(out, key=_place)


def _put(told: Told, groups: dict[tuple[Any, ...], list[Told]], out: list[Told]) -> None:
    key = _key(told)
    if key is None:
        out.append(told)
    else:
        groups.setdefault(key, []).append(told)


def _key(told: Told) -> tuple[Any, ...] | None:
    rule, report = told
    span = report.span
    if report.group is not None:
        return span.filename, report.group
    if isinstance(rule, ArrivalRule):
        return span.filename, span.row, span.end_row
    return None


def _tells(flow: Told, told: Told) -> bool:
    """Whether the way of a value tells what a structural rule says of one place."""
    (rule, report), (other, double) = flow, told
    if report.span.filename != double.span.filename:
        return False
    at = double.span
    if other.code == "CSF204":
        return rule.code == "CSF201" and report.span.row <= at.row and at.end_row <= report.span.end_row
    inside = at.row <= report.span.row and report.span.end_row <= at.end_row
    if rule.code in ("CSF109", "CSF110") and inside and report.group == double.data.get("function"):
        # What was retrieved goes by the name of the text there that is made of it.
        return True
    what = double.data.get("what", "").rstrip("()")
    if not any(source.get("api", "").rstrip("()") == what for source in report.data.get("sources", ())):
        return False
    rows = (s.row for s in _steps(report) if s.filename == at.filename)
    return report.group == double.data.get("function") or any(at.row <= row <= at.end_row for row in rows)


def _severity(told: Told) -> int:
    rule, report = told
    return rank(report.severity or rule.severity)


def _order(told: Told) -> tuple[Any, ...]:
    rule, report = told
    steps = tuple((s.filename, s.row, s.message) for s in report.steps)
    return _severity(told), rule.code, report.span, report.message, steps, repr(report)


def _place(told: Told) -> tuple[Any, ...]:
    return told[1].span, told[0].code, *_order(told)


def _merged(group: list[Told], same: set[int]) -> Told:
    rule, first = group[0]
    others = [told for told in group[1:] if told != group[0]]
    if not others:
        return rule, first
    ways = [list(first.steps)]
    also = list(first.data.get("also", ()))
    sources = list(first.data.get("sources", ()))
    folded = list(first.folded)
    for other, report in others:
        ways.append(_steps(report))
        also.append({"code": other.code, "name": other.name, "row": report.span.row, "message": report.message})
        also.extend(report.data.get("also", ()))
        sources.extend(s for s in report.data.get("sources", ()) if s not in sources)
        folded += [Folded(other, replace(report, folded=()), id(report) in same), *report.folded]
    data = {**first.data, "also": _unique(also)}
    if sources:
        data["sources"] = sources
    return rule, replace(first, steps=joined(ways), data=data, folded=tuple(_unique(folded)))


def _steps(report: Report) -> list[Step]:
    """The report's steps; its own place is always among them."""
    span = report.span
    steps = list(report.steps)
    if not any(s.filename == span.filename and span.row <= s.row <= span.end_row for s in steps):
        steps.append(Step(span.filename, span.row, report.message))
    return steps


def _unique(items: list[Any]) -> list[Any]:
    out: list[Any] = []
    for item in items:
        if item not in out:
            out.append(item)
    return out
