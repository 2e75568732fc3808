"""Several processes find what one finds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from lint_project import CLOCK, HELPER, PROMPT, write

from cachesafe_rules.clock_in_prefix import ClockInPrefix
from cachesafe_rules.too_many_markers import TooManyMarkers
from pytest_cachesafe.lint.parallel import spread
from pytest_cachesafe.lint.run import lint

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="one process here")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {f"part{i}/prompt{i}.py": PROMPT if i % 3 else CLOCK for i in range(50)}
    return write(tmp_path / "p", {"helper.py": HELPER, **files})


def test_the_same_findings(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = lint([project], cache=False)
    assert len(one.findings) == 50
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path / "cache"))
    assert lint([project], cache=False, jobs=3) == one
    assert lint([project], jobs=3) == one
    assert lint([project]) == one


def test_crashes_of_children_are_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TooManyMarkers, "needles", (b"system",))
    monkeypatch.setattr(TooManyMarkers, "check", lambda *_: 1 / 0)
    one, three = (lint([project], cache=False, jobs=jobs) for jobs in (1, 3))
    assert len(one.crashed) == 50
    assert sorted(three.crashed) == sorted(one.crashed)
    assert three.findings == one.findings
    monkeypatch.setattr(ClockInPrefix, "check", lambda *_: 1 / 0)
    assert len(lint([project], cache=False, jobs=3).crashed) == 100


@pytest.mark.parametrize("jobs", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("count", [0, 1, 31, 32, 100])
def test_every_name_once_and_in_order(jobs: int, count: int) -> None:
    names = [f"n{i}" for i in range(count)]
    results = spread(names, list, jobs)
    assert [name for part in results for name in part] == names
    assert len(results) <= max(jobs, 1)


@pytest.mark.parametrize("end", ["exit", "kill", "no json"])
def test_a_child_that_dies_leaves_its_work_to_the_parent(end: str) -> None:
    parent = os.getpid()

    def work(names: Sequence[str]) -> Any:
        if os.getpid() != parent:
            if end == "no json":
                return {object()}
            os._exit(3) if end == "exit" else os.kill(os.getpid(), 9)
        return list(names)

    names = [str(i) for i in range(64)]
    assert [name for part in spread(names, work, 4) for name in part] == names
