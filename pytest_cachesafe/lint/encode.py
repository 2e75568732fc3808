"""What the linter found out, as JSON and back: for the result cache, and between processes of one run.

Lists rather than objects: a tree with many flows has thousands of steps.
"""

from __future__ import annotations

from typing import Any

from cachesafe_rules.api import Report
from cachesafe_rules.model import Arrival, Source, Span, Step, Taint

from pytest_cachesafe.findings import Finding, Flow, Location, Severity

__all__ = [
    "arrival_from",
    "arrival_json",
    "finding_from",
    "finding_json",
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


def arrival_json(arrival: Arrival) -> list[Any]:
    """An arrival as lists."""
    taints = [
        [
            [t.source.kind, t.source.granularity, t.source.api, span_json(t.source.span), t.source.frozen],
            _steps_json(t.steps),
        ]
        for t in arrival.taints
    ]
    return [arrival.sink, arrival.part, span_json(arrival.span), arrival.function, taints]


def arrival_from(value: Any) -> Arrival:
    """The reverse of `arrival_json`; raises ValueError, TypeError or IndexError for what is none."""
    sink, part, span, function, taints = value
    made = []
    for (kind, granularity, api, where, frozen), steps in taints:
        made.append(Taint(Source(kind, granularity, api, Span(*where), frozen), _steps_from(steps)))
    return Arrival(sink, part, Span(*span), function, tuple(made))


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
        dict(finding.data),
    ]


def finding_from(value: Any) -> Finding:
    """The reverse of `finding_json`; raises ValueError, TypeError or IndexError for what is none."""
    code, message, severity, (filename, row, column), help_text, flow, data = value
    return Finding(
        code,
        message,
        Severity(severity),
        Location(filename=filename, row=row, column=column),
        help=help_text,
        flow=tuple(Flow(*item) for item in flow),
        data=dict(data),
    )
