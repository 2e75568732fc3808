"""All reports of one real run, and the schemas that the JSON ones are held against."""

from __future__ import annotations

import json
import os
import re
import sys
from copy import deepcopy
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hostile_text import PAYLOADS, any_payload
from hypothesis import given, settings
from hypothesis import strategies as st
from report_project import BEFORE, FILES
from report_runs import any_run

from pytest_cachesafe.gate.located import plain
from pytest_cachesafe.gate.scenario import Run
from pytest_cachesafe.report.lint.encode import json_text

# Loaded before any test: it can be loaded once a process only, and runs inside tests take their modules away again.
pytest.importorskip("numpy", reason="pip install numpy")

_SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"
_CLOCK = re.compile(r"09:4\d:00|41:00")


@cache
def validator(name: str) -> Any:
    """A validator for one of the published schemas."""
    jsonschema = pytest.importorskip("jsonschema", reason="pip install jsonschema")
    from referencing import Registry, Resource

    schemas = [json.loads(path.read_text()) for path in _SCHEMAS.glob("*.schema.json")]
    registry = Registry().with_resources([(schema["$id"], Resource.from_contents(schema)) for schema in schemas])
    [schema] = [schema for schema in schemas if schema["$id"].split(":")[-2] == name]
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, registry=registry)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project in which there is something of everything, with the lock file of the day before."""
    for name in ("CI", "TF_BUILD", "BUILD_NUMBER", "GITHUB_BASE_REF", "GITHUB_STEP_SUMMARY", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name, text in {**FILES, **BEFORE}.items():
        (pytester.path / name).write_text(text)
    started(pytester, "--cachesafe-update")
    for name, text in FILES.items():
        (pytester.path / name).write_text(text)
    return pytester


def started(project: pytest.Pytester, *flags: str) -> Any:
    return project.runpytest_inprocess("-p", "pytest_cachesafe.plugin", "-p", "no:randomly", *flags)


def test_one_run_in_every_format(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    page = project.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    result = started(project, "--cachesafe-lint", "--cachesafe-report=json,markdown,sarif,github")
    assert result.ret == 1
    saved = json.loads((project.path / "cachesafe-report.json").read_text())
    validator("run").validate(saved)
    assert {scenario["kind"] for scenario in saved["scenarios"]} == {"stable", "reuse", "provider", "collisions"}
    assert saved["regressions"]
    assert saved["lint"]
    for line in (project.path / "cachesafe.lock.jsonl").read_text().splitlines():
        validator("lock-entry").validate(json.loads(line))
    markdown = (project.path / "cachesafe-report.md").read_text()
    row = next(
        line for line in markdown.splitlines() if "❌" in line and "`test_desk.py::test_desk_with_a_clock`" in line
    )
    assert "`timestamp (application)`" in row
    assert "`desk.py:" in row
    assert page.read_text().split("\n", 1)[0] == markdown.split("\n", 1)[0]
    log = json.loads((project.path / "cachesafe-report.sarif").read_text())
    found = {entry["ruleId"] for entry in log["runs"][0]["results"]}
    assert {"prefix-timestamp", "cache-regression", "semantic-collision"} <= found
    assert any(code.startswith("CSF") for code in found)
    lines = [line for line in result.outlines if line.startswith("::")]
    assert any(line.startswith("::error file=desk.py,line=") and "prefix-timestamp" in line for line in lines)
    assert all(line.startswith(("::error file=", "::warning file=", "::notice file=")) for line in lines)


def test_workers_and_random_order_write_the_same_bytes(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xdist", reason="pip install pytest-xdist")
    pytest.importorskip("pytest_randomly", reason="pip install pytest-randomly")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    wanted = "--cachesafe-report=json,markdown,sarif"
    files = [project.path / f"cachesafe-report.{ending}" for ending in ("json", "md", "sarif")]
    assert started(project, wanted).ret == 1
    alone = [file.read_bytes() for file in files]
    flags = ("-p", "pytest_cachesafe.plugin", "-p", "xdist", "-p", "randomly", "-n", "2")
    assert project.runpytest_subprocess(*flags, wanted).ret == 1
    assert [file.read_bytes() for file in files] == alone


@pytest.mark.parametrize("mode", ["text", "hash"])
def test_redaction_holds_for_every_format(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    page = project.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    wanted = "--cachesafe-report=json,markdown,sarif,github,html"
    result = started(project, wanted, f"--cachesafe-redact={mode}", "--junitxml=junit.xml", "--tb=short")
    files = [f"cachesafe-report.{ending}" for ending in ("json", "md", "sarif", "html")]
    texts = [(project.path / name).read_text() for name in (*files, "summary.md", "junit.xml")]
    texts.append("\n".join(line for line in result.outlines if line.startswith("::")))
    assert "cachesafe-report.html" in result.stdout.str()
    for text in texts:
        assert len(text) > 100
        for secret in ("Northwind", "Answer from the manual", "monthly plan", "order A-1001", "within 14 days"):
            assert secret not in text
        assert not _CLOCK.search(text)
    assert f"[{len('What does the monthly plan cost?')} characters" in texts[0]
    assert ("characters, sha256" in texts[0]) == (mode == "hash")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_are_harmless_in_json(payload: str) -> None:
    run = any_run(lambda: plain(payload))
    text = json_text(run.as_dict())
    assert text.isascii()
    assert not re.search(r"<|##(vso|teamcity)?\[", text, re.IGNORECASE)
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    saved = json.loads(text)
    validator("run").validate(saved)
    assert saved["scenarios"][0]["headline"] == plain(payload)


@settings(deadline=None, max_examples=40)
@given(st.lists(any_payload, min_size=1, max_size=4))
def test_any_text_keeps_the_schema(texts: list[str]) -> None:
    number = count()
    run = any_run(lambda: plain(texts[next(number) % len(texts)]))
    validator("run").validate(json.loads(json_text(run.as_dict())))


def _without(values: dict[str, Any], *keys: Any) -> dict[str, Any]:
    values = deepcopy(values)
    inner: Any = values
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    return values


@pytest.mark.parametrize(
    "keys",
    [
        ("schema",), ("redact",), ("scenarios", 0, "test"), ("scenarios", 0, "data", "steps"),
        ("scenarios", 0, "data", "steps", 0, "tokens"), ("scenarios", 0, "data", "steps", 0, "divergence", "cause"),
        ("scenarios", 2, "data", "engine"), ("scenarios", 3, "data", "findings", 0, "code"),
        ("regressions", 0, "failed"), ("lint", 0, "location", "row"),
    ],
)  # fmt: skip
def test_the_schema_refuses_what_misses_a_key(keys: tuple[Any, ...]) -> None:
    values = any_run(lambda: "x").as_dict()
    assert validator("run").is_valid(values)
    assert not validator("run").is_valid(_without(values, *keys))


def test_the_schema_refuses_another_version_and_unknown_kinds() -> None:
    values = any_run(lambda: "x").as_dict()
    assert not validator("run").is_valid(values | {"schema": 2})
    values["scenarios"][0]["kind"] = "other"
    assert not validator("run").is_valid(values)


def test_an_empty_run_keeps_the_schema() -> None:
    validator("run").validate(json.loads(json_text(Run().as_dict())))
