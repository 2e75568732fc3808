"""A result is never written over what was read, nor over another result."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_cachesafe.cli import main

LOG = "[1, 2, 3]\n[1, 2, 3]\n"
CHAT = '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]\n'


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*argv: str) -> str:
        assert main(list(argv)) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        return err

    return run


@pytest.mark.parametrize("how", ["name", "other spelling", "link", "hard link"])
@pytest.mark.parametrize("option", ["--output-file", "--export"])
def test_a_log_is_not_written_over(how: str, option: str, tmp_path: Path, refused: Callable[..., str]) -> None:
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    out = {"name": log, "other spelling": tmp_path / "x" / ".." / "log.csv"}.get(how, tmp_path / "out.csv")
    (tmp_path / "x").mkdir()
    if how == "link":
        out.symlink_to(log)
    elif how == "hard link":
        os.link(log, out)
    words = refused("simulate", str(log), option, str(out))
    assert f"{option} {out}: the file is read as LOG.jsonl" in words
    assert log.read_text() == LOG


@pytest.mark.parametrize("there", [True, False])
def test_two_results_are_not_written_to_one_file(there: bool, tmp_path: Path, refused: Callable[..., str]) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "out.csv"
    log.write_text(LOG)
    if there:
        out.write_text("before")
    linked = tmp_path / "linked"
    linked.symlink_to(out)
    words = refused("simulate", str(log), "--export", str(out), "--output-file", str(linked))
    assert f"--export {out}: --output-file writes to the same file" in words
    assert out.exists() is there


@pytest.mark.parametrize(
    "argv",
    [
        ["compare", "other.json", "in.json"],
        ["stable", "in.json"],
        ["scan", "in.json"],
        ["scan", "other.json", "--template", "in.json"],
        ["lint", "in.json", "other.json"],
        ["lint", "other.json", "--baseline", "in.json"],
        ["simulate", "--merge", "other.json", "in.json"],
        ["simulate", "in.json", "--policies", "--model", "m"],
        ["collisions", "in.json"],
        ["collisions", "--pairs", "other.json", "--allow", "in.json"],
        ["collisions", "--sweep", "in.json"],
    ],
)
def test_whatever_a_command_reads(
    argv: list[str], tmp_path: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("in.json", "other.json"):
        Path(name).write_text(CHAT)
    assert "--output-file ./in.json: the file is read as" in refused(*argv, "--output-file", "./in.json")
    assert Path("in.json").read_text() == CHAT


def test_what_is_meant_still_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.jsonl").write_text(LOG)
    # Devices take any number of results; a baseline is written anew where it was read.
    assert main(["simulate", "log.jsonl", "--output-file", os.devnull]) == 0
    assert main(["simulate", "log.jsonl", "--output-file", "out.json"]) == 0
    assert main(["simulate", "log.jsonl", "--output-file", "out.json"]) == 0
    Path("a.py").write_text("x = 1\n")
    assert main(["lint", "a.py", "--write-baseline", "b.json"]) == 0
    assert main(["lint", "a.py", "--baseline", "b.json", "--write-baseline", "b.json"]) == 0
