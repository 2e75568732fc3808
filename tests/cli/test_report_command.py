"""`cachesafe report`: lock files as tables, what a change did to them, saved runs, and every input that is neither."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hostile_text import PAYLOADS
from report_runs import any_run

from pytest_cachesafe.cli import main
from pytest_cachesafe.gate.entry import Entry
from pytest_cachesafe.gate.located import plain
from pytest_cachesafe.gate.lockfile import write
from pytest_cachesafe.report.lint.encode import json_text

LOCK = "cachesafe.lock.jsonl"
ENTRY = Entry(
    "tests/test_a.py::test_agent", "stable", "stable", "wire format anthropic", requests=4, tokens=2_000,
    reusable=1_500, kept={"stable": 1_500}, prefix="ab" * 8, prefix_tokens=700,
)  # fmt: skip
WORSE = replace(ENTRY, kept={"stable": 266}, cause="timestamp", place="system")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run in, and a git that knows who commits."""
    monkeypatch.chdir(tmp_path)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "t")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "t@example.com")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return tmp_path


def locked(*entries: Entry) -> None:
    write(LOCK, {entry.key: entry for entry in entries})


def git(*words: str) -> None:
    subprocess.run(["git", *words], check=True, capture_output=True)


def committed(*entries: Entry) -> None:
    """A repository whose main branch has these entries; a branch of it is checked out."""
    locked(*entries)
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "first")
    git("checkout", "-q", "-b", "feature")


