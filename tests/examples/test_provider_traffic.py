"""The example with a real SDK: clean it passes, broken it fails with its place, and recorded it is judged the same."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("anthropic", reason="needs the anthropic SDK: pip install 'pytest-cachesafe[providers]'")

Run = Callable[..., "subprocess.CompletedProcess[str]"]
PYTEST = ("-m", "pytest", "-p", "pytest_cachesafe.plugin", "-p", "no:cacheprovider", "--color=no")


@pytest.fixture
def folder(project_copy: Path) -> Path:
    return project_copy / "examples" / "provider_traffic"


def test_it_passes_without_a_key(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    done = run(folder, *PYTEST)
    assert done.returncode == 0, done.stdout
    assert " 5 passed" in done.stdout


def test_each_broken_version_is_named(folder: Path, run: Run) -> None:
    done = run(folder, *PYTEST, "-vv", "broken")
    assert " 3 failed" in done.stdout, done.stdout
    assert (
        "marker-on-changing-block: request 1 does not continue request 0: a time of day changed at system[0]"
        in done.stdout
    )
    assert "before.py:16, datetime.now()" in done.stdout
    assert "history-cut: request 3 does not continue request 2: the oldest messages were cut off" in done.stdout
    assert "too-many-markers: request 2 is refused at cache_control: 5 markers, at most 4 are taken" in done.stdout


def test_observed_without_a_fixture(folder: Path, run: Run) -> None:
    test = folder / "broken" / "test_before.py"
    text = test.read_text(encoding="utf-8")
    test.write_text(text.replace("    llm_traffic.assert_cache_safe()\n", ""), encoding="utf-8")
    done = run(folder, *PYTEST, "broken", "--cachesafe-observe")
    assert done.returncode == 0, done.stdout
    assert "3 conversations lose their prefix:" in done.stdout


@pytest.mark.parametrize(("name", "status"), [("clean", 0), ("clock", 1)])
def test_the_recorded_conversations(name: str, status: int, folder: Path, run: Run) -> None:
    done = run(folder, "-m", "pytest_cachesafe", "check", f"recorded/{name}.jsonl")
    assert done.returncode == status, done.stdout


def test_the_linter_finds_it_in_source(folder: Path, run: Run) -> None:
    done = run(folder, "-m", "pytest_cachesafe", "lint", ".", "--no-cache")
    assert done.returncode == 1
    assert "CSF101 datetime.now() changes with every call and reaches the argument system of the request" in done.stdout
    mended = run(folder, "-m", "pytest_cachesafe", "lint", "help_desk.py", "--no-cache", "--select", "CSF4")
    assert mended.returncode == 0, mended.stdout
