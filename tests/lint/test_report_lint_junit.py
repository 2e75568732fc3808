"""JUnit XML: well formed whatever is in it, with the counts that CIs read."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st
from lint_findings import any_finding, finding

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.lint.result import LintResult
from pytest_cachesafe.report.lint import render


def parsed(result: LintResult) -> ET.Element:
    return ET.fromstring(render("junit", result, sources=lambda name: None).encode())


def test_a_suite_a_file_and_a_case_a_finding() -> None:
    root = parsed(
        LintResult(
            [
                finding(row=2, column=5, help="pin it\nor not"),
                finding("CSF103", "a date", "note", row=9),
                finding("CSF201", "a set", "warning", filename="b.py"),
            ]
        )
    )
    assert root.tag == "testsuites"
    assert {key: root.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "3", "failures": "2", "errors": "0",
    }  # fmt: skip
    first, second = root
    assert (first.get("name"), first.get("tests"), first.get("failures")) == ("app/agent.py", "2", "1")
    assert (second.get("name"), second.get("tests"), second.get("failures")) == ("b.py", "1", "1")
    case = first[0]
    assert case.attrib == {
        "name": "CSF101 clock-in-prefix 2:5", "classname": "app/agent.py", "file": "app/agent.py", "line": "2",
    }  # fmt: skip
    failure = case[0]
    assert failure.attrib == {"type": "error", "message": "the clock reaches the system message"}
    assert failure.text == (
        "app/agent.py:2:5: CSF101 the clock reaches the system message [clock-in-prefix]\npin it\nor not"
    )


def test_notes_pass_unless_the_run_is_strict() -> None:
    note = finding(severity="note")
    assert parsed(LintResult([note]))[0][0][0].tag == "system-out"
    assert parsed(LintResult([note], strict=True))[0][0][0].tag == "failure"


def test_nothing_found_is_one_passed_test() -> None:
    root = parsed(LintResult())
    assert (root.get("tests"), root.get("failures")) == ("1", "0")
    assert len(root[0][0]) == 0


def test_a_crashed_rule_is_an_error() -> None:
    root = parsed(LintResult([finding()], crashed=["CSF999 failed on a.py: KeyError <x>"]))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "1", "1")
    assert root[1][0][0].attrib == {"message": "CSF999 failed on a.py: KeyError <x>"}


@settings(deadline=None)
@given(st.lists(any_finding(), max_size=4), st.lists(st.text(st.characters()), max_size=2), st.booleans())
def test_any_text_gives_a_document_with_right_counts(findings: list[Finding], crashed: list[str], strict: bool) -> None:
    root = parsed(LintResult(findings, crashed=crashed, strict=strict))
    assert {element.tag for element in root.iter()} <= {
        "testsuites", "testsuite", "testcase", "failure", "error", "system-out",
    }  # fmt: skip
    for holder in (root, *root):
        assert int(holder.attrib["tests"]) == len(list(holder.iter("testcase")))
        assert int(holder.attrib["failures"]) == len(list(holder.iter("failure")))
        assert int(holder.attrib["errors"]) == len(list(holder.iter("error")))
    assert len(list(root.iter("testcase"))) == max(len(findings) + len(crashed), 1)
