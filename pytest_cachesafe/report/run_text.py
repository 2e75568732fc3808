"""A saved run as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_cachesafe.report.visible import visible

if TYPE_CHECKING:
    from pytest_cachesafe.gate.scenario import Run

__all__ = ["run_text"]

_MOST = 20
_WORDS = {"failed": "FAILED", "regression": "WORSE", "warning": "warning", "passed": "passed"}


def run_text(run: Run, verbosity: int = 0) -> str:
    """The verdict, a line for each check, the worst first, then the lock file's lines and the linter's findings."""
    return "\n".join(_lines(run, verbosity)) + "\n"


def _lines(run: Run, verbosity: int) -> Iterator[str]:
    from pytest_cachesafe.report.html.facts import facts_of
    from pytest_cachesafe.report.html.overview import verdict
    from pytest_cachesafe.report.html.reading import mapping

    found = facts_of(run)
    yield verdict(run, found)
    most = len(found) if verbosity > 0 else _MOST
    width = max((len(_WORDS[one.status]) for one in found[:most]), default=0)
    for one in found[:most]:
        name = "" if one.scenario.name == one.scenario.kind else f" ({one.scenario.name})"
        about = "about " if one.estimated and one.lost else ""
        lost = f", {about}{one.lost:,} of {one.reusable:,} reusable tokens lost" if one.reusable else ""
        yield f"  {_WORDS[one.status]:<{width}}  {visible(one.scenario.test + name)}{lost}"
        if one.status == "failed":
            yield f"    {visible(one.scenario.headline)}"
        if one.status == "failed" and one.faults and one.faults[0].built:
            yield f"    built: {visible(one.faults[0].built)}"
        yield from (f"    {visible(regression.text)}" for regression in one.regressions)
    if len(found) > most:
        yield f"  … {len(found) - most} more checks (-v shows all)"
    if run.gate:
        yield "lock file:"
        yield from (f"  {visible(line)}" for line in run.gate)
    if run.lint:
        yield "in the source:"
        lint = run.lint if verbosity > 0 else run.lint[:_MOST]
        for entry in lint:
            row = mapping(entry.get("location")).get("row")
            yield "  " + visible(f"{entry.get('filename')}:{row}: {entry.get('code')} {entry.get('message')}")
        if len(run.lint) > len(lint):
            yield f"  … {len(run.lint) - len(lint)} more (-v shows all)"
