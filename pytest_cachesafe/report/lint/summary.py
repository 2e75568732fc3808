"""The line at the end of a run, and the counts by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_cachesafe.findings import Finding
    from pytest_cachesafe.lint.result import LintResult

__all__ = ["statistics", "summary_line"]


def summary_line(result: LintResult) -> str:
    """One sentence for stderr, without a line end: `3 errors, 1 warning in 2 of 40 files (1 suppressed)`."""
    levels = Counter(str(finding.severity) for finding in result.findings)
    counts = [_number(levels[level], level) for level in ("error", "warning", "note") if levels[level]]
    touched = len({finding.location.filename for finding in result.findings})
    line = f"{', '.join(counts)} in {touched} of" if counts else "no findings in"
    line += f" {_number(result.files, 'file')}"
    aside = [
        words
        for count, words in (
            (result.fixed, f"{result.fixed} would be fixed" if result.dry else f"{result.fixed} fixed"),
            (result.suppressed, f"{result.suppressed} suppressed"),
            (result.baselined, f"{result.baselined} in the baseline"),
            (result.stale, f"{_number(result.stale, 'baseline entry', 'baseline entries')} no longer found"),
            (len(result.unread), f"{len(result.unread)} unreadable"),
            (len(result.crashed), _number(len(result.crashed), "crash", "crashes")),
        )
        if count
    ]
    return f"{line} ({', '.join(aside)})" if aside else line


def statistics(findings: Sequence[Finding]) -> str:
    """How often each rule fired, most often first: count, code, name; empty where nothing was found."""
    # Not paid for by runs that only print the line above.
    from pytest_cachesafe.report.lint.place import name_of
    from pytest_cachesafe.report.visible import visible

    counts = Counter(finding.code for finding in findings)
    names = {finding.code: name_of(finding) for finding in findings}
    width = len(str(max(counts.values(), default=0)))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{count:>{width}} {visible(f'{code} {names[code]}')}\n" for code, count in ordered)


def _number(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
