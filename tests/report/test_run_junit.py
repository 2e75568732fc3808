"""JUnit XML of a run: what checks found is read back as properties, whatever is in the prompts."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hostile_text import PAYLOADS

_TESTS = """
import json
from pathlib import Path
from pytest_cachesafe import assert_prefix_stable

PAYLOADS = json.loads(Path("payloads.json").read_text())

def chat(payload):
    system = "Answer from the manual. " * 20
    return [
        {"model": "claude-opus-5", "max_tokens": 9, "system": f"{payload}{turn}{payload}" + system,
         "messages": [{"role": "user", "content": f"{payload} question"}]}
        for turn in range(2)
    ]

def test_stable():
    assert_prefix_stable([{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}] * n}
                          for n in (1, 2)])
"""
_ONE = """
def test_{i}():
    assert_prefix_stable(chat(PAYLOADS[{i}]), name=f"payload {{PAYLOADS[{i}][:40]}}")
"""


@pytest.fixture(scope="module")
def payloads() -> list[str]:
    """Those that Anthropic's API takes as a text."""
    return [payload[:400] for payload in PAYLOADS if payload.strip()]


def report(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, payloads: list[str], *flags: str) -> ET.Element:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (pytester.path / "payloads.json").write_text(json.dumps(payloads))
    pytester.makepyfile(test_it=_TESTS + "".join(_ONE.format(i=i) for i in range(len(payloads))))
    pytester.makeini("[pytest]\n")
    result = pytester.runpytest_inprocess("-p", "pytest_cachesafe.plugin", "--junitxml=out.xml", *flags)
    result.assert_outcomes(passed=1, failed=len(payloads))
    return ET.fromstring((pytester.path / "out.xml").read_bytes())


def properties(case: ET.Element) -> dict[str, str]:
    return {entry.attrib["name"]: entry.attrib["value"] for entry in case.iter("property")}


def test_properties_are_read_back(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, payloads: list[str]
) -> None:
    root = report(pytester, monkeypatch, payloads)
    cases = {case.attrib["name"]: case for case in root.iter("testcase")}
    assert len(cases) == len(payloads) + 1
    stable = properties(cases["test_stable"])
    assert stable["cachesafe_verdict"] == "stable"
    assert stable["cachesafe_lost_tokens"] == "0"
    for name, case in cases.items():
        if name == "test_stable":
            continue
        found = properties(case)
        assert found["cachesafe_verdict"] == "history"
        assert int(found["cachesafe_lost_tokens"]) > 50
        assert found["cachesafe_origin"] == "application"
        [failure] = case.iter("failure")
        assert "prompt prefix is not stable" in failure.attrib["message"]


def test_nothing_of_the_prompts_is_markup_or_a_command(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, payloads: list[str]
) -> None:
    root = report(pytester, monkeypatch, payloads)
    known = {"testsuites", "testsuite", "testcase", "properties", "property", "failure"}
    assert {element.tag for element in root.iter()} == known
    for failure in root.iter("failure"):
        for text in (failure.attrib["message"], failure.text or ""):
            assert "\x1b" not in text
            assert not any(line.lstrip().startswith("::") for line in text.split("\n"))
            assert not {"\u202e", "\u2066", "\u2028"} & set(text)


@pytest.mark.parametrize("mode", ["text", "hash"])
def test_redaction_holds(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, mode: str, tmp_path: Path) -> None:
    report(pytester, monkeypatch, ["s3cret-words are here "], f"--cachesafe-redact={mode}")
    text = (pytester.path / "out.xml").read_text()
    assert "Answer from the manual" not in text.replace('"Answer from the manual. " * 20', "")
    assert "s3cret-words are here 1" not in text
    assert "s3cret-words are here 0" not in text
    assert "characters" in text
