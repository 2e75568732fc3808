"""Writes the reports of a run that were asked for, from one model."""

from __future__ import annotations

import os
from collections.abc import Sequence
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
            write_atomic(os.path.join(root, one.path), _content(run, one.format, root))
            lines.append(f"cachesafe report: {one.path}")
        elif one.format == "github":
            lines += _github(run, root)
    return lines


def _github(run: Run, root: str) -> list[str]:
    from pytest_cachesafe.report.run_github import commands, write_summary

    problem = write_summary(run)
    return [*commands(run, root), *([problem] if problem else [])]


def _content(run: Run, name: str, root: str) -> str:
    if name == "json":
        from pytest_cachesafe.report.lint.encode import json_text

        return json_text(run.as_dict())
    if name == "markdown":
        from pytest_cachesafe.report.markdown import render as markdown

        return markdown(run)
    if name == "sarif":
        from pytest_cachesafe.report.run_sarif import render as sarif

        return sarif(run, root)
    if name == "html":
        from pytest_cachesafe.report.html import render

        return render(run)
    raise NotImplementedError(name)
