"""`cachesafe lint`: exit status, streams, options."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from lint_project import CLEAN, CLOCK, HELPER, PROMPT, UNSORTED, write

from cachesafe_rules.clock_in_prefix import ClockInPrefix
from pytest_cachesafe.cli import main

NOTE = CLOCK.replace("datetime.now()", "datetime.now():%Y-%m-%d")
FORMATS = ("concise", "full", "json", "github", "gitlab", "sarif", "junit")


class Done(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path_factory.mktemp("cache")))
    root = write(tmp_path / "project", {"helper.py": HELPER, "prompt.py": PROMPT, "clean.py": CLEAN})
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def lint(project: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> Done:
        status = main(["lint", *arguments])
        return Done(status, *capsys.readouterr())

    return run


def test_findings_go_to_standard_output_the_rest_does_not(lint: Any) -> None:
    done = lint()
    assert done.status == 1
    assert done.out.startswith("prompt.py:5:43: CSF101 ")
    assert done.out.endswith(" [clock-in-prefix]\n")
    assert done.err == "cachesafe: 1 error in 1 of 3 files\n"
    assert lint("-q") == Done(1, done.out, "")
    assert lint("clean.py") == Done(0, "", "cachesafe: no findings in 1 file\n")
    assert lint("--exit-zero").status == 0


def test_notes_alone_pass(lint: Any, project: Path) -> None:
    write(project, {"prompt.py": NOTE})
    assert (lint().status, "CSF103" in lint().out) == (0, True)
    assert lint("--strict").status == 1


def test_full_is_for_terminals(lint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\n    |" not in lint().out
    assert "\n    |" in lint("--output-format", "full").out
    assert lint("--output-format", "text").out == lint().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert lint().out == lint("--output-format", "full").out


def test_json(lint: Any) -> None:
    done = lint("--output-format", "json")
    (finding,) = json.loads(done.out)
    assert (finding["code"], finding["filename"], finding["location"]) == (
        "CSF101",
        "prompt.py",
        {"row": 5, "column": 43},
    )
    assert (finding["flow"][0]["filename"], finding["flow"][0]["row"]) == ("helper.py", 5)
    assert json.loads(lint("clean.py", "--output-format", "json").out) == []


@pytest.mark.parametrize("form", FORMATS)
def test_formats_into_a_file(form: str, lint: Any, project: Path) -> None:
    out = lint("--output-format", form).out
    done = lint("--output-format", form, "--output-file", "report")
    assert (done.status, done.out) == (1, "")
    assert (project / "report").read_text() == out


HOSTILE = "a\x1b[31m\n::error::x"


@pytest.mark.skipif(sys.platform == "win32", reason="no such file names there")
@pytest.mark.parametrize("form", FORMATS)
def test_hostile_names_and_code(form: str, lint: Any, project: Path) -> None:
    text = CLOCK.replace("It is ", "\u202e ::error::pwned ##[error] \x1b]0;x\x07 ]]> <script> ")
    write(project, {f"{HOSTILE}/b.py": text, f"{HOSTILE}.py": text})
    done = lint("--output-format", form)
    assert done.status == 1
    lines = (done.out + done.err).splitlines()
    assert not [line for line in lines if line.lstrip().startswith("::") and form != "github"]
    assert not any("::error::" in line and line.lstrip().startswith("::error::") for line in lines)
    assert not {"\x1b", "\x07", "\u202e"} & set(done.out + done.err)
    if form == "json":
        assert f"{HOSTILE}.py" in {f["filename"] for f in json.loads(done.out)}
    elif form in ("gitlab", "sarif"):
        json.loads(done.out)
    elif form == "junit":
        ET.fromstring(done.out)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.py"], "missing.py: no such file or folder"),
        (["--select", "CSF1O1"], "no rule 'CSF1O1'"),
        (["--select", "daily-dat"], "'daily-date'"),
        (["--select", ""], "--select names no rule"),
        (["--ignore", "XYZ"], "no rule 'XYZ'"),
        (["--output-format", "sarf"], "did you mean 'sarif'?"),
        (["--selekt", "CSF1"], "unknown option '--selekt'; did you mean '--select'?"),
        (["--unsafe-fixes"], "--unsafe-fixes needs --fix or --diff"),
        (["--stdin-filename", "x.py"], "give - as the path"),
        (["-", "prompt.py"], "stands alone"),
        (["--jobs", "0"], "--jobs must be a whole number from 1 on"),
        (["--jobs", "x"], "invalid int value"),
        (["--baseline", "none.json"], "none.json' does not exist"),
        (["--write-baseline"], "--write-baseline: no file given"),
        (["--write-baseline", "b", "--fix"], "drop --fix and --diff"),
        (["--changed-since=--all"], "not the name of a commit"),
        (["--changed-since", "main"], "is not in a git repository"),
        (["--statistics", "--output-format", "sarif"], "--statistics is a table for people"),
    ],
)
def test_mistakes(arguments: list[str], says: str, lint: Any) -> None:
    done = lint(*arguments)
    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("[tool.cachesafe\n", "pyproject.toml:1:16: not valid TOML"),
        ("[tool.cachesafe]\nselct = []\n", "no key 'selct'; did you mean 'select'?"),
        ('[tool.cachesafe]\nselect = ["CSF999"]\n', "no rule 'CSF999'"),
        ('[tool.cachesafe]\nselect = "ALL"\n', "must be a list of strings"),
        ('[tool.cachesafe]\nrules = ["no-such-package"]\n', "no-such-package"),
        ('[tool.cachesafe]\nbaseline = "b.json"\n', "does not exist"),
    ],
)
def test_mistakes_in_the_configuration(config: str, says: str, lint: Any, project: Path) -> None:
    write(project, {}, config)
    done = lint()
    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert done.err.count("\n") == 1


def test_a_baseline(lint: Any, project: Path) -> None:
    assert lint("--write-baseline", "b.json") == Done(0, "", "cachesafe: 1 finding written to the baseline\n")
    done = lint("--baseline", "b.json")
    assert done == Done(0, "", "cachesafe: no findings in 3 files (1 in the baseline)\n")
    write(project, {"prompt.py": "\n\n" + PROMPT, "more.py": CLOCK})
    assert [line.split(":")[0] for line in lint("--baseline", "b.json").out.splitlines()] == ["more.py"]
    write(project, {"prompt.py": CLEAN})
    assert "1 baseline entry no longer found" in lint("--baseline", "b.json").err
    assert "no longer" not in lint("--baseline", "b.json", "helper.py").err
    write(project, {}, '[tool.cachesafe]\nbaseline = "b.json"\n')
    assert lint("--write-baseline").status == 0
    assert lint().status == 0
    stored = json.loads((project / "b.json").read_text())
    (project / "b.json").write_text(json.dumps({**stored, "schema": 99}))
    done = lint()
    assert done.status == 2
    assert "has schema 99" in done.err


def test_fixes(lint: Any, project: Path) -> None:
    write(project, {"u.py": UNSORTED})
    done = lint("u.py", "--diff")
    assert done.status == 1
    assert done.out.startswith("--- a/u.py\n+++ b/u.py\n")
    assert (project / "u.py").read_text() == UNSORTED
    assert lint("u.py", "--fix") == Done(0, "", "cachesafe: no findings in 1 file (1 fixed)\n")
    fixed = (project / "u.py").read_text()
    assert 'sorted({"de", "en", "fr"})' in fixed
    assert "# languages" in fixed
    assert lint("u.py", "--fix").err == "cachesafe: no findings in 1 file\n"
    assert (project / "u.py").read_text() == fixed
    assert lint("u.py", "--diff") == Done(0, "", "cachesafe: no findings in 1 file\n")


def test_fixes_of_other_files_are_theirs(lint: Any, project: Path) -> None:
    write(project, {"u.py": UNSORTED})
    lint("clean.py", "--fix")
    assert (project / "u.py").read_text() == UNSORTED


def test_an_unused_suppression_is_taken_out(lint: Any, project: Path) -> None:
    write(project, {"clean.py": "x = 1  # cachesafe: ignore[CSF101] old\n"})
    assert "CSF902" in lint("clean.py").out
    assert lint("clean.py", "--fix").status == 0
    assert (project / "clean.py").read_text() == "x = 1\n"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes of files")
def test_a_file_that_cannot_be_mended(lint: Any, project: Path) -> None:
    write(project, {"u.py": UNSORTED, "v.py": UNSORTED})
    (project / "u.py").chmod(0o444)
    done = lint("u.py", "v.py", "--fix")
    assert done.status == 2
    assert "is read-only" in done.err
    assert [line.split(":")[0] for line in done.out.splitlines()] == ["u.py"]
    assert "sorted" in (project / "v.py").read_text()


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input(lint: Any, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, CLOCK.encode())
    assert lint("-").out.startswith("stdin.py:5:43: CSF101 ")
    # The text at hand counts, not the one on disk, and the project around it.
    stdin(monkeypatch, ("\n" + PROMPT).encode())
    done = lint("-", "--stdin-filename", "prompt.py", "--output-format", "full")
    assert done.out.startswith("prompt.py:6:43: error CSF101 ")
    assert 'f"It is {stamp()}."' in done.out
    stdin(monkeypatch, HELPER.replace("datetime.now().isoformat()", '"noon"').encode())
    assert lint("-", "--stdin-filename", "helper.py") == Done(0, "", "cachesafe: no findings in 1 file\n")
    assert lint("helper.py").status == 1
    stdin(monkeypatch, CLOCK.encode())
    done = lint("-", "--stdin-filename", ".venv/x.py")
    assert (done.status, done.out) == (0, "")
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in lint("-").err


def test_standard_input_mended(lint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (UNSORTED, CLEAN):
        stdin(monkeypatch, text.encode())
        done = lint("-", "--stdin-filename", "u.py", "--fix")
        assert (done.status, done.out) == (0, text.replace('{"de", "en", "fr"}', 'sorted({"de", "en", "fr"})'))
    stdin(monkeypatch, UNSORTED.encode())
    assert lint("-", "--stdin-filename", "u.py", "--diff").out.startswith("--- a/u.py\n")


def test_paths_between_options(lint: Any, project: Path) -> None:
    write(project, {"u.py": UNSORTED})
    done = lint("clean.py", "--select", "CSF2", "u.py", "-q")
    assert [line.split(":")[0] for line in done.out.splitlines()] == ["u.py"]
    write(project, {"-x.py": UNSORTED})
    assert lint("-q", "--", "-x.py").out.startswith("-x.py:2:")


def test_statistics_and_settings(lint: Any) -> None:
    assert lint("--statistics").out == "1 CSF101 clock-in-prefix\n"
    out = lint("--show-settings", "--select", "CSF1").out
    assert 'select = ["CSF1"]  (--select)\n' in out
    assert lint("--show-settings", "missing").status == 2


def test_changed_since(lint: Any, project: Path) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *words], cwd=project, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    done = lint("--changed-since", "HEAD")
    assert (done.status, done.out) == (0, "")
    write(project, {"helper.py": HELPER + "\n"})
    assert lint("--changed-since", "HEAD").out.startswith(
        "helper.py:5:5: CSF101 this value reaches the system message in "
    )


def test_nothing_to_lint(lint: Any, project: Path) -> None:
    (project / "empty").mkdir()
    done = lint("empty")
    assert done == Done(2, "", "cachesafe: no Python file and no prompt template in empty: nothing to lint\n")
    # A commit hook passes what was committed; that all of it is excluded is no mistake.
    write(project, {"vendor/x.py": CLOCK})
    done = lint("vendor/x.py")
    assert (done.status, done.out) == (0, "")
    assert "vendor/x.py: excluded" in done.err


def test_a_rule_that_fails(lint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClockInPrefix, "check", lambda *_: 1 / 0)
    done = lint("--exit-zero")
    assert done.status == 2
    assert "cachesafe: CSF101 (clock-in-prefix) failed on prompt.py: ZeroDivisionError" in done.err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser reads everything")
def test_an_unreadable_file(lint: Any, project: Path) -> None:
    (project / "clean.py").chmod(0)
    done = lint()
    assert done.status == 2
    assert done.out.startswith("prompt.py:5")
    assert "clean.py: cannot be read" in done.err


def test_a_clean_file_costs_few_imports(project: Path) -> None:
    root = Path(__file__).parents[2]
    code = (
        f"import sys; sys.path[:0] = {[str(root), str(root / 'rules')]}; from pytest_cachesafe.cli import main;"
        "status = main(['lint', 'clean.py', '-q']);"
        "print(status, sorted(m for m in sys.modules if m in {'libcst', 'jinja2', 'pytest', 'asyncio', 'subprocess',"
        " 'shutil', 'difflib', 'hashlib', 'tempfile', 'logging', 'pytest_cachesafe.lint.flow.engine',"
        " 'cachesafe_rules.model', 'cachesafe_rules.api'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout == "0 []\n"
