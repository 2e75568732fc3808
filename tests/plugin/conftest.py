"""A tiny project to run pytest in, with our plugin and no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_modules import load_own_modules

load_own_modules()

# Rendered prompts need no front end: these tests are about the plugin.
PROMPTS = """
from pytest_cachesafe import assert_prefix_stable
from pytest_cachesafe.prompt import Prompt, Segment


def prompts(*texts):
    def made(text):
        return Prompt(text, front_end="plain text", segments=[Segment(0, len(text), "message", "data", "messages[0]")])

    return [made(text) for text in texts]


STABLE = prompts("one two three four. ", "one two three four. five", "one two three four. five six")
BROKEN = prompts("You are helpful. At 10:41 now. Hi there.", "You are helpful. At 10:42 now. Hi there. And more.")
"""


class Project:
    """Files to run and a runner."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path: Path = pytester.path
        (self.path / "shared_prompts.py").write_text(PROMPTS, encoding="utf-8")
        pytester.syspathinsert()

    def test(self, body: str, name: str = "test_it.py") -> Path:
        """Write a test module; `prompts`, `STABLE`, `BROKEN` and `assert_prefix_stable` are at hand."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"import pytest\nfrom shared_prompts import *\n\n{body}\n", encoding="utf-8")
        return path

    def ini(self, *lines: str) -> None:
        """Write pytest.ini."""
        (self.path / "pytest.ini").write_text("[pytest]\n" + "\n".join(lines) + "\n", encoding="utf-8")

    def run(self, *args: str | Path) -> pytest.RunResult:
        """Run pytest in this process."""
        return self.pytester.runpytest_inprocess("-p", "pytest_cachesafe.plugin", *args)

    def run_apart(self, *args: str | Path) -> pytest.RunResult:
        """Run pytest in a process of its own."""
        return self.pytester.runpytest_subprocess("-p", "pytest_cachesafe.plugin", *args, timeout=120)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with autoloading off, as on no developer's machine in particular."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", str(root))
    for name in ("PYTEST_ADDOPTS", "CI", "BUILD_NUMBER", "CACHESAFE_ALLOW_DOWNLOAD", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    return Project(pytester)
