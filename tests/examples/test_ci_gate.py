"""The example of the gate: its lock file is what a run writes, a worse version fails, its CI files name what exists."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[2]
PYTEST = ("-m", "pytest", "-p", "pytest_cachesafe.plugin", "-p", "no:cacheprovider", "--color=no")
LOCK = "cachesafe.lock.jsonl"


def test_it_passes_in_a_ci_and_its_lock_file_is_up_to_date(project_copy: Path, run: Run) -> None:
    folder = project_copy / "examples" / "ci_gate"
    done = run(folder, *PYTEST, CI="true")
    assert done.returncode == 0, done.stdout
    assert " 3 passed" in done.stdout
    again = run(folder, *PYTEST, "--cachesafe-update", CI="false")
    assert f"{LOCK} is up to date (3 entries)" in again.stdout


def test_the_earlier_version_fails_and_can_be_accepted(project_copy: Path, run: Run) -> None:
    folder = project_copy / "examples" / "ci_gate"
    worse = run(folder, *PYTEST, "-o", "pythonpath=before", CI="true")
    assert worse.returncode == 1
    assert "cache regression in six logs: about 567 tokens more of the prefix lost" in worse.stdout
    told = run(folder, *PYTEST, "-o", "pythonpath=before", "--cachesafe-informational", CI="true")
    assert told.returncode == 0
    assert "cache regression in six logs" in told.stdout
    assert "1 changed" in run(folder, *PYTEST, "-o", "pythonpath=before", "--cachesafe-update", CI="false").stdout
    assert run(folder, *PYTEST, "-o", "pythonpath=before", CI="true").returncode == 0


def test_the_budget_holds_without_a_lock_file(project_copy: Path, run: Run) -> None:
    folder = project_copy / "examples" / "ci_gate"
    (folder / LOCK).unlink()
    test = folder / "tests" / "test_triage.py"
    text = test.read_text(encoding="utf-8")
    test.write_text(
        text.replace("list(play(Triage()))[:4], ", "list(play(Triage())), accept=[CUT], "), encoding="utf-8"
    )
    done = run(folder, *PYTEST, CI="false")
    assert done.returncode == 1
    assert "budget missed: about 4,684 of 5,305 tokens of the prefix are stable (88.3%)" in done.stdout


def test_an_unknown_lock_file_line_is_named(project_copy: Path, run: Run) -> None:
    folder = project_copy / "examples" / "ci_gate"
    lock = folder / LOCK
    lock.write_text("<<<<<<< ours\n" + lock.read_text(encoding="utf-8"), encoding="utf-8")
    done = run(folder, *PYTEST, CI="true")
    assert done.returncode != 0
    assert f"{LOCK}:1: a conflict marker of a merge" in done.stdout


def yaml_file(*names: str) -> Any:
    yaml = pytest.importorskip("yaml", reason="comes with transformers")
    return yaml.safe_load(ROOT.joinpath("examples", "ci_gate", *names).read_text(encoding="utf-8"))


def test_the_gitlab_job_runs(project_copy: Path, run: Run) -> None:
    folder = project_copy / "examples" / "ci_gate"
    job = yaml_file(".gitlab-ci.yml")["cachesafe"]
    for line in job["script"]:
        name, *words = shlex.split(line)
        command = PYTEST if name == "pytest" else ("-m", "pytest_cachesafe")
        done = run(folder, *command, *words, CI="true", CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main")
        assert done.returncode == 0, done.stdout
    artifacts = job["artifacts"]
    for name in (*artifacts["paths"], *artifacts["reports"].values()):
        assert (folder / name).is_file(), name


def test_the_hooks_exist(project_copy: Path, run: Run) -> None:
    offered = {hook["id"] for hook in yaml_file("..", "..", ".pre-commit-hooks.yaml")}
    ours, local = yaml_file(".pre-commit-config.yaml")["repos"]
    assert {hook["id"] for hook in ours["hooks"]} <= offered
    (gate,) = local["hooks"]
    name, *words = shlex.split(gate["entry"])
    assert name == "pytest"
    assert run(project_copy / "examples" / "ci_gate", *PYTEST, *words).returncode == 0
