"""Results of earlier runs: the same as without them, whatever happened in between."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from lint_project import CLEAN, CLOCK, HELPER, PROMPT, UNSORTED, places, write

from pytest_cachesafe.lint import cache as module
from pytest_cachesafe.lint.flow.analysis import Analysis
from pytest_cachesafe.lint.run import lint

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache") / "own"
    monkeypatch.setenv("CACHESAFE_CACHE", str(folder))
    return folder / "lint"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = write(tmp_path / "project", {"helper.py": HELPER, "prompt.py": PROMPT, "clean.py": CLEAN, "other.py": CLOCK})
    age(root)
    return root


def age(root: Path, seconds: int = 100) -> None:
    """As if the files had been there for a while: what is new is not believed by its time."""
    then = time.time() - seconds
    for path in root.rglob("*.py"):
        os.utime(path, (then, then))


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that the flow analysis has looked at."""
    names: list[str] = []
    real = Analysis.analyse

    def analyse(self: Analysis, name: str) -> Any:
        names.append(name)
        return real(self, name)

    monkeypatch.setattr(Analysis, "analyse", analyse)
    return names


BOTH = [("other.py", 5, "CSF101"), ("prompt.py", 5, "CSF101")]


def test_an_unchanged_second_run_reads_no_source(project: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = lint([project])
    assert places(first.findings) == BOTH
    monkeypatch.setattr("pytest_cachesafe.lint.pipeline.Pipeline.run", lambda *_: 1 / 0)
    assert lint([project]) == first
    assert places(lint([project / "helper.py"]).findings) == [("helper.py", 5, "CSF101")]
    with pytest.raises(ZeroDivisionError):
        lint([project], cache=False)
    with pytest.raises(ZeroDivisionError):
        lint([project], select=["CSF101"])


def test_only_what_a_change_concerns_is_analysed_again(project: Path, cache: Path, analysed: list[str]) -> None:
    lint([project])
    analysed.clear()
    write(project, {"clean.py": CLEAN + "\n\ndef twice(a):\n    return 2 * a\n"})
    assert places(lint([project]).findings) == BOTH
    assert analysed == []
    write(project, {"helper.py": HELPER.replace("datetime.now().isoformat()", '"noon"')})
    assert places(lint([project]).findings) == BOTH[:1]
    assert analysed == ["prompt.py"]


def test_a_touched_file_is_not_a_changed_one(project: Path, cache: Path, analysed: list[str]) -> None:
    lint([project])
    analysed.clear()
    age(project, 50)
    assert places(lint([project]).findings) == BOTH
    assert analysed == []


@pytest.mark.parametrize("paths", [[""], ["other.py"]])
def test_a_change_too_quick_for_the_clock(paths: Sequence[str], project: Path, cache: Path) -> None:
    """Written again within the same tick, with the same size: the time says nothing."""
    facts = (project / "other.py").stat()
    now = time.time_ns()
    for text, expected in ((CLOCK, 1), (CLOCK.replace("datetime.now()", '"noon time "  '), 0), (CLOCK, 1)):
        (project / "other.py").write_text(text)
        os.utime(project / "other.py", ns=(now, now))
        assert (project / "other.py").stat().st_size == facts.st_size
        found = lint([project / path for path in paths]).findings
        assert len([f for f in places(found) if f[0] == "other.py"]) == expected


def test_young_files_are_believed_once_they_are_old(
    project: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(project, 1)
    first = lint([project])
    stored = json.loads(next(cache.glob("*.run.json")).read_text())
    assert sorted(stored["racy"]) == ["clean.py", "helper.py", "other.py", "prompt.py"]
    later = time.time_ns() + 10_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: later)
    assert lint([project]) == first
    assert json.loads(next(cache.glob("*.run.json")).read_text())["racy"] == []


def test_a_new_file_that_takes_an_import_over(project: Path, cache: Path) -> None:
    write(project, {"sub/prompt.py": PROMPT, "sub/other.py": CLEAN})
    (project / "prompt.py").unlink()
    (project / "other.py").unlink()
    (project / "helper.py").rename(project / "sub" / "helper.py")
    assert places(lint([project]).findings) == [("prompt.py", 5, "CSF101")]
    write(project, {"helper.py": 'def stamp():\n    return "noon"\n'})
    assert lint([project]) == lint([project], cache=False)
    (project / "helper.py").unlink()
    (project / "sub" / "helper.py").unlink()
    assert lint([project]).findings == lint([project], cache=False).findings == []


def test_a_new_file_that_takes_over_the_import_of_a_helper(project: Path, cache: Path) -> None:
    """The file with the prompt does not name it, nor does the helper that it imports hold a sink."""
    write(project, {"sub/helper.py": "from source import now\n\n\ndef stamp():\n    return now()\n",
                    "sub/prompt.py": PROMPT, "sub/source.py": "def now():\n    return 'noon'\n"})  # fmt: skip
    (project / "helper.py").unlink()
    (project / "prompt.py").unlink()
    assert "sub/prompt.py" not in {found[0] for found in places(lint([project]).findings)}
    write(project, {"source.py": "from datetime import datetime\n\n\ndef now():\n    return datetime.now()\n"})
    found = lint([project])
    assert found == lint([project], cache=False)
    assert any(step.filename.endswith("source.py") for finding in found.findings for step in finding.flow)


def test_a_run_on_one_file_does_not_hide_what_another_needs(project: Path, cache: Path) -> None:
    lint([project])
    write(project, {"late/helper.py": HELPER})
    lint([project / "other.py"])
    assert lint([project]) == lint([project], cache=False)
    write(project, {"helper.py": HELPER.replace("datetime.now().isoformat()", '"noon"')})
    lint([project / "other.py"])
    assert lint([project]) == lint([project], cache=False)


TEXTS = {
    "helper.py": (HELPER, HELPER.replace("datetime.now().isoformat()", '"noon"'), None),
    "prompt.py": (PROMPT, CLOCK, CLEAN, PROMPT + "# cachesafe: ignore[CSF101]\n", "def f(:\n"),
    "other.py": (UNSORTED, PROMPT, "SYSTEM_PROMPT = open('x').read()\n", None),
    "pkg/__init__.py": ("", HELPER, None),
    "pkg/helper.py": (HELPER, CLEAN, None),
}
CHANGES = [(name, index) for name, texts in TEXTS.items() for index in range(len(texts))]


@hypothesis_settings(deadline=None, max_examples=12)
@given(
    st.lists(st.sampled_from([(n, i) for n, t in TEXTS.items() for i in range(len(t))]), min_size=1, max_size=8),
    st.data(),
)
def test_any_history_of_changes(changes: list[tuple[str, int]], data: st.DataObject) -> None:
    """With the cache and without it, the same."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACHESAFE_CACHE", str(Path(folder, "cache")))
        root = write(Path(folder, "project"), {"helper.py": HELPER, "prompt.py": PROMPT})
        for name, index in changes:
            text = TEXTS[name][index]
            if text is None:
                (root / name).unlink(missing_ok=True)
            else:
                write(root, {name: text})
            if data.draw(st.booleans()):
                age(root)
            if data.draw(st.booleans()):
                lint([root / "prompt.py"])
            assert lint([root]) == lint([root], cache=False)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[1, 2]",
        b"null",
        b'{"version": 99}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"version": 2, "table": 3, "result": []}',
        b'{"version": 2, "files": [], "units": 3, "done": null}',
        b'{"version": 2, "files": {"prompt.py": 1}, "units": {"prompt.py": {"used": 0}}, "done": {}}',
        b'{"version": 2, "used": {"names": ["x"], "sets": [["", [3]]]}, "units": {"prompt.py": {"used": -1}}}',
        b'{"version": 2, "used": {"names": ["x"], "sets": [["", [0]]]}, "units": {"prompt.py": {"used": 7}}}',
    ],
)
def test_a_damaged_cache_is_as_good_as_none(damage: bytes, project: Path, cache: Path) -> None:
    first = lint([project])
    for path in cache.iterdir():
        path.write_bytes(damage)
    assert lint([project]) == first
    assert lint([project]) == first


def test_damage_inside(project: Path, cache: Path) -> None:
    first = lint([project])
    for path in cache.glob("*.json"):
        stored = json.loads(path.read_text())
        for unit in stored.get("units", {}).values():
            unit["hits"] = [["half", "a", "hit"]]
        for kept in stored.get("done", {}).values():
            kept[1] = [[[1, 2]], 5]
        if "result" in stored:
            stored["result"] = [[["CSF101"]], 1]
        path.write_text(json.dumps(stored))
    write(project, {"clean.py": CLEAN + "x = 1\n"})
    assert places(lint([project]).findings) == places(first.findings)


def test_nothing_is_kept_in_the_tree(project: Path, cache: Path) -> None:
    before = sorted(project.rglob("*"))
    lint([project])
    assert sorted(project.rglob("*")) == before
    assert sorted(path.suffixes[-2] for path in cache.iterdir()) == [".run", ".units"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in cache.iterdir())


def test_without_a_folder_for_it(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path / "file"))
    assert places(lint([project]).findings) == BOTH


def test_fixes_are_made_when_they_are_asked_for(project: Path, cache: Path) -> None:
    """Whatever an earlier run kept of the same files."""
    from pytest_cachesafe.lint.options import LintOptions
    from pytest_cachesafe.lint.run import run_lint

    def fixes(*, wanted: bool) -> list[bool]:
        result = run_lint(LintOptions((str(project),), fixes=wanted)).result
        return [bool(finding.data["fix"]) for finding in result.findings if finding.code == "CSF201"]

    write(
        project,
        {"tags.py": "def ask(tags):\n    system_prompt = 'Tags: ' + ', '.join(set(tags))\n    return system_prompt\n"},
    )
    assert fixes(wanted=False) == [False]
    assert fixes(wanted=True) == [True]
    assert fixes(wanted=True) == [True]
    write(project, {"clean.py": CLEAN + "x = 1\n"})
    assert fixes(wanted=False) == [False]
    assert fixes(wanted=True) == [True]


def test_a_crash_is_not_kept(project: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Analysis, "analyse", lambda *_: 1 / 0)
        assert len(lint([project]).crashed) == 2
    assert places(lint([project]).findings) == BOTH


def test_two_processes_at_once(project: Path, cache: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "rules")))}
    command = [sys.executable, "-m", "pytest_cachesafe", "lint", str(project), "--output-format", "json"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(3)]
    texts = {process.communicate()[0] for process in running}
    assert len(texts) == 1
    assert len(json.loads(texts.pop())) == 2
    assert not [path for path in cache.iterdir() if path.suffix == ".tmp"]


def test_the_folder_stays_small(project: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_FILES", 6)
    monkeypatch.setattr(module, "_KEPT_FILES", 4)
    for code in ("CSF101", "CSF102", "CSF103", "CSF104", "CSF105", "CSF106"):
        lint([project], select=[code])
        assert len(list(cache.iterdir())) <= 6
    monkeypatch.setattr(module, "_MOST_BYTES", 10)
    for path in cache.iterdir():
        path.unlink()
    assert places(lint([project]).findings) == BOTH
    assert list(cache.iterdir()) == []


def test_text_that_is_not_on_disk_is_not_mixed_with_what_is(project: Path, cache: Path) -> None:
    from pytest_cachesafe.lint.options import LintOptions
    from pytest_cachesafe.lint.run import run_lint

    quiet = HELPER.replace("datetime.now().isoformat()", '"noon"').encode()
    for _ in range(2):
        assert places(lint([project]).findings) == BOTH
        assert places(lint([project / "helper.py"]).findings) == [("helper.py", 5, "CSF101")]
        options = LintOptions(stdin=quiet, stdin_filename=str(project / "helper.py"))
        assert run_lint(options).result.findings == []


def test_what_a_large_run_left_unparsed_is_parsed_in_a_small_one(
    project: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, {"broken.py": "messages = (\n" + "\n" * 50})
    with monkeypatch.context() as patch:
        patch.setattr("pytest_cachesafe.lint.pipeline._PARSE_ALL_BYTES", 10)
        assert places(lint([project]).findings) == BOTH
    write(project, {"clean.py": CLEAN + "x = 1\n"})
    assert places(lint([project / "broken.py"]).findings) == [("broken.py", 1, "CSF901")]
