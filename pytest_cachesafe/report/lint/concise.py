"""One line a finding: `path:row:col: CODE message [name]`, which editors and terminals turn into a link."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.result import LintResult, Sources
from pytest_cachesafe.report.lint.place import head

if TYPE_CHECKING:
    from cachesafe_rules.api import Rule

__all__ = ["render"]


def render(result: LintResult, *, sources: Sources, rules: Iterable[Rule] = ()) -> str:
    """The findings, one a line; neither sources nor rules are used."""
    return "".join(f"{head(finding)}\n" for finding in result.findings)
