"""No format obeys or passes on what is in a name, a message or the source."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_findings import HOSTILE, any_finding, any_text, edit, finding

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.lint.result import LintResult
from pytest_cachesafe.report.lint import FORMATS, render

_COMMAND = re.compile(r"##(\[|vso\[|teamcity\[)", re.IGNORECASE)
_TEXTS = ("concise", "full")


def assert_harmless(output_format: str, text: str, commands: int) -> None:
    text.encode("utf-8")
    assert not _COMMAND.search(text)
    assert all(character == "\n" or character.isprintable() for character in text)
    starts = [line for line in re.split(r"[\n\r\x0b\x0c\x85\u2028]", text) if line.lstrip().startswith("::")]
    assert len(starts) == (commands if output_format == "github" else 0)
    if output_format not in (*_TEXTS, "github"):
        assert "<script" not in text


@pytest.mark.parametrize(("output_format", "nasty"), list(product(FORMATS, HOSTILE)))
def test_hostile_text_in_every_place(output_format: str, nasty: str) -> None:
    found = finding(
        message=nasty,
        filename=nasty,
        flow=[(nasty, 1, nasty)],
        help=nasty,
        name=nasty,
        confidence=nasty,
        fingerprint=nasty,
        url=nasty,
        fix={"message": nasty, "applicability": "safe", "edits": [edit((1, 1), (1, 2), nasty)]},
    )
    result = LintResult([found, found], warnings=[nasty], crashed=[nasty])
    assert_harmless(output_format, render(output_format, result, sources=lambda name: [nasty, nasty]), 2)


@settings(deadline=None)
@given(st.sampled_from(FORMATS), st.lists(any_finding(), max_size=3), st.lists(any_text, max_size=4))
def test_no_text_crashes_or_commands(output_format: str, findings: list[Finding], lines: list[str]) -> None:
    text = render(output_format, LintResult(findings), sources=lambda name: lines)
    assert_harmless(output_format, text, len(findings))
    assert text == "" or text.endswith("\n")


def test_a_clean_run_imports_no_writer() -> None:
    code = (
        "import sys; from pytest_cachesafe.lint.result import LintResult as R;"
        "from pytest_cachesafe.report.lint import render;"
        "from pytest_cachesafe.report.lint.summary import summary_line;"
        "print(render('full', R(), sources=None), summary_line(R()));"
        "print([m for m in sys.modules if m.endswith(('.visible', '.findings', '.place', '.full')) or m == 'hashlib'])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["no", "findings", "in", "0", "files", "[]"]


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(KeyError, match="xml"):
        render("xml", LintResult(), sources=lambda name: None)
