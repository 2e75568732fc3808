"""A run for GitHub Actions: one command a line at the user's source, and the summary of the job."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

import pytest
from hostile_text import PAYLOADS, any_payload
from hypothesis import given, settings
from hypothesis import strategies as st
from report_runs import any_run, many

from pytest_cachesafe.gate.scenario import Regression, Run, Scenario
from pytest_cachesafe.report.markdown import SUMMARY_LIMIT
from pytest_cachesafe.report.run_github import MOST, commands, write_summary

_COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")
_KEYS = ["file", "line", "col", "endLine", "endColumn", "title"]


def undo(text: str) -> str:
    """What the runner makes of an escaped text."""
    table = {"%25": "%", "%0A": "\n", "%0D": "\r", "%3A": ":", "%2C": ","}
    return re.sub("|".join(table), lambda found: table[found[0]], text)


def read(line: str) -> tuple[str, dict[str, str], str]:
    match = _COMMAND.fullmatch(line)
    assert match, line
    properties = dict(part.split("=", 1) for part in match[2].split(","))
    assert list(properties) == _KEYS
    return match[1], {key: undo(value) for key, value in properties.items()}, undo(match[3])


def failed(test: str = "test_a.py::test_it", built: str | None = "agent.py:7, clock()", line: int = 12) -> Scenario:
    divergence = {
        "location": {"part": "system", "message_index": None, "role": None}, "cause": "timestamp",
        "origin": "application", "severity": "error", "lost_tokens": 60, "built": built,
    }  # fmt: skip
    data = {"steps": [{"request": 1, "against": 0, "tokens": 100, "divergence": divergence}]}
    return Scenario(test, "stable", "stable", False, data, f"test_a.py:{line}", "prompt prefix is not stable: 50% lost")


def test_the_line_that_built_the_text_and_the_line_of_the_check(tmp_path: Path) -> None:
    (tmp_path / ".git").touch()
    built, check = (read(line) for line in commands(Run([failed()]), str(tmp_path)))
    assert (built[0], built[1]["file"], built[1]["line"]) == ("error", "agent.py", "7")
    assert built[1]["title"] == "cachesafe prefix-timestamp (prompt-prefix)"
    assert "a time of day changed in the system text" in built[2]
    assert "newest user message" in built[2]
    assert (check[0], check[1]["file"], check[1]["line"]) == ("error", "test_a.py", "12")
    assert "prompt prefix is not stable: 50% lost" in check[2]


def test_the_same_place_is_told_once(tmp_path: Path) -> None:
    (tmp_path / ".git").touch()
    [only] = commands(Run([failed(built=None)]), str(tmp_path))
    assert read(only)[1]["line"] == "12"


def test_regressions_are_errors_and_in_informational_mode_warnings(tmp_path: Path) -> None:
    (tmp_path / ".git").touch()
    passed = Scenario("test_a.py::test_it", "stable", "stable", True, {}, "test_a.py:12", "stable")
    worse = [Regression("test_a.py::test_it", "stable", f"cache regression {i}", i == 0) for i in range(2)]
    found = [read(line) for line in commands(Run([passed], worse[:1]), str(tmp_path))]
    found += [read(line) for line in commands(Run([passed], worse[1:]), str(tmp_path))]
    assert [(level, properties["line"]) for level, properties, _ in found] == [("error", "12"), ("warning", "12")]
    assert "cache regression 0" in found[0][2]


def test_a_clean_run_says_nothing() -> None:
    assert commands(Run([Scenario("t", "n", "stable", True, {})]), "/nowhere") == []


def test_no_more_than_github_shows(tmp_path: Path) -> None:
    (tmp_path / ".git").touch()
    run = Run([failed(f"test_a.py::test_{i}", f"agent.py:{i + 1}, clock()", i + 1) for i in range(30)])
    lines = commands(run, str(tmp_path))
    assert [read(line)[1]["file"] for line in lines[:MOST]] == ["agent.py"] * MOST
    assert lines[MOST:] == ["cachesafe: 50 more errors, GitHub shows 10 a step: see the job summary"]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_make_no_command(payload: str) -> None:
    for line in commands(any_run(lambda: payload), "/nowhere"):
        assert line.isprintable()
        if line.startswith("::"):
            read(line)
        else:
            assert line.startswith("cachesafe: ")
        assert not re.search(r"##(vso|teamcity)?\[", line, re.IGNORECASE)


@settings(deadline=None, max_examples=60)
@given(st.lists(any_payload, min_size=1, max_size=4))
def test_every_line_is_one_command(texts: list[str]) -> None:
    number = count()
    for line in commands(any_run(lambda: texts[next(number) % len(texts)]), "/nowhere"):
        assert len(line.splitlines()) == 1
        if line.startswith("::"):
            read(line)


def test_the_summary_is_appended(tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    page.write_text("# mine, without a line end")
    assert write_summary(Run([failed()]), {"GITHUB_STEP_SUMMARY": str(page)}) is None
    assert page.read_text().startswith("# mine, without a line end\n\n## cachesafe: 1 of 1 check failed\n")


def test_a_new_summary_begins_with_it(tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    assert write_summary(Run([failed()]), {"GITHUB_STEP_SUMMARY": str(page)}) is None
    assert page.read_text().startswith("## cachesafe")


def test_without_the_variable_nothing_is_written() -> None:
    assert write_summary(Run([failed()]), {}) is None


@pytest.mark.parametrize("before", [0, 900_000])
def test_the_summary_stays_under_the_limit_of_the_step(tmp_path: Path, before: int) -> None:
    page = tmp_path / "summary.md"
    page.write_bytes(b"x" * before)
    assert write_summary(many(600), {"GITHUB_STEP_SUMMARY": str(page)}) is None
    assert before + 50_000 < page.stat().st_size <= SUMMARY_LIMIT
    assert "left out" in page.read_text()[-300:]


def test_a_full_summary_is_left_alone_and_said(tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    page.write_bytes(b"x" * SUMMARY_LIMIT)
    assert "summary is full" in str(write_summary(Run([failed()]), {"GITHUB_STEP_SUMMARY": str(page)}))
    assert page.stat().st_size == SUMMARY_LIMIT


def test_a_summary_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    said = write_summary(Run([failed()]), {"GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert said == "cachesafe: GITHUB_STEP_SUMMARY cannot be written: Is a directory"
