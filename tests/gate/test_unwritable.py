"""Places that take no file: said in one line before any test runs, status 4 as pytest's own usage errors have."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.files import refuse_unwritable, write_atomic
from pytest_cachesafe.usage import UsageError

STABLE = (
    "def test_a():\n    open('/dev/null' if READ_ONLY else 'ran', 'w').close()\n    assert_prefix_stable(chat(3))\n"
)
REPORTS = ("html", "markdown", "json", "sarif")


def needs_proc() -> str:
    if not Path("/proc/self/status").is_file():
        pytest.skip("needs /proc, a folder in which nobody can make a file")
    return "/proc"


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_where_nobody_can_make_a_file(gated: Any, name: str) -> None:
    gated.file("test_a.py", STABLE.replace("READ_ONLY", "False"))
    result = gated.run(f"--cachesafe-report={name}:{needs_proc()}/report", ok=4)
    [line] = [line for line in result.errlines if line.startswith("ERROR")]
    assert line.startswith("ERROR: report /proc/report: cannot be written: ")
    assert not (gated.path / "ran").exists()


def test_a_lock_file_where_nobody_can_make_one(gated: Any) -> None:
    gated.file("test_a.py", STABLE.replace("READ_ONLY", "False"))
    result = gated.run("--cachesafe-update", f"--cachesafe-lock={needs_proc()}/cachesafe.lock.jsonl", ok=4)
    result.stderr.fnmatch_lines(["ERROR: cachesafe.lock.jsonl: cannot be written: *"])
    assert not (gated.path / "ran").exists()


@pytest.mark.parametrize("old", [None, "old\n"])
def test_trying_leaves_nothing_behind(tmp_path: Path, old: str | None) -> None:
    path = tmp_path / "report.html"
    if old is not None:
        path.write_text(old)
    refuse_unwritable(path, "report")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == ([("report.html", old)] if old else [])


def test_a_device_is_written_to_and_not_replaced() -> None:
    before = os.stat(os.devnull)
    refuse_unwritable(os.devnull, "report")
    write_atomic(os.devnull, "text")
    assert os.stat(os.devnull).st_ino == before.st_ino


def test_what_a_report_says_of_its_path(tmp_path: Path) -> None:
    for path, words in [
        (tmp_path, "x: is a directory; name a file"),
        (tmp_path / "none" / "report", "x: its folder 'none' does not exist; make it"),
    ]:
        with pytest.raises(UsageError) as raised:
            refuse_unwritable(path, "x")
        assert str(raised.value) == words


@pytest.fixture
def read_only(gated: Any) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs pytest in a mount namespace in which the project is mounted read-only."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("needs unshare (util-linux), to mount a folder read-only for one process")
    flags = ["-m"] if os.geteuid() == 0 else ["-rm"]
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"'

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        inside = [unshare, *flags, "sh", "-c", mount, str(gated.path), *command]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(inside, capture_output=True, text=True, check=False, timeout=100, env=environment)

    tried = run("touch", "try")
    if "Read-only file system" not in tried.stderr:
        pytest.skip(f"this user may not mount a folder read-only here: {tried.stderr.strip()[:100]}")
    return run


def test_a_disk_that_is_mounted_read_only(
    gated: Any, read_only: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """A super-user is stopped by nothing but such a mount: modes of files do not hold for him."""
    gated.file("test_a.py", STABLE.replace("READ_ONLY", "True"))
    gated.run("--cachesafe-update")
    locked = gated.lock
    gated.file("test_a.py", STABLE.replace("READ_ONLY", "True").replace("chat(3)", "chat(4)"))
    pytest_ = (sys.executable, "-m", "pytest", "-p", "pytest_cachesafe.plugin", "-p", "no:cacheprovider")
    for flags, name in [
        (("--cachesafe-update",), "cachesafe.lock.jsonl"),
        (("--cachesafe-report=html",), "report cachesafe-report.html"),
        (("--cachesafe-report=json:cachesafe.lock.jsonl",), "report cachesafe.lock.jsonl"),
    ]:
        result = read_only(*pytest_, *flags)
        assert result.returncode == 4, result.stdout + result.stderr
        said = [line for line in result.stderr.splitlines() if line]
        assert said == [f"ERROR: {name}: cannot be written: it or its folder is read-only"]
        assert "passed" not in result.stdout
    # Comparing writes nothing, and goes on.
    compared = read_only(*pytest_)
    assert (compared.returncode, "1 passed" in compared.stdout) == (0, True), compared.stdout + compared.stderr
    # So does the command line; what it cannot write is one line, status 2.
    (gated.path / "chat.json").write_text("[[1, 2, 3], [1, 2, 3, 4]]")
    told = read_only(sys.executable, "-m", "pytest_cachesafe", "stable", "chat.json", "--output-file", "out.txt")
    assert told.returncode == 2
    assert [line for line in told.stderr.splitlines() if line] == [
        "cachesafe: cannot write 'out.txt': Read-only file system"
    ]
    assert gated.lock == locked
    assert not {"out.txt", "cachesafe-report.html"} & {file.name for file in gated.path.iterdir()}
