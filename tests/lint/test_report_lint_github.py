"""Workflow commands for GitHub Actions, read back by a decoder of its own."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_findings import any_finding, finding

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.lint.result import LintResult
from pytest_cachesafe.report.lint import render
from pytest_cachesafe.report.visible import visible

_DATA = {"%25": "%", "%0D": "\r", "%0A": "\n"}
_PROPERTY = {**_DATA, "%3A": ":", "%2C": ","}


def written(*findings: Finding) -> str:
    return render("github", LintResult(list(findings)), sources=lambda name: None)


def decode(line: str) -> tuple[str, dict[str, str], str]:
    """A command as a runner reads it: name, properties, message."""
    assert line.startswith("::")
    header, _, data = line[2:].partition("::")
    name, _, listed = header.partition(" ")
    properties = {}
    for part in listed.split(","):
        key, equals, value = part.partition("=")
        assert equals
        assert key not in properties
        properties[key] = _undo(value, _PROPERTY)
    return name, properties, _undo(data, _DATA)


def _undo(text: str, table: dict[str, str]) -> str:
    return re.sub("|".join(table), lambda found: table[found[0]], text)


def test_an_annotation() -> None:
    assert written(finding(row=3, column=4, end=(5, 6), help="pin: 50%")) == (
        "::error file=app/agent.py,line=3,col=4,endLine=5,endColumn=6,title=cachesafe CSF101 (clock-in-prefix)"
        "::app/agent.py:3:4: CSF101 the clock reaches the system message [clock-in-prefix]%0Apin: 50%25\n"
    )


@pytest.mark.parametrize(("severity", "command"), [("error", "error"), ("warning", "warning"), ("note", "notice")])
def test_levels(severity: str, command: str) -> None:
    assert decode(written(finding(severity=severity)))[0] == command


def test_properties_keep_what_would_end_them() -> None:
    _, properties, _ = decode(written(finding(filename="a,line=9::b%2C.py")))
    assert properties["file"] == "a,line=9::b%2C.py"
    assert properties["line"] == "1"


@settings(deadline=None)
@given(st.lists(any_finding(), max_size=4))
def test_every_line_is_one_command_and_reads_back(findings: list[Finding]) -> None:
    text = written(*findings)
    assert text.count("\n") == len(findings) == len(text.splitlines())
    for line, found in zip(text.splitlines(), findings, strict=True):
        name, properties, message = decode(line)
        assert name in {"error", "warning", "notice"}
        assert list(properties) == ["file", "line", "col", "endLine", "endColumn", "title"]
        assert properties["file"] == visible(found.location.filename or "")
        assert properties["line"] == str(found.location.row or 1)
        # The message stands behind other text, so a command at its start is none.
        assert f" {found.code} {visible(f'.{found.message}')[1:]} [" in message
        assert visible(found.help or "", keep_newlines=True) in message
