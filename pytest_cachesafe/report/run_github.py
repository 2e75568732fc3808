"""A run for GitHub Actions: annotations at lines of source, and the summary page of the job."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.result import LintResult
from pytest_cachesafe.report.repository import Repository
from pytest_cachesafe.report.run_found import checks_of, findings_of, lint_of

if TYPE_CHECKING:
    from pytest_cachesafe.findings import Finding
    from pytest_cachesafe.gate.scenario import Run

__all__ = ["MOST", "commands", "write_summary"]

# GitHub shows ten of each level for a step and drops the others without a word.
MOST = 10
_VARIABLE = "GITHUB_STEP_SUMMARY"
# Less room than this holds nothing but the note that something is missing.
_LEAST = 2_000


def commands(run: Run, root: str) -> list[str]:
    """One workflow command a line, lines that built a changing text first; then how many are not shown."""
    from pytest_cachesafe.report.lint.github import render

    repository = Repository(root)
    found = findings_of(run, repository)
    built = [one for one in found if one.flow]
    placed = {(one.location.filename, one.location.row) for one in found}
    # What a check's own line says already is not said twice there.
    checks = [one for one in checks_of(run, repository) if (one.location.filename, one.location.row) not in placed]
    rest = [one for one in found if not one.flow]
    shown: list[Finding] = []
    left: dict[str, int] = {}
    for one in (*built, *rest, *checks, *lint_of(run, repository)):
        level = str(one.severity)
        if sum(str(other.severity) == level for other in shown) < MOST:
            shown.append(one)
        else:
            left[level] = left.get(level, 0) + 1
    lines = render(LintResult(shown), sources=lambda name: None).splitlines()
    lines += [
        f"cachesafe: {count} more {level}{'' if count == 1 else 's'}, GitHub shows {MOST} a step: see the job summary"
        for level, count in sorted(left.items())
    ]
    return lines


def write_summary(run: Run, environ: Mapping[str, str] = os.environ) -> str | None:
    """Append the run to the job's summary page; returns a sentence where there is one and it cannot be written.

    The page belongs to the step, which may have written to it before: only what fits behind that is added.
    """
    path = environ.get(_VARIABLE)
    if not path:
        return None
    from pytest_cachesafe.report.markdown import SUMMARY_LIMIT, render

    try:
        with open(path, "ab") as file:
            size = file.tell()
            left = SUMMARY_LIMIT - size - 2
            if left < _LEAST:
                return f"cachesafe: the step's summary is full ({size:,} bytes): give the report a step of its own"
            text = render(run, left)
            # A summary in the middle of a line would be no heading.
            file.write(f"\n\n{text}".encode("utf-8", "replace") if size else text.encode("utf-8", "replace"))
    except OSError as error:
        return f"cachesafe: {_VARIABLE} cannot be written: {error.strerror or error}"
    return None
