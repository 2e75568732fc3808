"""The frame around every subcommand: exit status, clean streams, one line for user mistakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_cachesafe.cli import main

CLOCK = [{"role": "system", "content": "You help. Now: 2026-11-29T10:41:07Z."}, {"role": "user", "content": "Hi"}]


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CLOCK))
    return path


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """What a user mistake prints: nothing on standard output, one line on standard error."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("cachesafe: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "no subcommand given"),
        (["compre", "a", "b"], "unknown command 'compre'; did you mean 'compare'?"),
        (["zzz"], "known: compare, stable, scan, models"),
        (["compare", "a.json"], "required: B.json"),
        (["compare", "a.json", "b.json", "c.json"], "unexpected argument 'c.json'"),
        (["stable", "a.json", "--modle=x"], "unknown option '--modle'; did you mean '--model'?"),
        (["--output-fromat", "json", "scan", "a.json"], "did you mean '--output-format'?"),
        (["scan", "a.json", "--output-format", "jsn"], "unknown value 'jsn'; did you mean 'json'?"),
        (["scan", "a.json", "--wire", "antropic"], "did you mean 'anthropic'?"),
        (["compare", "a.json", "b.json", "--block-size", "many"], "invalid int value: 'many'"),
        (["scan", "missing.json"], "missing.json: no such file"),
        (["scan", "--strct", "x"], "did you mean '--strict'?"),
    ],
)
def test_mistakes_exit_2_with_one_line(argv: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert says in one_line(capsys)


def test_abbreviated_options_are_refused(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(chat), "--output-form", "json"]) == 2
    assert "--output-format" in one_line(capsys)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_cachesafe import __version__

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"cachesafe {__version__}\n"


@pytest.mark.parametrize("command", [[], ["compare"], ["stable"], ["scan"], ["models"]])
def test_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--help"]) == 0
    assert "--output-format" in capsys.readouterr().out


@pytest.mark.parametrize("before", [True, False])
def test_common_options_stand_before_or_behind(before: bool, chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options, command = ["--output-format", "json", "--redact", "text"], ["scan", str(chat)]
    assert main([*options, *command] if before else [*command, *options]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["values"][0]["text"] == "[20 characters]"
    assert err == ""


def test_options_of_the_subcommand_may_stand_before_it(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--wire", "openai-chat", "--strict", "scan", str(chat), "--output-format=json"]) == 1
    assert json.loads(capsys.readouterr().out)["errors"] == 1


def test_a_value_that_is_named_like_a_subcommand(chat: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["--output-file", "compare", "scan", str(chat)]) == 1
    assert "error: timestamp" in (tmp_path / "compare").read_text()


def test_json_goes_to_the_file(chat: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.json"
    assert main(["scan", str(chat), "--output-format", "json", "--output-file", str(target)]) == 1
    assert capsys.readouterr().out == ""
    assert json.loads(target.read_text())["schema"] == 1


def test_an_unwritable_output_file_exits_2(chat: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(chat), "--output-file", str(tmp_path / "no" / "out.txt")]) == 2
    assert "cannot write" in one_line(capsys)


def test_quiet_prints_the_first_line_only(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["scan", str(chat)])
    full = capsys.readouterr().out
    main(["scan", str(chat), "-q"])
    assert capsys.readouterr().out == full.split("\n", 1)[0] + "\n"


def test_names_cannot_smuggle_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "\x1b[31m\n::error::x.json"]) == 2
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert err.count("\n") == 1


def test_keyboard_interrupt_exits_130(chat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_cachesafe.commands.scan.run", interrupted)
    assert main(["scan", str(chat)]) == 130


def test_faults_of_ours_keep_their_traceback(
    chat: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*args: object) -> None:
        raise ZeroDivisionError("fault")

    monkeypatch.setattr("pytest_cachesafe.commands.scan.run", broken)
    assert main(["scan", str(chat)]) == 2
    assert "ZeroDivisionError: fault" in capsys.readouterr().err


def run(*argv: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "pytest_cachesafe", *argv],
        input=stdin,
        capture_output=True,
        env={**os.environ, **env},
        timeout=60,
        check=False,
    )


def test_as_a_module_with_standard_input() -> None:
    done = run("scan", "-", "--output-format", "json", stdin=json.dumps(CLOCK).encode())
    assert (done.returncode, done.stderr) == (1, b"")
    assert json.loads(done.stdout)["errors"] == 1


def test_an_ascii_terminal_is_no_obstacle(tmp_path: Path) -> None:
    prompt = tmp_path / "日本.txt"
    prompt.write_text("日本\n2026-11-29T10:41:07Z", encoding="utf-8")
    done = run("scan", str(prompt), PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"timestamp 2026-11-29T10:41:07Z" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_reader_that_leaves_early_is_no_fault(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("at 2026-11-29T10:41:07Z\n" * 20_000)
    child = subprocess.Popen(
        [sys.executable, "-m", "pytest_cachesafe", "scan", str(prompt), "--output-format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.read(10)
    child.stdout.close()
    errors = child.stderr.read()
    child.stderr.close()
    assert (child.wait(60), errors) == (1, b"")


def test_nothing_heavy_is_imported_for_help_and_scan(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("hello")
    code = (
        "import sys; from pytest_cachesafe.cli import main; "
        f"assert main(['scan', {str(prompt)!r}]) == 0; "
        "heavy = {'pytest', 'jinja2', 'transformers', 'tokenizers', 'torch', 'libcst', 'numpy'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
