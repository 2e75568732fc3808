"""The lock file of the branch a change goes into, read with the real git."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

STABLE = "def test_a():\n    assert_prefix_stable(chat(4))\n"
CLOCK = "def test_a():\n    assert_prefix_stable(chat(4, clocked), fail_on=['raises'])\n"


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def branch(gated: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A branch on which code and lock file were edited together, so that the gate itself passes."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "t")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "t@example.com")
    gated.file("test_a.py", STABLE)
    gated.run("--cachesafe-update")
    git(gated.path, "init", "-q", "-b", "main")
    commit(gated, "first")
    git(gated.path, "checkout", "-q", "-b", "topic")
    gated.file("test_a.py", CLOCK)
    gated.run("--cachesafe-update")
    commit(gated, "edit both")
    monkeypatch.setenv("CI", "1")
    return gated


def commit(gated: Any, message: str) -> None:
    git(gated.path, "add", "agent.py", "test_a.py", "tox.ini", "cachesafe.lock.jsonl")
    git(gated.path, "commit", "-qm", message)


@pytest.mark.parametrize("variable", ["GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"])
def test_what_got_worse_is_shown_although_both_were_edited(
    branch: Any, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "lock changed" not in branch.says()
    monkeypatch.setenv(variable, "main")
    result = branch.run()
    result.stdout.fnmatch_lines(
        ["lock changed against main: * tokens worse in 1 check*", "  test_a.py::test_a (stable): * tokens worse*"]
    )


def test_it_is_where_the_branch_left_not_where_the_base_is_now(branch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    git(branch.path, "checkout", "-q", "main")
    branch.lock_path.write_text("")
    commit(branch, "base goes on")
    git(branch.path, "checkout", "-q", "topic")
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    assert "1 added" not in branch.says()


def test_a_clone_knows_the_base_at_origin(branch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "-b", "topic", str(branch.path), str(clone))
    monkeypatch.chdir(clone)
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    assert "lock changed against main" in branch.says("--rootdir", str(clone))


def test_a_shallow_clone_says_what_to_fetch(branch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = tmp_path / "clone"
    source = f"file://{branch.path}"
    git(tmp_path, "clone", "-q", "--depth", "1", "-b", "topic", source, str(clone))
    monkeypatch.chdir(clone)
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    said = branch.says("--rootdir", str(clone))
    assert "note: not compared with the lock file of main: git knows no 'main' here: fetch it (git fetch origin" in said
    # Fetched alone, without the history that joins the two: the tip of the base is compared with.
    git(clone, "fetch", "-q", "--depth", "1", "origin", "main:refs/remotes/origin/main")
    assert "lock changed against main" in branch.says("--rootdir", str(clone))


def test_without_git_and_outside_a_repository_the_gate_works(
    branch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    outside = tmp_path / "elsewhere.jsonl"
    outside.write_text(branch.lock)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    said = branch.says(f"--cachesafe-lock={outside}")
    assert "note: not compared with the lock file of main: git rev-parse: " in said
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "note: not compared with the lock file of main: git is not installed" in branch.says()


@pytest.mark.parametrize("ref", ["--output=x", "no such branch", "main;ls"])
def test_a_ref_that_is_none(branch: Any, ref: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_BASE_REF", ref)
    assert "note: not compared with the lock file of" in branch.says()
    assert not (branch.path / "x").exists()


def test_a_broken_file_on_the_base_is_a_note(branch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    git(branch.path, "checkout", "-q", "-b", "broken", "main")
    branch.lock_path.write_text("<<<<<<< a\n")
    commit(branch, "broken")
    git(branch.path, "checkout", "-q", "topic")
    git(branch.path, "merge", "-q", "-s", "ours", "-m", "merge", "broken")
    monkeypatch.setenv("GITHUB_BASE_REF", "broken")
    assert "note: not compared with the lock file of broken: cachesafe.lock.jsonl at broken:1: a conf" in branch.says()


def test_a_change_that_takes_the_lock_file_away_is_not_green(branch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    branch.lock_path.unlink()
    assert branch.run().parseoutcomes() == {"passed": 1}
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    result = branch.run(ok=4)
    advice = "bring it back with git checkout main -- cachesafe.lock.jsonl, or set cachesafe_gate = false"
    result.stderr.fnmatch_lines([f"*cachesafe.lock.jsonl is in main and not here, *: {advice} to do without*"])
    monkeypatch.setenv("CI", "false")
    branch.run()


@pytest.mark.parametrize("flag", ["--collect-only", "--setup-plan", "--markers", "--fixtures", "--help"])
def test_a_run_that_only_lists_misses_no_lock_file(branch: Any, flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    branch.lock_path.unlink()
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    assert "is in main and not here" not in branch.says(flag)


def test_workers_do_not_run_without_the_lock_file(branch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    branch.lock_path.unlink()
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    result = branch.run("-p", "xdist", "-n", "2", ok=4)
    result.stderr.fnmatch_lines(["*cachesafe.lock.jsonl is in main and not here, so that nothing is compared: *"])
    assert "passed" not in result.stdout.str()


def test_an_informational_run_warns_of_a_lock_file_that_is_gone(branch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    branch.lock_path.unlink()
    assert "not here" not in branch.says("--cachesafe-informational")
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    for flags in ((), ("-p", "xdist", "-n", "2")):
        result = branch.run("--cachesafe-informational", *flags)
        result.stdout.fnmatch_lines(["*cachesafe gate*", "warning: cachesafe.lock.jsonl is in main and not here, *"])
    branch.pytester.makeini("[pytest]\npythonpath = .\ncachesafe_gate = false\ncachesafe_informational = true\n")
    assert "not here" not in branch.says()


def test_a_shallow_clone_says_nothing_of_a_lock_file_that_may_be_gone(
    branch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(branch.path, "rm", "-qf", "cachesafe.lock.jsonl")
    git(branch.path, "commit", "-qm", "gone")
    clone, whole = tmp_path / "clone", tmp_path / "whole"
    source = f"file://{branch.path}"
    git(tmp_path, "clone", "-q", "--depth", "1", "-b", "topic", source, str(clone))
    git(tmp_path, "clone", "-q", "-b", "topic", source, str(whole))
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    monkeypatch.chdir(clone)
    for flags in ((), ("--cachesafe-informational",)):
        assert "lock" not in branch.says("--rootdir", str(clone), *flags)
    git(clone, "fetch", "-q", "--depth", "1", "origin", "main:refs/remotes/origin/main")
    assert "lock" not in branch.says("--rootdir", str(clone))
    # With the history that joins the two it is missed.
    monkeypatch.chdir(whole)
    branch.run("--rootdir", str(whole), ok=4)


def test_without_a_lock_file_on_purpose(branch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    branch.lock_path.unlink()
    branch.pytester.makeini("[pytest]\npythonpath = .\ncachesafe_gate = false\n")
    branch.run()


def test_a_lock_file_that_the_base_got_since_is_not_missed(branch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    git(branch.path, "checkout", "-q", "-b", "old", "main")
    git(branch.path, "rm", "-q", "cachesafe.lock.jsonl")
    git(branch.path, "commit", "-qm", "none yet")
    git(branch.path, "checkout", "-q", "-b", "later")
    git(branch.path, "checkout", "-q", "main", "--", "cachesafe.lock.jsonl")
    git(branch.path, "commit", "-qm", "written")
    git(branch.path, "checkout", "-q", "old")
    monkeypatch.setenv("GITHUB_BASE_REF", "later")
    branch.run()


def test_a_branch_of_old_that_is_here_only_does_not_count(branch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    git(branch.path, "checkout", "-q", "-b", "without", "main")
    git(branch.path, "rm", "-q", "cachesafe.lock.jsonl")
    git(branch.path, "commit", "-qm", "dropped on purpose")
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    branch.run(ok=4)
    git(branch.path, "update-ref", "refs/remotes/origin/main", "without")
    branch.run()
