"""Files that changed since a commit, asked of a real git."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_cachesafe.lint.changed import changed_files
from pytest_cachesafe.prompt import UsageError

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder: Path, *arguments: str) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def write(folder: Path, *names: str, text: str = "x = 1\n") -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """main with a.py, sub/b.py, gone.py, old.py; a branch `work` with one commit of its own."""
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, "a.py", "sub/b.py", "gone.py", "old.py", ".gitignore", text="ignored.py\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    git(tmp_path, "checkout", "-qb", "work")
    write(tmp_path, "sub/b.py", text="x = 2\n")
    git(tmp_path, "commit", "-qam", "second")
    return tmp_path


def test_committed_staged_unstaged_and_untracked(repository: Path) -> None:
    assert changed_files(repository, "main") == {"sub/b.py"}
    write(repository, "a.py", text="x = 3\n")
    write(repository, "staged.py", "loose é\n::error::.py", "ignored.py")
    git(repository, "add", "staged.py")
    git(repository, "rm", "-q", "gone.py")
    git(repository, "mv", "old.py", "new.py")
    expected = {"a.py", "sub/b.py", "staged.py", "loose é\n::error::.py", "new.py"}
    assert changed_files(repository, "main") == expected
    assert changed_files(repository, git(repository, "rev-parse", "main")) == expected
    assert changed_files(repository, "HEAD") == expected - {"sub/b.py"}
    assert changed_files(repository, "HEAD~1") == expected


def test_what_the_other_branch_did_is_not_ours(repository: Path) -> None:
    git(repository, "checkout", "-q", "main")
    write(repository, "a.py", text="x = 4\n")
    git(repository, "commit", "-qam", "elsewhere")
    git(repository, "checkout", "-q", "work")
    assert changed_files(repository, "main") == {"sub/b.py"}


def test_names_are_relative_to_the_project(repository: Path) -> None:
    write(repository, "a.py", "sub/new.py", text="x = 5\n")
    assert changed_files(repository / "sub", "main") == {"b.py", "new.py"}


def test_inside_a_hook(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    assert changed_files(repository, "main") == {"sub/b.py"}


@pytest.mark.parametrize("ref", ["nowhere", "main..work", "main...work", "HEAD~9", "main:a.py", "a b"])
def test_no_such_commit(ref: str, repository: Path) -> None:
    with pytest.raises(UsageError, match="no such commit or branch") as caught:
        changed_files(repository, ref)
    assert repr(ref) in str(caught.value)


@pytest.mark.parametrize("ref", ["", "-", "^main", "--output=a.py", "-O", "a\0b"])
def test_what_reads_as_an_option_never_reaches_git(ref: str, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("git was run"))
    with pytest.raises(UsageError, match="not the name of a commit"):
        changed_files(repository, ref)


def test_a_file_named_like_the_ref(repository: Path) -> None:
    write(repository, "main")
    assert changed_files(repository, "main") == {"sub/b.py", "main"}


def test_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageError, match="is not in a git repository"):
        changed_files(tmp_path, "main")


def test_no_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    with pytest.raises(UsageError, match="needs git, which is not on the PATH"):
        changed_files(repository, "main")
    with pytest.raises(UsageError, match="no such folder"):
        changed_files(repository / "nowhere", "main")


def test_no_common_ancestor(repository: Path) -> None:
    git(repository, "checkout", "-q", "--orphan", "apart")
    git(repository, "commit", "-qm", "apart")
    with pytest.raises(UsageError, match=r"no common ancestor.*fetch more history"):
        changed_files(repository, "main")
