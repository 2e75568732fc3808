"""The last line of a run, and the counts by rule."""

from __future__ import annotations

from lint_findings import finding

from pytest_cachesafe.lint.result import LintResult
from pytest_cachesafe.report.lint.summary import statistics, summary_line


def test_severities_files_and_what_was_left_out() -> None:
    findings = [
        *[finding(row=n) for n in (1, 2, 3)],
        finding(severity="warning", filename="b.py"),
        *[finding(severity="note", filename="b.py", row=n) for n in (4, 5)],
    ]
    result = LintResult(findings, files=40, suppressed=1, baselined=2)
    assert summary_line(result) == "3 errors, 1 warning, 2 notes in 2 of 40 files (1 suppressed, 2 in the baseline)"


def test_nothing_found() -> None:
    assert summary_line(LintResult(files=1)) == "no findings in 1 file"


def test_what_was_fixed_is_stale_or_crashed_is_told() -> None:
    result = LintResult(files=3, fixed=4, stale=1, crashed=["CSF101 failed"])
    assert summary_line(result) == ("no findings in 3 files (4 fixed, 1 baseline entry no longer found, 1 crash)")


def test_statistics_begin_with_the_most_frequent_rule() -> None:
    findings = [finding("CSF203", name="unsorted-json"), *[finding(row=n) for n in range(1, 12)]]
    assert statistics(findings) == "11 CSF101 clock-in-prefix\n 1 CSF203 unsorted-json\n"


def test_equal_counts_are_ordered_by_code() -> None:
    assert statistics([finding("CSF300", name="b"), finding("CSF200", name="a")]) == "1 CSF200 a\n1 CSF300 b\n"


def test_no_statistics_of_nothing() -> None:
    assert statistics([]) == ""
