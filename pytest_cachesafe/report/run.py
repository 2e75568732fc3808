"""Writes the reports of a run that were asked for, from one model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.files import write_atomic

if TYPE_CHECKING:
    from pytest_cachesafe.gate.collect import Wanted
    from pytest_cachesafe.gate.scenario import Run

__all__ = ["write_reports"]


def write_reports(run: Run, wanted: Sequence[Wanted], root: str) -> list[str]:
    """Write each report; returns the lines for the terminal.

    Raises:
        UsageError: a file cannot be written.
    """
    lines: list[str] = []
    for one in wanted:
        if one.path is not None:
            write_atomic(os.path.join(root, one.path), _FILES[one.format](run, root))
            lines.append(f"cachesafe report: {one.path}")
        else:
            lines += _github(run, root)
    return lines


def _github(run: Run, root: str) -> list[str]:
    from pytest_cachesafe.report.run_github import commands, write_summary

    problem = write_summary(run)
    return [*commands(run, root), *([problem] if problem else [])]


def _json(run: Run, root: str) -> str:
    from pytest_cachesafe.report.lint.encode import json_text

    return json_text(run.as_dict())


def _markdown(run: Run, root: str) -> str:
    from pytest_cachesafe.report.markdown import render

    return render(run)


def _sarif(run: Run, root: str) -> str:
    from pytest_cachesafe.report.run_sarif import render

    return render(run, root)


def _html(run: Run, root: str) -> str:
    from pytest_cachesafe.report.html import render

    return render(run)


# What goes into files; `github` speaks to the CI.
_FILES: dict[str, Callable[[Run, str], str]] = {"json": _json, "markdown": _markdown, "sarif": _sarif, "html": _html}
