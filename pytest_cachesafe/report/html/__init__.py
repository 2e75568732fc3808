"""The page of a run: one file, no script, nothing from elsewhere."""

from __future__ import annotations

from pytest_cachesafe.report.html.page import render

__all__ = ["render"]
