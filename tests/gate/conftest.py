"""A small project with a lock file, for the tests of the gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

LOCK = "cachesafe.lock.jsonl"
AGENT = """
SYSTEM = "You are a support bot. " + "Answer from the manual. " * 20

def chat(turns, system=None):
    bodies, history = [], []
    for turn in range(turns):
        history = history + [{"role": "user", "content": f"question {turn}, please " * 8}]
        text = system(turn) if system else SYSTEM
        bodies.append({"model": "claude-opus-5", "system": text, "messages": history})
        history = history + [{"role": "assistant", "content": f"answer {turn}"}]
    return bodies

def clocked(turn):
    return f"It is 10:0{turn}:00. " + SYSTEM
"""
_CI = (
    "CI", "TF_BUILD", "BUILD_NUMBER", "GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
    "BITBUCKET_PR_DESTINATION_BRANCH", "CHANGE_TARGET", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS", "GIT_DIR",
)  # fmt: skip


class Gated:
    """The project: files, runs, and its lock file."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.lock_path = self.path / LOCK

    @property
    def lock(self) -> str:
        """What the lock file holds."""
        return self.lock_path.read_text(encoding="utf-8")

    def file(self, name: str, body: str) -> None:
        """A test file that has the agent and the assertion at hand."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        head = "from agent import SYSTEM, chat, clocked\nimport pytest\nfrom pytest_cachesafe import *\n\n"
        path.write_text(head + body, encoding="utf-8")

    def run(self, *flags: str, ok: int = 0, apart: bool = False) -> Any:
        """One pytest run; `apart` in a process of its own."""
        start = self.pytester.runpytest_subprocess if apart or "-n" in flags else self.pytester.runpytest_inprocess
        result = start("-p", "pytest_cachesafe.plugin", *flags)
        assert result.ret == ok, result.stdout.str() + result.stderr.str()
        return result

    def says(self, *flags: str, ok: int = 0) -> str:
        """The output of one run."""
        result = self.run(*flags, ok=ok)
        return str(result.stdout.str() + result.stderr.str())


@pytest.fixture
def gated(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Gated:
    """A project without tests, outside a CI."""
    for name in _CI:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root / 'rules'}")
    pytester.makepyfile(agent=AGENT)
    pytester.makeini("[pytest]\npythonpath = .\n")
    return Gated(pytester)
