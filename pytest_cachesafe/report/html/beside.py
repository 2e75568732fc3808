"""What stands beside the checks: the lock file and its regressions, and what the linter found in the source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.gate.scenario import Run
from pytest_cachesafe.report.html.markup import Content, Markup, join, tag
from pytest_cachesafe.report.html.reading import mapping, rows, whole
from pytest_cachesafe.report.html.words import badge

__all__ = ["gate_part", "lint_part"]

_MOST = 300


def gate_part(run: Run) -> Markup | None:
    """Regressions, then what the gate says at the end of the run."""
    if not run.regressions and not run.gate:
        return None
    parts: list[Content] = []
    if run.regressions:
        places = run.places()
        items = [
            tag(
                "li",
                badge("regression" if one.failed else "warning", None if one.failed else "told only"),
                " ",
                tag("strong", one.test),
                tag("small", f" {one.name}"),
                tag("p", one.text),
                tag("code", places[one.test, one.name]) if (one.test, one.name) in places else None,
            )
            for one in run.regressions[:_MOST]
        ]
        parts += [tag("ul", *items, class_="cards"), _more(len(run.regressions))]
    if run.gate:
        # Lines of a group are indented.
        lines = [tag("li", line.strip(), class_="inner" if line.startswith(" ") else None) for line in run.gate[:_MOST]]
        parts += [tag("ul", *lines, class_="lines"), _more(len(run.gate))]
    return join(parts)


def lint_part(run: Run) -> Markup | None:
    """Findings of the linter, errors first."""
    if not run.lint:
        return None
    rank = {"error": 0, "warning": 1}
    ordered = sorted(run.lint, key=lambda finding: rank.get(str(finding.get("severity")), 2))
    items = [_finding(finding) for finding in ordered[:_MOST]]
    return join((tag("ul", *items, class_="cards"), _more(len(ordered))))


def _finding(finding: Mapping[str, Any]) -> Markup:
    row = whole(mapping(finding.get("location")).get("row"))
    flow = rows(finding.get("flow"))
    steps = None
    if flow:
        items = [
            tag(
                "li", tag("code", f"{step.get('filename')}:{whole(step.get('row'))}"), " ",
                str(step.get("message") or ""),
            )
            for step in flow[:30]
        ]  # fmt: skip
        steps = tag("details", tag("summary", f"how it gets there ({len(flow)} steps)"), tag("ol", *items))
    return tag(
        "li",
        badge(str(finding.get("severity") or "note")),
        " ",
        tag("code", f"{finding.get('filename')}:{row}"),
        " ",
        tag("strong", f"{finding.get('code')} {finding.get('name') or ''}".rstrip()),
        tag("p", str(finding.get("message") or "")),
        tag("p", tag("b", "fix "), str(finding["help"]), class_="help") if finding.get("help") else None,
        steps,
    )


def _more(count: int) -> Markup | None:
    return tag("p", f"{count - _MOST:,} more are not shown.") if count > _MOST else None
