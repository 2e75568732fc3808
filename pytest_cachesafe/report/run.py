"""Writes the reports of a run that were asked for, from one model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.files import write_atomic
from pytest_cachesafe.report.jsonout import to_json

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
            write_atomic(os.path.join(root, one.path), _content(run, one.format))
            lines.append(f"cachesafe report: {one.path}")
    return lines


def _content(run: Run, name: str) -> str:
    if name == "json":
        values = run.as_dict()
        values.pop("schema")
        return to_json(values)
    if name == "html":
        from pytest_cachesafe.report.html import render

        return render(run)
    raise NotImplementedError(name)
