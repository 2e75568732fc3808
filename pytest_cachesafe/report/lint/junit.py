"""JUnit XML: one suite a file, one test case a finding, so that a CI shows the findings among its tests.

Errors and warnings are failures. Notes are passed tests with output, as they pass the run, unless the run was strict.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.lint.result import LintResult, Sources
from pytest_cachesafe.report.lint.encode import prose
from pytest_cachesafe.report.lint.place import head, name_of, place_of
from pytest_cachesafe.report.visible import visible

if TYPE_CHECKING:
    from cachesafe_rules.api import Rule

__all__ = ["render"]

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;", "\n": "&#10;"}
_ESCAPES = str.maketrans(_ENTITIES)


def render(result: LintResult, *, sources: Sources, rules: Iterable[Rule] = ()) -> str:
    """An XML document; a run without findings has one passed test, since an empty report is an error to many CIs."""
    suites = [
        _suite(filename, [_case(finding, result.strict) for finding in group])
        for filename, group in groupby(result.findings, key=lambda finding: place_of(finding).filename)
    ]
    if result.faults:
        errors = [f'      <error message="{_xml(words)}"/>\n' for words in result.faults]
        start = '    <testcase name="rule" classname="cachesafe">\n'
        suites.append(_suite("cachesafe", [f"{start}{error}    </testcase>\n" for error in errors]))
    elif not suites:
        suites.append(_suite("cachesafe", ['    <testcase name="no findings" classname="cachesafe"/>\n']))
    body = "".join(suites)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuites name="cachesafe lint" {_counts([body])}>\n{body}</testsuites>\n'
    )


def _suite(filename: str, cases: list[str]) -> str:
    return f'  <testsuite name="{_xml(filename)}" {_counts(cases)}>\n{"".join(cases)}  </testsuite>\n'


def _counts(cases: list[str]) -> str:
    # The text is ours and every "<" of the input is an entity by now, so tags can be counted.
    text = "".join(cases)
    return " ".join(
        f'{key}="{text.count(f"<{tag} ")}"'
        for key, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"))
    )


def _case(finding: Finding, strict: bool) -> str:
    place = place_of(finding)
    severity = str(finding.severity)
    body = _xml("\n".join([head(finding), *([finding.help] if finding.help else [])]), lines=True)
    if severity == "note" and not strict:
        inside = f"      <system-out>{body}</system-out>\n"
    else:
        inside = f'      <failure type="{severity}" message="{_xml(finding.message)}">{body}</failure>\n'
    name = f"{finding.code} {name_of(finding)} {place.row}:{place.column}"
    return (
        f'    <testcase name="{_xml(name)}" classname="{_xml(place.filename)}" file="{_xml(place.filename)}"'
        f' line="{place.row}">\n{inside}    </testcase>\n'
    )


def _xml(text: str, *, lines: bool = False) -> str:
    """Text for an attribute, or with `lines` for an element. What XML 1.0 forbids is an escape by then."""
    escaped = (prose(text) if lines else visible(text)).translate(_ESCAPES)
    return escaped.replace("&#10;", "\n") if lines else escaped