def out(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert main(["report", *words]) == status
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["report", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    [line] = said.err.splitlines()
    return line.removeprefix("cachesafe: ")


# A lock file.


def test_a_lock_file_as_a_table(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = Entry(
        "tests/test_b.py::test_engine", "five turns", "reuse", "token ids", requests=2, tokens=90, reusable=60,
        kept={"stable": 60, "vLLM": 48}, exact=False,
    )  # fmt: skip
    locked(ENTRY, engine)
    assert out(capsys).splitlines() == [
        "cachesafe.lock.jsonl: 2 entries, about 2,090 prompt tokens, about 12 of 1,560 reusable tokens lost",
        "",
        "tokens  kept                   lost  cause  check",
        " 2,000  stable 100%               0  -      tests/test_a.py::test_agent",
        "   ~90  stable 100%, vLLM 80%   ~12  -      tests/test_b.py::test_engine (five turns)",
    ]
    assert out(capsys, LOCK, "-q").count("\n") == 1


def test_an_empty_lock_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / LOCK).touch()
    assert out(capsys) == "cachesafe.lock.jsonl: no entries\n"
    assert "No entries." in out(capsys, "--output-format", "markdown")


def test_a_lock_file_as_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(WORSE)
    data = json.loads(out(capsys, "--output-format", "json"))
    validator("report-lock").validate(data)
    assert data["lock"] == LOCK
    assert data["entries"] == [WORSE.as_dict() | {"lost": 1_234}]
    assert data["against"] is None


def validator(name: str) -> Any:
    jsonschema = pytest.importorskip("jsonschema", reason="pip install jsonschema")
    from referencing import Registry, Resource

    folder = Path(__file__).parents[2] / "docs" / "schema"
    schemas = {path.name: json.loads(path.read_text()) for path in folder.glob("*.schema.json")}
    registry = Registry().with_resources([(one["$id"], Resource.from_contents(one)) for one in schemas.values()])
    return jsonschema.Draft202012Validator(schemas[f"{name}.schema.json"], registry=registry)


def test_a_lock_file_as_markdown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(ENTRY, replace(WORSE, test="b|c", name="two"))
    lines = out(capsys, "--output-format", "markdown").splitlines()
    assert lines[0] == "## `cachesafe.lock.jsonl`"
    assert lines[2:] == [
        "| test | tokens | kept | lost | cause | place |",
        "|---|--:|---|--:|---|---|",
        "| `b\\|c` `two` | 2,000 | `stable 18%` | 1,234 | `timestamp` | `system` |",
        "| `tests/test_a.py::test_agent` | 2,000 | `stable 100%` | 0 | – | – |",
    ]


def test_from_standard_input(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    locked(ENTRY)
    with open(LOCK) as file:
        monkeypatch.setattr("sys.stdin", file)
        assert out(capsys, "-").startswith("standard input: 1 entry, 2,000 prompt tokens")


def test_lines_that_contradict_each_other_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(ENTRY)
    text = (here / LOCK).read_text()
    (here / LOCK).write_text(text + text.replace('"stable": 1500', '"stable": 9'))
    said = out(capsys, status=1)
    assert "lines 1 and 2 contradict each other (both for tests/test_a.py::test_agent, stable)" in said
    assert json.loads(out(capsys, "--output-format", "json", status=1))["contradictions"][0]["lines"] == [1, 2]
    assert "contradict" in out(capsys, "--output-format", "markdown", status=1)


# Against another branch.


def test_what_a_change_did(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = replace(ENTRY, test="tests/test_b.py::test_other")
    committed(ENTRY, other)
    assert out(capsys, "--against", "main") == "lock file as at main\n"
    locked(WORSE, replace(other, prefix="cd" * 8), replace(ENTRY, test="new"))
    said = out(capsys, "--against", "main", status=1)
    assert said.splitlines() == [
        "lock changed against main: 1,234 tokens worse in 1 check, 1 with another prefix, 1 added",
        "  tests/test_a.py::test_agent (stable): 1,234 tokens worse, timestamp at system",
    ]
    more = out(capsys, "--against", "main", "-v", status=1)
    assert "  tests/test_b.py::test_other: tools or system text changed, 700 tokens are written again" in more
    assert "  new: added" in more
    assert "tokens  kept" in more


def test_what_got_better_exits_with_0(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    committed(WORSE)
    locked(ENTRY)
    assert out(capsys, "--against", "main") == "lock changed against main: 1,234 tokens better in 1\n"
    assert main(["report", "--against", "main", "--strict"]) == 1


def test_a_change_as_json_and_markdown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    committed(ENTRY)
    locked(WORSE)
    data = json.loads(out(capsys, "--against", "main", "--output-format", "json", status=1))
    validator("report-lock").validate(data)
    assert (data["against"]["ref"], data["against"]["tokens"]) == ("main", 1_234)
    assert data["against"]["worse"] == [
        {"test": ENTRY.test, "name": "stable", "tokens": 1_234, "cause": "timestamp", "place": "system"}
    ]
    assert "```text\nlock changed against main: 1,234" in out(
        capsys, "--against", "main", "--output-format", "markdown", status=1
    )


def test_a_branch_without_a_lock_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a").touch()
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "first")
    locked(ENTRY)
    assert out(capsys, "--against", "main") == "lock changed against main: 1 added\n"


def test_from_another_folder(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    committed(ENTRY)
    locked(WORSE)
    monkeypatch.chdir(here.parent)
    assert "1,234 tokens worse" in out(capsys, f"{here.name}/{LOCK}", "--against", "main", status=1)


# A saved run.


@pytest.fixture
def saved(here: Path) -> Path:
    """A run as `--cachesafe-report=json` writes it."""
    path = here / "run.json"
    run = any_run(lambda: "the prompt text")
    run.scenarios[0].test = "test_a.py::test_it"
    path.write_text(json_text(run.as_dict()))
    return path


def test_a_saved_run_as_text(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = out(capsys, str(saved)).splitlines()
    assert lines[0].startswith("4 of 6 checks failed")
    assert any(line.startswith("  FAILED  test_a.py::test_it") for line in lines)
    assert "lock file:" in lines
    assert "in the source:" in lines


def test_a_saved_run_in_other_formats(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_cachesafe.gate.saved import parse_run
    from pytest_cachesafe.report.html import render as html
    from pytest_cachesafe.report.markdown import render as markdown

    run = parse_run(saved.read_text(), "run.json")
    assert out(capsys, str(saved), "--output-format", "markdown") == markdown(run)
    assert out(capsys, str(saved), "--output-format", "html") == html(run)
    assert out(capsys, str(saved), "--output-format", "json") == saved.read_text()


def test_a_saved_run_on_one_line(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved.write_text(json.dumps(json.loads(saved.read_text())))
    assert out(capsys, str(saved)).startswith("4 of 6 checks failed")


@pytest.mark.parametrize("output_format", ["text", "json", "markdown", "html"])
@pytest.mark.parametrize("mode", ["text", "hash"])
def test_a_saved_run_without_prompt_text(
    here: Path, capsys: pytest.CaptureFixture[str], output_format: str, mode: str
) -> None:
    run = any_run(lambda: "x")
    divergence = run.scenarios[0].data["steps"][0]["divergence"]
    divergence |= {"lead": "s3cret in front of it", "before": "s3cret before it", "after": "s3cret after it"}
    run.scenarios[4].data["pairs"][0]["a"] = "s3cret question of the user"
    run.scenarios[0].data["steps"][2]["raised"] = "s3cret words of a template"
    run.scenarios[0].headline = "the template raises: s3cret words of a template"
    path = here / "run.json"
    path.write_text(json_text(run.as_dict()))
    text = out(capsys, str(path), "--output-format", output_format, "--redact", mode)
    assert "s3cret" not in text
    if output_format == "json":
        assert json.loads(text)["redact"] == mode
        assert ("characters, sha256" in text) == (mode == "hash")


def test_what_was_left_out_stays_out_and_checksums_can_go(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = any_run(lambda: "[20 characters, sha256 0123456789ab]", "hash")
    (here / "run.json").write_text(json_text(run.as_dict()))
    kept = json.loads(out(capsys, "run.json", "--output-format", "json"))
    assert kept["redact"] == "hash"
    less = json.loads(out(capsys, "run.json", "--output-format", "json", "--redact", "text"))
    assert less["redact"] == "text"
    assert less["scenarios"][0]["headline"] == "[20 characters]"
    assert less["scenarios"][0]["data"]["steps"][0]["divergence"]["before"] == "[20 characters]"


# Input that is neither.


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<<<<<<< HEAD\n", "lock.jsonl:1: a conflict marker of a merge: keep the lines of both sides"),
        ('{"test": "a", "schema": 9}\n', "lock.jsonl:1: written by a newer version (schema 9, this one reads 1)"),
        ('{"test": "a", "na', "lock.jsonl:1: not JSON: * (the file seems cut off); run the tests"),
        ('{"test": "a", "name": "b", "schema": 1}\n', "lock.jsonl:1: kind is missing"),
        ('["test"]\n', "lock.jsonl:1: a JSON object is meant, one entry a line"),
        ("# a comment\n", "lock.jsonl:1: not JSON"),
        ("[" * 100_000, "lock.jsonl:1: n*"),
    ],
)
def test_a_broken_lock_file(here: Path, capsys: pytest.CaptureFixture[str], text: str, says: str) -> None:
    (here / "lock.jsonl").write_text(text)
    line = refused(capsys, "lock.jsonl")
    assert re.match(re.escape(says).replace(r"\*", ".*"), line), line
    assert (here / "lock.jsonl").read_text() == text


def test_a_value_that_was_never_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(ENTRY)
    (here / LOCK).write_text((here / LOCK).read_text().replace('"tokens": 2000', '"tokens": -1'))
    assert refused(capsys).startswith(f"{LOCK}:1: tokens is -1, no such value was ever written")


def test_files_that_cannot_be_read(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys).startswith(f"there is no {LOCK} here: name a file, or run pytest --cachesafe-update")
    assert refused(capsys, "other.jsonl") == "other.jsonl: no such file"
    assert refused(capsys, ".") == ".: is a directory; name a file in it"
    (here / "latin").write_bytes(b"\xe9")
    assert refused(capsys, "latin").startswith("latin: not UTF-8 (byte 0)")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": 2}, "written by a newer version (schema 2, this one reads 1): upgrade"),
        ({"schema": None}, "no schema number, so no saved run"),
        ({"redact": "some"}, 'redact is "some", no such value was ever written'),
        ({"scenarios": {}}, "scenarios is {}, a list is meant"),
        ({"scenarios": [3]}, "scenarios[0] is 3, an object is meant"),
        ({"scenarios": [{"kind": "other"}]}, 'scenarios[0].kind is "other", no such value was ever written'),
        ({"scenarios": [{"kind": "stable"}]}, "scenarios[0].data is missing, an object is meant"),
        ({"regressions": [{"test": 1}]}, "regressions[0].test is 1, a text is meant"),
        ({"regressions": [{"test": "", "name": "", "message": "", "failed": 1}]}, "regressions[0].failed is 1, true"),
        ({"lint": "x"}, 'lint is "x", a list is meant'),
        ({"gate": [1]}, "gate is [1], a list of lines is meant"),
    ],
)
def test_a_broken_saved_run(saved: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], says: str) -> None:
    saved.write_text(json_text(json.loads(saved.read_text()) | change))
    line = refused(capsys, str(saved))
    assert line.startswith(f"run.json: {says}"), line


def test_a_saved_run_that_is_cut_off(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved.write_text(saved.read_text()[:5_000])
    line = refused(capsys, str(saved))
    assert line.startswith("run.json: not JSON")
    assert "(the file seems cut off); write it anew with pytest --cachesafe-report=json" in line


def test_a_saved_run_with_values_of_other_types_is_shown_all_the_same(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = json.loads(saved.read_text())
    for scenario in values["scenarios"]:
        scenario["data"] = dict.fromkeys(scenario["data"]) | {"steps": [1, {"tokens": "x"}], "toggles": 3}
    saved.write_text(json_text(values))
    for name in ("text", "markdown", "html"):
        assert out(capsys, str(saved), "--output-format", name)


def test_options_that_do_not_go_together(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(ENTRY)
    assert refused(capsys, str(saved), "--against", "main").startswith("--against compares lock files, and run.json")
    assert "html is for saved runs" in refused(capsys, "--output-format", "html")
    assert "did you mean 'html'?" in refused(capsys, "--output-format", "htm")
    assert "name the file instead of standard input" in _from_stdin(capsys)


def _from_stdin(capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.MonkeyPatch.context() as patch, open(LOCK) as file:
        patch.setattr("sys.stdin", file)
        return refused(capsys, "-", "--against", "main")


def test_git_that_cannot_tell(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    locked(ENTRY)
    assert refused(capsys, "--against", "main").startswith("--against main: git rev-parse: ")
    committed(ENTRY)
    assert refused(capsys, "--against", "nope").startswith("--against nope: git knows no 'nope' here: fetch it")
    assert refused(capsys, "--against=--output=x") == "--against --output=x: '--output=x' is no git ref"
    monkeypatch.setenv("PATH", "")
    assert refused(capsys, "--against", "main").startswith("--against main: git is not installed")


def test_a_broken_lock_file_on_the_other_branch(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(ENTRY)
    text = (here / LOCK).read_text()
    (here / LOCK).write_text("=======\n")
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "first")
    (here / LOCK).write_text(text)
    assert refused(capsys, "--against", "main").startswith(f"--against main: {LOCK} at main:1: a conflict marker")


# Text of others.


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_are_harmless(here: Path, capsys: pytest.CaptureFixture[str], payload: str) -> None:
    payload = plain(payload)
    locked(replace(WORSE, test=payload, name=payload, cause=payload, place=payload, kept={payload: 1}))
    (here / "run.json").write_text(json_text(any_run(lambda: payload).as_dict()))
    for words in (
        [LOCK], [LOCK, "--output-format", "markdown"], ["run.json"], ["run.json", "--output-format", "markdown"],
    ):  # fmt: skip
        text = out(capsys, *words)
        assert all(character == "\n" or character.isprintable() for character in text)
        assert not re.search(r"^\s*::|##(vso|teamcity)?\[", text, re.MULTILINE | re.IGNORECASE)
    for words in ([LOCK], ["run.json"]):
        text = out(capsys, *words, "--output-format", "json")
        assert text.isascii()
        assert "##[" not in text


def test_the_result_can_go_to_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(ENTRY)
    assert out(capsys, "--output-format", "markdown", "--output-file", "lock.md") == ""
    assert (here / "lock.md").read_text().startswith("## `cachesafe.lock.jsonl`")
    assert "the file is read as FILE" in refused(capsys, LOCK, "--output-file", LOCK)


def test_an_empty_ref_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--against", " "]) == 2
    assert "--against is empty: name a branch, tag or commit, as in --against main" in capsys.readouterr().err
