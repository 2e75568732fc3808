"""SARIF 2.1.0 (OASIS Standard with Errata 01, 28 August 2023): one run, the rules that fired, one result a finding.

Paths are relative to the project root, which a consumer substitutes for the base `%SRCROOT%`. The fingerprint stands
under a key of its own: GitHub's upload action computes `primaryLocationLineHash` itself and warns where it finds
another value there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from pytest_cachesafe.findings import Finding, Flow
from pytest_cachesafe.lint.result import LintResult, Sources
from pytest_cachesafe.report.lint.encode import json_text, prose
from pytest_cachesafe.report.lint.place import Edit, Place, confidence_of, edits_of, name_of, place_of
from pytest_cachesafe.report.visible import visible

if TYPE_CHECKING:
    from cachesafe_rules.api import Rule

__all__ = ["SCHEMA_URI", "Page", "log", "page_of", "render"]

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_FINGERPRINT = "cachesafe/v1"
_DRIVE = re.compile(r"[A-Za-z]:/")
_URL = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]+")
# GitHub's words for the severity of what is no security problem.
_PROBLEM = {"error": "error", "warning": "warning", "note": "recommendation"}
_PLACEHOLDER = re.compile(r"\{(\d+)\}")
_LINK = re.compile(r"\]\(")


class Page(NamedTuple):
    """What a rule says of itself: one sentence, the whole, and how bad what it finds is."""

    summary: str
    text: str
    severity: str


def render(result: LintResult, *, sources: Sources, rules: Iterable[Rule] = ()) -> str:
    """One SARIF log. `rules` that did not fire are left out; a rule that fired and is not given has its name alone."""
    return log(result, {rule.code: page_of(rule) for rule in rules})


def log(result: LintResult, pages: Mapping[str, Page]) -> str:
    """One SARIF log of findings of any origin; `pages` by code."""
    fired: dict[str, Finding] = {}
    for finding in result.findings:
        fired.setdefault(finding.code, finding)
    codes = sorted(fired)
    index = {code: number for number, code in enumerate(codes)}
    from pytest_cachesafe import __version__

    run = {
        "tool": {
            "driver": {
                "name": "cachesafe",
                "version": __version__,
                "rules": [_rule(fired[code], pages.get(code)) for code in codes],
            }
        },
        "invocations": [_invocation(result)],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The project root."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, index[finding.code]) for finding in result.findings],
    }
    return json_text({"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]})


def _rule(finding: Finding, known: Page | None) -> dict[str, Any]:
    summary, page, severity = known if known is not None else Page("", "", str(finding.severity))
    name = name_of(finding)
    described: dict[str, Any] = {
        "id": finding.code,
        "name": visible(name),
        "shortDescription": {"text": _text(summary or name)},
        "fullDescription": {"text": _text(page or summary or name)},
        "help": {"text": _text(page or f"cachesafe rule {finding.code}")},
        "defaultConfiguration": {"level": severity},
        "properties": {"tags": ["prompt-caching"], "problem.severity": _PROBLEM.get(severity, severity)},
    }
    url = finding.data.get("url")
    if isinstance(url, str) and _URL.fullmatch(url):
        described["helpUri"] = url
    return described


def page_of(rule: Rule) -> Page:
    """The first paragraph and the whole of a rule's docstring, without its indentation."""
    doc = type(rule).__doc__
    if not doc:
        return Page("", "", rule.severity)
    from textwrap import dedent

    first, _, rest = doc.strip().partition("\n")
    page = f"{first}\n{dedent(rest)}".strip()
    return Page(" ".join(page.partition("\n\n")[0].split()), page, rule.severity)


def _invocation(result: LintResult) -> dict[str, Any]:
    notes = [{"level": "error", "message": {"text": _text(words)}} for words in result.faults]
    notes += [{"level": "warning", "message": {"text": _text(words)}} for words in result.warnings]
    return {"executionSuccessful": not result.faults, "toolExecutionNotifications": notes}


def _result(finding: Finding, rule_index: int) -> dict[str, Any]:
    place = place_of(finding)
    entry: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": str(finding.severity),
        "message": {"text": _text(f"{finding.message}\n{finding.help}" if finding.help else finding.message)},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(place.filename), "region": _region(place)}}],
        "properties": {"confidence": visible(confidence_of(finding))},
    }
    fingerprint = finding.data.get("fingerprint")
    if fingerprint:
        entry["partialFingerprints"] = {_FINGERPRINT: str(fingerprint)}
    if finding.flow:
        entry["codeFlows"] = [{"threadFlows": [{"locations": [_step(step) for step in finding.flow]}]}]
    edits = edits_of(finding)
    if edits:
        entry["fixes"] = [
            {
                "description": {"text": _text(str(finding.data["fix"].get("message") or finding.message))},
                "artifactChanges": [
                    {
                        "artifactLocation": _artifact(place.filename),
                        "replacements": [
                            {"deletedRegion": _region(edit), "insertedContent": {"text": edit.content}}
                            for edit in edits
                        ],
                    }
                ],
            }
        ]
    return entry


def _step(step: Flow) -> dict[str, Any]:
    physical = {"artifactLocation": _artifact(step.filename), "region": {"startLine": max(step.row, 1)}}
    return {"location": {"physicalLocation": physical, "message": {"text": _text(step.message)}}}


def _region(place: Place | Edit) -> dict[str, int]:
    return {
        "startLine": place.row,
        "startColumn": place.column,
        "endLine": place.end_row,
        "endColumn": place.end_column,
    }


def _artifact(filename: str) -> dict[str, str]:
    """A file as SARIF names it: percent-encoded, and relative to the root unless its path is absolute."""
    if filename.startswith("/") or _DRIVE.match(filename):
        return {"uri": f"file:///{_encoded(filename.lstrip('/'))}"}
    return {"uri": _encoded(filename), "uriBaseId": _ROOT}


def _encoded(path: str) -> str:
    try:
        # A name that is no UTF-8 on disk reaches Python as surrogates that stand for its bytes.
        data = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = path.encode("utf-8", "surrogatepass")
    return quote(data, safe="/")


def _text(text: str) -> str:
    """Plain text as SARIF has it: no placeholder ("{0}") and no link ("[x](y)") may arise from what is quoted."""
    return _LINK.sub("] (", _PLACEHOLDER.sub(r"{{\1}}", prose(text)))
