"""A failing test names the line that built what changed, and what the linter says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from own_modules import load_own_modules

load_own_modules()

PROMPTS = """
from datetime import datetime

def now_text():
    return datetime.now().strftime("%H:%M:%S")

def system_prompt():
    return f"You are a support bot. Current time: {now_text()}. Answer from the manual."
"""
TEST = """
from unittest.mock import patch
from pytest_cachesafe import assert_prefix_stable, check_requests
import prompts

def body(turn, at):
    history = [{"role": "user", "content": f"question {i}"} for i in range(turn + 1)]
    with patch.object(prompts, "now_text", lambda: at):
        return {"model": "claude-opus-5", "system": prompts.system_prompt(), "messages": history}

def test_prefix():
    assert_prefix_stable([body(0, "10:41:01"), body(1, "10:41:02")])
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("CI", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root / 'rules'}")
    pytester.makeini("[pytest]\npythonpath = .\n")
    pytester.makepyfile(prompts=PROMPTS, test_it=TEST)
    return pytester


def test_the_failure_names_line_expression_and_rule(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess("-p", "pytest_cachesafe.plugin")
    result.stdout.fnmatch_lines(["*built:  prompts.py:7, now_text() (CSF101: put it into the newest user message*"])


def test_without_a_line_nothing_is_said(project: pytest.Pytester) -> None:
    (project.path / "other.py").write_text('a = f"You are a support bot. Current time: {1}. Answer"\n')
    result = project.runpytest_inprocess("-p", "pytest_cachesafe.plugin")
    assert "built:" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*prompt prefix is not stable*"])
