"""A lock file that cannot be used, or not be written, and runs that are killed: nothing is lost, one line says why."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.files import write_atomic
from pytest_cachesafe.usage import UsageError

ONE = "def test_{0}():\n    open('ran', 'w').close()\n    assert_prefix_stable(chat(3))\n"
BROKEN = {
    "conflict": (lambda text: "<<<<<<< HEAD\n" + text + "=======\n>>>>>>> b\n", ":1: a conflict marker of a merge"),
    "truncated": (lambda text: text[:-30], "not JSON: *cut off*run the tests with --cachesafe-update"),
    "nonsense": (lambda text: text.replace('"reusable": ', '"reusable": -', 1), ":1: reusable is -"),
    "newer": (lambda text: text.replace('"schema": 1', '"schema": 7'), ":1: written by a newer version (schema 7"),
}  # fmt: skip


@pytest.fixture
def locked(gated: Any) -> Any:
    """Two tests and their lock file."""
    gated.file("test_a.py", ONE.format("a") + ONE.format("b"))
    gated.run("--cachesafe-update")
    (gated.path / "ran").unlink()
    return gated


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("flags", [(), ("--cachesafe-update-new-only",), ("--cachesafe-informational",)])
def test_it_is_told_before_any_test_runs(locked: Any, name: str, flags: tuple[str, ...]) -> None:
    change, words = BROKEN[name]
    broken = change(locked.lock)
    locked.lock_path.write_text(broken)
    result = locked.run(*flags, ok=4)
    # fnmatch would read the brackets of a pattern in the words as a class.
    result.stderr.fnmatch_lines([f"ERROR: cachesafe.lock.jsonl*{words}*"])
    assert len([line for line in result.errlines if line.startswith("ERROR")]) == 1
    assert not (locked.path / "ran").exists()
    assert locked.lock == broken


def test_under_workers_too(locked: Any) -> None:
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    locked.lock_path.write_text("{}\n")
    result = locked.run("-p", "xdist", "-n", "2", ok=4)
    result.stderr.fnmatch_lines(["ERROR: cachesafe.lock.jsonl:1: no schema number*"])
    assert not (locked.path / "ran").exists()


@pytest.mark.parametrize("name", [name for name in BROKEN if name != "newer"])
def test_an_update_of_all_mends_it_and_names_what_went(locked: Any, name: str) -> None:
    good = locked.lock
    locked.lock_path.write_text(BROKEN[name][0](good))
    said = locked.says("--cachesafe-update")
    assert "lock file: cachesafe.lock.jsonl:" in said
    assert ": dropped" in said
    assert locked.lock == good


def test_an_update_of_a_part_does_not(locked: Any) -> None:
    broken = BROKEN["truncated"][0](locked.lock)
    locked.lock_path.write_text(broken)
    result = locked.run("--cachesafe-update", "test_a.py::test_a", ok=4)
    result.stdout.fnmatch_lines(["error: cachesafe.lock.jsonl:2: not JSON:*not written: run all tests with*"])
    assert locked.lock == broken


def test_an_update_of_a_part_does_not_replace_a_file_without_a_good_line(locked: Any) -> None:
    broken = locked.lock.replace('"reusable": ', '"reusable": -')
    locked.lock_path.write_text(broken)
    assert "not written: run all tests" in locked.says("--cachesafe-update", "test_a.py::test_a", ok=4)
    assert locked.lock == broken


def test_a_link_that_leads_nowhere_is_no_gate_switched_off(locked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    locked.lock_path.unlink()
    locked.lock_path.symlink_to(locked.path / "gone" / "lock.jsonl")
    locked.run("--cachesafe-update", ok=4).stderr.fnmatch_lines(["ERROR: cachesafe.lock.jsonl: its folder 'gone' *"])
    assert not (locked.path / "ran").exists()
    monkeypatch.setenv("CI", "true")
    assert "there is no cachesafe.lock.jsonl" in locked.says(ok=1)


def contradicting(text: str) -> str:
    """The file after a merge that kept two lines of a test, neither of which is what it finds."""
    first, second = text.splitlines()
    return f"{first}\n{second.replace(': 3', ': 4')}\n{second.replace(': 3', ': 5')}\n"


def test_two_lines_that_contradict_each_other_fail_no_informational_run(locked: Any) -> None:
    locked.lock_path.write_text(contradicting(locked.lock))
    assert "lines 2 and 3 contradict each other" in locked.says(ok=1)
    said = locked.says("--cachesafe-informational")
    assert "note: cachesafe.lock.jsonl: lines 2 and 3 contradict each other" in said


def test_what_a_lock_file_says_cannot_reach_the_terminal(locked: Any) -> None:
    entries = [json.loads(line) for line in locked.lock.splitlines()]
    for entry, key in zip(entries, ("template", "kept"), strict=True):
        entry[key] = "\x1b[31m\u202e" if key == "template" else {"\x1b[31m\u202e": 1}
        entry["cause"] = "\x1b[31m"
    locked.lock_path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    said = locked.says("--junitxml=junit.xml", "--color=no", ok=1)
    assert "re-baseline needed" in said
    said += (locked.path / "junit.xml").read_text(encoding="utf-8")
    assert "\\x1b[31m" in said
    assert not {"\x1b", "\u202e"} & set(said)


def test_a_newer_one_is_not_overwritten(locked: Any) -> None:
    broken = BROKEN["newer"][0](locked.lock)
    locked.lock_path.write_text(broken)
    locked.run("--cachesafe-update", ok=4)
    assert locked.lock == broken


def test_two_lines_that_contradict_each_other_stay_until_a_run_tells(locked: Any) -> None:
    good = locked.lock.splitlines(keepends=True)
    other = [line.replace('"requests": 3', '"requests": 7') for line in good]
    assert other != good
    # Neither is what the code does; both branches changed both tests.
    locked.lock_path.write_text("".join([*other, *(line.replace('": 7', '": 8') for line in other)]))
    locked.run(ok=1).stdout.fnmatch_lines(["*lines 1 and 3 contradict each other (both for test_a.py::test_a*"])
    locked.run("--cachesafe-update", "test_a.py::test_a")
    assert locked.lock.startswith(good[0])
    assert locked.lock.count("test_b") == 2
    # One of them is what the code does: that one is right.
    locked.lock_path.write_text("".join([*other, *good]))
    assert "(both for test_a.py::test_a): run pytest --cachesafe-update-new-only to drop what" in locked.says()
    assert "contradict each other" not in locked.says("--cachesafe-update-new-only")
    assert locked.lock == "".join(good)


def test_a_folder_in_its_place(gated: Any) -> None:
    gated.file("test_a.py", ONE.format("a"))
    gated.lock_path.mkdir()
    gated.run(ok=4).stderr.fnmatch_lines(["*cachesafe.lock.jsonl: cannot be read: *"])
    gated.run("--cachesafe-update", ok=4).stderr.fnmatch_lines(["*cachesafe.lock.jsonl: is a directory; name a file"])
    assert not (gated.path / "ran").exists()


def test_a_folder_that_is_missing_or_read_only(gated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gated.file("test_a.py", ONE.format("a"))
    flags = ("--cachesafe-update", "--cachesafe-lock", "none/lock.jsonl")
    gated.run(*flags, ok=4).stderr.fnmatch_lines(["*its folder 'none' does not exist; make it"])
    real = os.access
    # The user who runs the tests may be allowed everything.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and real(path, mode))
    gated.run("--cachesafe-update", ok=4).stderr.fnmatch_lines(["*cannot be written: it or its folder is read-only"])
    assert not (gated.path / "ran").exists()


def test_help_is_given_whatever_the_file_holds(locked: Any) -> None:
    locked.lock_path.write_text("nonsense\n")
    locked.run("--help")


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_old_file(locked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    old = locked.lock
    locked.file("test_a.py", ONE.format("a"))
    monkeypatch.setattr("pytest_cachesafe.files.os.replace", full)
    result = locked.run("--cachesafe-update", ok=4)
    result.stdout.fnmatch_lines(["error: cannot write *cachesafe.lock.jsonl*: No space left on device"])
    assert locked.lock == old
    assert not [path for path in locked.path.iterdir() if path.suffix == ".tmp"]


class Small:
    """A file on a disk that takes ten bytes."""

    def __init__(self, handle: int, mode: str, end: BaseException) -> None:
        self.file, self.end = open(handle, mode), end  # noqa: SIM115

    def __enter__(self) -> Small:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, data: bytes) -> None:
        self.file.write(data[:10])
        self.file.flush()
        raise self.end


@pytest.mark.parametrize(
    ("end", "raised"), [(OSError(errno.ENOSPC, "full"), UsageError), (KeyboardInterrupt(), KeyboardInterrupt)]
)
def test_half_a_write_is_none(
    end: BaseException, raised: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    path.write_text("old\n")
    monkeypatch.setattr("pytest_cachesafe.files.os.fdopen", lambda handle, mode: Small(handle, mode, end))
    with pytest.raises(raised):
        write_atomic(path, "new\n" * 100)
    assert [file.name for file in tmp_path.iterdir()] == ["lock"]
    assert path.read_text() == "old\n"


# A job that a shell put into the background ignores Ctrl-C, and so does what it starts.
WRITER = """
import signal, sys
from pytest_cachesafe.files import write_atomic
signal.signal(signal.SIGINT, signal.default_int_handler)
print("begun", flush=True)
while True:
    for letter in "ab":
        write_atomic(sys.argv[1], letter * 3_000_000 + "\\n")
