"""`--cachesafe-lint`: findings as items beside the tests."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from lint_project import CLOCK, HELPER, PROMPT, write

NOTE = CLOCK.replace("datetime.now()", "datetime.now():%Y-%m-%d")
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _paths(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def linted(project: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    # For runs in a process of their own.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT), str(ROOT / "rules"))))
    project.ini()
    (project.path / "pyproject.toml").write_text("[tool.cachesafe]\n")
    project.test("def test_one(): pass")
    return project


def test_a_finding_is_an_item_that_fails(linted: Any) -> None:
    write(linted.path / "src", {"prompt.py": PROMPT, "helper.py": HELPER}, None)
    result = linted.run("--cachesafe-lint")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*_ CSF101 clock-in-prefix in src/prompt.py:5 _*",
            "src/prompt.py:5:43: error CSF101 *",
            "*src/helper.py:5: *",
            "*help: *",
            "FAILED src/prompt.py::CSF101:5 - src/prompt.py:5:43: error CSF101 *",
        ]
    )
    assert "Error" not in result.stdout.str().replace("error CSF101", "")


def test_off_unless_asked_for(linted: Any) -> None:
    write(linted.path, {"prompt.py": CLOCK}, None)
    linted.run().assert_outcomes(passed=1)


def test_a_clean_project_counts(linted: Any) -> None:
    result = linted.run("--cachesafe-lint", "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["cachesafe-lint::project PASSED*"])


def test_notes_do_not_fail(linted: Any) -> None:
    write(linted.path, {"prompt.py": NOTE}, None)
    result = linted.run("--cachesafe-lint")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*cachesafe notes*", "cachesafe-lint::project: prompt.py:5:43: CSF103 *"])


def test_the_ini_twin(linted: Any) -> None:
    write(linted.path, {"prompt.py": CLOCK}, None)
    linted.ini("cachesafe_lint = true")
    linted.run().assert_outcomes(passed=1, failed=1)


def test_selection(linted: Any) -> None:
    write(linted.path, {"a.py": CLOCK, "b.py": CLOCK}, None)
    linted.run("--cachesafe-lint", "-m", "cachesafe_lint", "--strict-markers").assert_outcomes(failed=2, deselected=1)
    linted.run("--cachesafe-lint", "-m", "not cachesafe_lint").assert_outcomes(passed=1, deselected=2)
    linted.run("--cachesafe-lint", "-k", "a.py").assert_outcomes(failed=1, deselected=2)
    linted.run("--cachesafe-lint", "-k", "CSF101 or test_one").assert_outcomes(passed=1, failed=2)
    linted.run("--cachesafe-lint", "--deselect", "a.py::CSF101:5").assert_outcomes(passed=1, failed=1, deselected=1)


def test_collect_only(linted: Any) -> None:
    write(linted.path, {"a.py": CLOCK}, None)
    result = linted.run("--cachesafe-lint", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["test_it.py::test_one", "a.py::CSF101:5"])


def test_two_of_one_rule_in_one_row(linted: Any) -> None:
    line = "def a(): return [{'role': 'system', 'content': f'{datetime.now()}'}]"
    text = f"from datetime import datetime\nif 1: \n    {line}\nb, c = lambda system_prompt=datetime.now(): 1, 2\n"
    write(linted.path, {"a.py": text}, None)
    result = linted.run("--cachesafe-lint", "--collect-only", "-q")
    names = [line for line in result.outlines if line.startswith("a.py::")]
    assert len(names) == len(set(names)) >= 1


def test_mistakes_in_the_configuration(linted: Any) -> None:
    (linted.path / "pyproject.toml").write_text("[tool.cachesafe]\nselct = []\n")
    result = linted.run("--cachesafe-lint", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*has no key 'selct'; did you mean 'select'?", "FAILED cachesafe-lint::project - *"])


def test_a_rule_that_fails(linted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from cachesafe_rules.clock_in_prefix import ClockInPrefix

    monkeypatch.setattr(ClockInPrefix, "check", lambda *_: 1 / 0)
    write(linted.path, {"a.py": CLOCK}, None)
    result = linted.run("--cachesafe-lint")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["CSF101 (clock-in-prefix) failed on a.py: ZeroDivisionError: division by zero"])


def test_junit_and_last_failed(linted: Any) -> None:
    write(linted.path, {"a.py": CLOCK}, None)
    linted.run("--cachesafe-lint", "--junitxml=j.xml")
    cases = ET.parse(linted.path / "j.xml").getroot().iter("testcase")
    assert {case.get("name"): len(case) for case in cases} == {"test_one": 0, "CSF101:5": 1}
    linted.run("--cachesafe-lint", "--lf").assert_outcomes(failed=1)


def test_under_xdist(linted: Any) -> None:
    pytest.importorskip("xdist")
    write(linted.path, {"a.py": CLOCK, "b.py": CLOCK}, None)
    linted.run_apart("-p", "xdist", "-n", "2", "--cachesafe-lint").assert_outcomes(passed=1, failed=2)


def test_nothing_loads_without_it(linted: Any) -> None:
    linted.test(
        "import sys\ndef test_two(): assert not [m for m in sys.modules if m.startswith('pytest_cachesafe.lint')]"
    )
    linted.run_apart().assert_outcomes(passed=1)


@pytest.fixture
def several(linted: Any) -> Any:
    write(linted.path, {"src/a.py": CLOCK, "src/b.py": CLOCK, "helper.py": HELPER, "prompt.py": PROMPT}, None)
    linted.test("def test_three(): pass", "tests/test_more.py")
    return linted


@pytest.mark.parametrize(
    ("args", "ids"),
    [
        ((), ["prompt.py::CSF101:5", "src/a.py::CSF101:5", "src/b.py::CSF101:5", "test_it.py::test_one"]),
        ((".",), ["prompt.py::CSF101:5", "src/a.py::CSF101:5", "src/b.py::CSF101:5", "test_it.py::test_one"]),
        (("src",), ["src/a.py::CSF101:5", "src/b.py::CSF101:5"]),
        (("src/a.py", "tests"), ["src/a.py::CSF101:5"]),
        # A flow is told where it passes through a file that was asked for.
        (("helper.py",), ["helper.py::CSF101:5"]),
        (("test_it.py",), ["test_it.py::test_one"]),
        (("test_it.py::test_one",), ["test_it.py::test_one"]),
        (("test_it.py::test_one", "src/b.py"), ["src/b.py::CSF101:5", "test_it.py::test_one"]),
        (("--ignore=src",), ["prompt.py::CSF101:5", "test_it.py::test_one"]),
        (("--ignore-glob=src/b*",), ["prompt.py::CSF101:5", "src/a.py::CSF101:5", "test_it.py::test_one"]),
        (("src/b.py::CSF101:5",), ["src/b.py::CSF101:5"]),
        (("src/b.py::CSF101:5", "test_it.py::test_one"), ["src/b.py::CSF101:5", "test_it.py::test_one"]),
    ],
)
def test_what_pytest_is_given_is_what_is_reported(several: Any, args: tuple[str, ...], ids: list[str]) -> None:
    result = several.run("--cachesafe-lint", "--collect-only", "-q", *args)
    assert sorted(line for line in result.outlines if "::" in line and "test_more" not in line) == ids


def test_testpaths_are_no_restriction(several: Any) -> None:
    several.ini("testpaths = tests")
    several.run("--cachesafe-lint").assert_outcomes(passed=1, failed=3)
    several.run("--cachesafe-lint", "tests").assert_outcomes(passed=1, failed=3)
    several.run("--cachesafe-lint", "tests/test_more.py").assert_outcomes(passed=1)
    pytest.importorskip("xdist")
    several.run_apart("-p", "xdist", "-n", "1", "--cachesafe-lint").assert_outcomes(passed=1, failed=3)


def test_an_id_that_was_printed_can_be_given(several: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    result = several.run("--cachesafe-lint")
    printed = [line.split()[1] for line in result.outlines if line.startswith("FAILED src/a.py")]
    several.run("--cachesafe-lint", *printed).assert_outcomes(failed=1)
    # Linted code is not imported.
    write(several.path, {"src/a.py": CLOCK + "\n\nraise RuntimeError\n"}, None)
    several.run("--cachesafe-lint", *printed).assert_outcomes(failed=1)
    monkeypatch.chdir(several.path / "src")
    several.run("--cachesafe-lint", "--rootdir", str(several.path), "a.py::CSF101:5").assert_outcomes(failed=1)
    write(several.path, {"src/a.py": "x = 1\n"}, None)
    gone = several.run("--cachesafe-lint", "--rootdir", str(several.path), *printed)
    assert gone.ret == pytest.ExitCode.USAGE_ERROR
    gone.stderr.fnmatch_lines(["ERROR: not found: src/a.py::CSF101:5 (no such finding, or no longer)"])
    several.run("--cachesafe-lint", "nowhere.py::CSF101:5").stderr.fnmatch_lines(
        ["ERROR: file or directory not found: nowhere.py"]
    )


def test_a_folder_without_source_is_nothing_to_lint(several: Any) -> None:
    (several.path / "docs").mkdir()
    assert several.run("--cachesafe-lint", "docs").ret == pytest.ExitCode.NO_TESTS_COLLECTED
