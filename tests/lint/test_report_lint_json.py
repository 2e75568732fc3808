"""Findings as JSON: the list for programs, and GitLab's Code Quality report."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_findings import any_finding, any_text, edit, finding

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.lint.result import LintResult
from pytest_cachesafe.report.lint import render


def written(output_format: str, *findings: Finding) -> str:
    return render(output_format, LintResult(list(findings)), sources=lambda name: None)


def test_json_has_the_documented_keys() -> None:
    fix = {"message": "sort", "applicability": "safe", "edits": [edit((3, 4), (3, 9), "sorted(x)")]}
    found = finding(
        row=3, column=4, end=(5, 6), flow=[("u.py", 2, "clock")], help="pin it", fix=fix, url="https://x.test/CSF101"
    )
    assert json.loads(written("json", found)) == [
        {
            "code": "CSF101",
            "name": "clock-in-prefix",
            "message": "the clock reaches the system message",
            "severity": "error",
            "confidence": "high",
            "filename": "app/agent.py",
            "location": {"row": 3, "column": 4},
            "end_location": {"row": 5, "column": 6},
            "flow": [{"filename": "u.py", "row": 2, "message": "clock"}],
            "fix": fix,
            "fingerprint": "0123456789abcdef",
            "help": "pin it",
            "url": "https://x.test/CSF101",
        }
    ]


@pytest.mark.parametrize("output_format", ["json", "gitlab"])
def test_nothing_found_is_an_empty_list(output_format: str) -> None:
    assert json.loads(written(output_format)) == []


@settings(deadline=None)
@given(any_text, any_text)
def test_json_gives_every_text_back(message: str, filename: str) -> None:
    [entry] = json.loads(written("json", finding(message=message, filename=filename)))
    assert (entry["message"], entry["filename"]) == (message, filename)


def test_gitlab_report() -> None:
    found = finding("CSF106", "host name", "note", row=7, column=2, end=(9, 1))
    assert json.loads(written("gitlab", found)) == [
        {
            "description": "CSF106 host name",
            "check_name": "CSF106",
            "fingerprint": "0123456789abcdef",
            "severity": "info",
            "location": {"path": "app/agent.py", "lines": {"begin": 7, "end": 9}},
        }
    ]


@pytest.mark.parametrize(("severity", "expected"), [("error", "major"), ("warning", "minor"), ("note", "info")])
def test_gitlab_severities(severity: str, expected: str) -> None:
    assert json.loads(written("gitlab", finding(severity=severity)))[0]["severity"] == expected


@settings(deadline=None)
@given(st.lists(any_finding(), max_size=5), st.integers(1, 3))
def test_gitlab_fingerprints_are_unique_and_the_same_each_time(findings: list[Finding], times: int) -> None:
    text = written("gitlab", *findings * times)
    marks = [entry["fingerprint"] for entry in json.loads(text)]
    assert len(set(marks)) == len(findings) * times
    assert text == written("gitlab", *findings * times)
