"""A small project goes through its life with a lock file: written, kept, broken, re-baselined, merged."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

LOCK = "cachesafe.lock.jsonl"
AGENT = """
from pytest_cachesafe import assert_prefix_stable

SYSTEM = "You are a support bot. " + "Answer from the manual. " * 20

def request(history, now):
    return {"model": "claude-opus-5", "system": SYSTEM, "messages": history}

def chat(turns, system=None):
    bodies, history = [], []
    for turn in range(turns):
        history = history + [{"role": "user", "content": f"question {turn}, please " * 8}]
        bodies.append(dict(request(history, turn), **({"system": system(turn)} if system else {})))
        history = history + [{"role": "assistant", "content": f"answer {turn}"}]
    return bodies
"""
TESTS = """
from agent import chat
from pytest_cachesafe import assert_prefix_stable, assert_reuse

def test_agent():
    assert_prefix_stable(chat(4))

def test_other():
    assert_prefix_stable(chat(3), name="three turns")
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with an agent and two checks, outside a CI."""
    for name in ("CI", "TF_BUILD", "BUILD_NUMBER", "GITHUB_BASE_REF", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile(agent=AGENT, test_agent=TESTS)
    pytester.makeini("[pytest]\npythonpath = .\n")
    return pytester


def run(project: pytest.Pytester, *flags: str, ok: int = 0) -> Any:
    start = project.runpytest_subprocess if "-n" in flags else project.runpytest_inprocess
    result = start("-p", "pytest_cachesafe.plugin", *flags)
    assert result.ret == ok, result.stdout.str() + result.stderr.str()
    return result


def lock(project: pytest.Pytester) -> str:
    return (project.path / LOCK).read_text()


def edit(project: pytest.Pytester, name: str, old: str, new: str) -> None:
    file = project.path / name
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_without_a_lock_file_nothing_is_said(project: pytest.Pytester) -> None:
    result = run(project)
    assert "gate" not in result.stdout.str()
    assert not (project.path / LOCK).exists()


def test_it_is_written_on_request_and_a_clean_run_passes(project: pytest.Pytester) -> None:
    result = run(project, "--cachesafe-update")
    result.stdout.fnmatch_lines(["*cachesafe.lock.jsonl written: 2 added, 0 changed, 0 removed, 2 entries in all"])
    written = lock(project)
    assert written.count("\n") == 2
    assert str(project.path) not in written
    again = run(project)
    assert "gate" not in again.stdout.str()
    run(project, "--cachesafe-update").stdout.fnmatch_lines(["*is up to date (2 entries)"])
    assert lock(project) == written


def test_in_a_ci_what_is_missing_fails_with_the_command(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    run(project, "--cachesafe-gate", ok=1).stdout.fnmatch_lines(
        ["*there is no cachesafe.lock.jsonl: run pytest --cachesafe-update-new-only and commit the file*"]
    )
    refused = project.runpytest("-p", "pytest_cachesafe.plugin", "--cachesafe-update")
    assert refused.ret == 4
    refused.stderr.fnmatch_lines(["*--cachesafe-update in a CI would accept whatever it finds*"])


def test_a_timestamp_in_the_system_prompt_fails(project: pytest.Pytester) -> None:
    run(project, "--cachesafe-update")
    edit(
        project,
        "test_agent.py",
        "assert_prefix_stable(chat(4))",
        ("assert_prefix_stable(chat(4, lambda turn: f'It is 10:0{turn}:00. ' + 'manual ' * 90), fail_on=['raises'])"),
    )
    run(project, ok=1).stdout.fnmatch_lines(
        [
            "*cache regression in stable: *tokens more of the prefix lost*",
            "*  most at request 3, about * tokens: a time of day changed in the system text*",
            "*  if this is meant: *",
        ]
    )
    run(project, "--cachesafe-informational").stdout.fnmatch_lines(["*cache regression in stable*"])


def test_a_removed_test_leaves_an_unused_entry(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    run(project, "--cachesafe-update")
    edit(project, "test_agent.py", "def test_other", "def not_other")
    run(project).stdout.fnmatch_lines(["*note: 1 entry of cachesafe.lock.jsonl without a check*", "*test_other*"])
    run(project, "test_agent.py::test_agent")
    monkeypatch.setenv("CI", "1")
    run(project, ok=1).stdout.fnmatch_lines(["*error: 1 entry of cachesafe.lock.jsonl*"])
    monkeypatch.delenv("CI")
    run(project, "--cachesafe-update").stdout.fnmatch_lines(["*0 added, 0 changed, 1 removed, 1 entry in all"])


def test_a_changed_template_says_re_baseline(project: pytest.Pytester) -> None:
    (project.path / "t.jinja").write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    edit(project, "test_agent.py", "assert_prefix_stable(chat(4))", "assert_prefix_stable(chat(4), template='t.jinja')")
    run(project, "--cachesafe-update")
    assert "t.jinja" in lock(project)
    (project.path / "t.jinja").write_text("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}")
    run(project, ok=1).stdout.fnmatch_lines(
        [
            "*the chat template changed (*re-baseline needed*",
            "*prompt tokens*",
            "*if this is meant: pytest --cachesafe-update*",
        ]
    )


def test_workers_and_random_order_write_the_same_bytes(project: pytest.Pytester) -> None:
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    run(project, "--cachesafe-update")
    alone = lock(project)
    (project.path / LOCK).unlink()
    run(project, "-p", "xdist", "-p", "randomly", "--cachesafe-update", "-n", "2")
    assert lock(project) == alone


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return done.stdout


def test_two_branches_merge_by_themselves(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.setenv(name, "t")
    for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "t@example.com")
    (project.path / ".gitattributes").write_text("cachesafe.lock.jsonl merge=union\n")
    run(project, "--cachesafe-update")
    git(project.path, "init", "-q", "-b", "main")
    git(project.path, "add", ".")
    git(project.path, "commit", "-qm", "first")
    for branch in ("one", "two"):
        git(project.path, "checkout", "-q", "-b", branch, "main")
        name = f"test_{branch}.py"
        (project.path / name).write_text(
            f"from agent import chat\nfrom pytest_cachesafe import assert_prefix_stable\n\n"
            f"def test_{branch}():\n    assert_prefix_stable(chat(2))\n"
        )
        run(project, "--cachesafe-update-new-only")
        git(project.path, "add", ".")
        git(project.path, "commit", "-qm", branch)
    git(project.path, "merge", "-q", "-m", "merge", "one")
    assert lock(project).count("\n") == 4
    monkeypatch.setenv("CI", "1")
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    run(project).stdout.fnmatch_lines(["*lock changed against main: 2 added"])
