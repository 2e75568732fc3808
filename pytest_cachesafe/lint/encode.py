"""What the linter found out, as JSON and back: for the result cache, and between processes of one run.

Lists rather than objects: a tree with many flows has thousands of steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cachesafe_rules.api import Report
from cachesafe_rules.model import Source, Span, Step, Taint
from pytest_cachesafe.findings import Finding, Flow, Location, Severity
from pytest_cachesafe.lint.folded import FOLDED, folded_in

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arrive import Hit

__all__ = [
    "finding_from",
    "finding_json",
    "hit_from",
    "hit_json",
    "report_from",
    "report_json",
    "span_json",
]


def span_json(span: Span) -> list[Any]:
    """A span as a list, the reverse of `Span(*value)`."""
    return [span.filename, span.row, span.column, span.end_row, span.end_column]


def _steps_json(steps: tuple[Step, ...]) -> list[Any]:
    return [[step.filename, step.row, step.message] for step in steps]


def _steps_from(value: Any) -> tuple[Step, ...]:
    return tuple(Step(*item) for item in value)


def hit_json(hit: Hit) -> list[Any]:
    """A volatile value at a sink as lists."""
    source = hit.taint.source
    taint = [
        [source.kind, source.granularity, source.api, span_json(source.span), source.frozen],
        _steps_json(hit.taint.steps),
    ]
    return [hit.sink, hit.part, span_json(hit.span), hit.function, taint, list(hit.marks)]


def hit_from(value: Any) -> Hit:
    """The reverse of `hit_json`; raises ValueError, TypeError or IndexError for what is none."""
    from pytest_cachesafe.lint.flow.arrive import Hit

    sink, part, span, function, ((kind, granularity, api, where, frozen), steps), marks = value
    taint = Taint(Source(kind, granularity, api, Span(*where), frozen), _steps_from(steps))
    return Hit(sink, part, Span(*span), function, taint, tuple(marks))


def report_json(report: Report) -> list[Any]:
    """A report as lists; its `data` must be JSON already."""
    return [
        report.message,
        span_json(report.span),
        report.severity,
        report.confidence,
        _steps_json(report.steps),
        report.group,
        report.help,
        report.data,
    ]


def report_from(value: Any) -> Report:
    """The reverse of `report_json`; raises ValueError, TypeError or IndexError for what is none."""
    message, span, severity, confidence, steps, group, help_text, data = value
    return Report(message, Span(*span), severity, confidence, _steps_from(steps), group, help_text, dict(data))


def finding_json(finding: Finding) -> list[Any]:
    """A finding of the linter as lists."""
    where = finding.location
    return [
        finding.code,
        finding.message,
        finding.severity.value,
        [where.filename, where.row, where.column],
        finding.help,
        [[flow.filename, flow.row, flow.message] for flow in finding.flow],
        {**finding.data, FOLDED: list(map(finding_json, folded_in(finding)))}
        if FOLDED in finding.data
        else dict(finding.data),
    ]


def finding_from(value: Any) -> Finding:
    """The reverse of `finding_json`; raises ValueError, TypeError or IndexError for what is none."""
    code, message, severity, (filename, row, column), help_text, flow, data = value
    if FOLDED in data:
        data = {**data, FOLDED: list(map(finding_from, data[FOLDED]))}
    return Finding(
        code,
        message,
        Severity(severity),
        Location(filename=filename, row=row, column=column),
        help=help_text,
        flow=tuple(Flow(*item) for item in flow),
        data=dict(data),
    )