"""


@pytest.mark.parametrize("number", ["SIGKILL", "SIGINT"])
def test_killed_at_any_moment_the_file_is_old_or_new(number: str, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for attempt in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.03 * attempt + 0.02)
        process.send_signal(getattr(signal, number))
        process.wait()
        process.stdout.close()
        if path.exists():
            text = path.read_text()
            assert len(text) == 3_000_001
            assert len(set(text)) == 2
    if number == "SIGINT":
        assert [file.name for file in tmp_path.iterdir()] in ([], ["lock"])
    for file in tmp_path.glob(".*.tmp"):
        # As if the machine had been off for a day.
        os.utime(file, (0, 0))
    write_atomic(path, "next\n")
    assert [file.name for file in tmp_path.iterdir()] == ["lock"]


STOPPED = """
def test_a():
    assert_prefix_stable(chat(4))

def test_b():
    import os, signal, time
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.kill(os.getpid(), signal.{0})
    time.sleep(30)
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGKILL"])
def test_a_run_that_is_stopped_writes_nothing(locked: Any, number: str) -> None:
    old = locked.lock
    locked.file("test_a.py", STOPPED.format(number))
    result = locked.pytester.runpytest_subprocess("-p", "pytest_cachesafe.plugin", "--cachesafe-update")
    assert result.ret not in (0, 1)
    assert locked.lock == old
    assert not [path for path in locked.path.iterdir() if path.suffix == ".tmp"]
