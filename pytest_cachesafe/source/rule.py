"""The linter's finding on the line that wrote a value: its code, and its advice."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Rule", "rule_at"]


class Rule(NamedTuple):
    """A finding of `cachesafe lint` whose way leads through a line."""

    code: str
    name: str
    message: str
    # What the rule says to do.
    help: str | None


def rule_at(filename: str, row: int, root: str) -> Rule | None:
    """The finding on a line, or whose flow has a step there; None where the linter has none.

    Args:
        filename: relative to `root`; row: from 1. The file's project is indexed, its results come from the cache.
    """
    best: Rule | None = None
    for flow_rows, rule in _findings(os.path.join(root, filename)):
        if row in flow_rows:
            # Codes in order: a value that changes says more than the structure around it.
            best = min((rule, best) if best is not None else (rule,), key=lambda one: one.code)
    return best


@lru_cache(maxsize=32)
def _findings(path: str) -> tuple[tuple[frozenset[int], Rule], ...]:
    from pytest_cachesafe.lint.options import LintOptions
    from pytest_cachesafe.lint.run import run_lint
    from pytest_cachesafe.usage import UsageError

    try:
        outcome = run_lint(LintOptions((path,)))
    except UsageError:
        # A file the linter is told to leave alone, or a broken configuration that it tells of itself.
        return ()
    name = os.path.basename(path)
    found = []
    for finding in outcome.result.findings:
        rows = {step.row for step in finding.flow if os.path.basename(step.filename) == name}
        if finding.location.row is not None and os.path.basename(finding.location.filename or "") == name:
            rows.add(finding.location.row)
        title = str(finding.data.get("name") or finding.code)
        found.append((frozenset(rows), Rule(finding.code, title, finding.message, finding.help)))
    return tuple(found)
