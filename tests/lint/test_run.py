"""Whole runs: what is read, what is reported, what goes wrong."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from lint_project import CLEAN, CLOCK, HELPER, PROMPT, UNSORTED, places, write

from cachesafe_rules.api import Context, Report
from cachesafe_rules.clock_in_prefix import ClockInPrefix
from cachesafe_rules.model import Span
from pytest_cachesafe.lint.options import LintOptions
from pytest_cachesafe.lint.run import lint, lint_text, run_lint
from pytest_cachesafe.usage import UsageError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACHESAFE_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path / "project", {"helper.py": HELPER, "prompt.py": PROMPT, "clean.py": CLEAN})


def test_a_project(project: Path) -> None:
    result = lint([project])
    assert places(result.findings) == [("prompt.py", 5, "CSF101")]
    assert (result.files, result.warnings, result.crashed) == (3, [], [])
    finding = result.findings[0]
    assert [(Path(step.filename).name, step.row) for step in finding.flow][:1] == [("helper.py", 5)]
    assert len(finding.data["fingerprint"]) == 16


def test_a_passed_file_decides_what_is_reported_not_what_is_read(project: Path) -> None:
    assert places(lint([project / "prompt.py"]).findings) == [("prompt.py", 5, "CSF101")]
    assert lint([project / "clean.py"]).findings == []


@pytest.mark.parametrize("cache", [False, True])
def test_a_flow_through_a_passed_helper_is_told_there(project: Path, cache: bool) -> None:
    whole = lint([project], cache=cache).findings[0]
    result = lint([project / "helper.py"], cache=cache)
    assert places(result.findings) == [("helper.py", 5, "CSF101")]
    finding = result.findings[0]
    assert finding.message.startswith("this value reaches the system message in prompt.py:5: ")
    assert (finding.location.column, finding.data["end_location"]) == (5, {"row": 5, "column": 38})
    assert finding.data["fingerprint"] == whole.data["fingerprint"]


NAMES = ("alpha", "beta", "gamma", "delta")


@st.composite
def programs(draw: st.DrawFn) -> dict[str, str]:
    """Modules that import each other's functions; some of them build prompts, some read the clock."""
    files = {}
    for index, name in enumerate(NAMES):
        above = draw(st.sets(st.sampled_from(NAMES[:index]), max_size=2)) if index else set()
        lines = ["from datetime import datetime", *(f"from {other} import text_{other}" for other in sorted(above)), ""]
        values = [f"{{text_{other}()}}" for other in sorted(above)]
        if draw(st.booleans()):
            values.append("{datetime.now()}")
        lines += [f"def text_{name}():", f'    return f"{name} {" ".join(values)}"', ""]
        if draw(st.booleans()):
            lines += [
                f"def build_{name}(question):",
                f'    return [{{"role": "system", "content": text_{name}()}}]',
                "",
            ]
        files[f"{name}.py"] = "\n".join(lines)
    return files


@hypothesis_settings(deadline=None, max_examples=25)
@given(programs())
def test_all_files_at_once_and_one_by_one(files: dict[str, str]) -> None:
    """Each finding is found through every file that has a part in it, and through no other."""
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder, "project"), files)
        whole = lint([root], cache=False).findings
        marks = {f.data["fingerprint"] for f in whole}
        single = {name: {f.data["fingerprint"] for f in lint([root / name], cache=False).findings} for name in files}
    assert set().union(*single.values()) == marks
    for finding in whole:
        part = {Path(name or "").name for name in (finding.location.filename, *(s.filename for s in finding.flow))}
        assert {name for name, found in single.items() if finding.data["fingerprint"] in found} == part


def test_tests_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"tests/test_prompt.py": CLOCK, "app.py": CLEAN})
    assert lint([root]).findings == []
    result = lint([root / "tests" / "test_prompt.py"])
    assert (result.findings, result.files) == ([], 0)
    assert result.warnings == ["tests/test_prompt.py: a test, left out (--include-tests)"]
    assert lint([root]).warnings == []
    assert places(lint([root], include_tests=True).findings) == [("test_prompt.py", 5, "CSF101")]
    write(root, {}, "[tool.cachesafe]\ntests = true\n")
    assert places(lint([root]).findings) == [("test_prompt.py", 5, "CSF101")]


def test_what_a_test_puts_into_a_function_is_not_the_function(tmp_path: Path) -> None:
    sink = 'def build(now):\n    return [{"role": "system", "content": f"It is {now}"}]\n'
    caller = "from datetime import datetime\nfrom app import build\n\n\ndef use():\n    build(datetime.now())\n"
    root = write(tmp_path / "p", {"app.py": sink, "test_app.py": caller})
    assert lint([root]).findings == []


def test_settings_per_file(tmp_path: Path) -> None:
    config = '[tool.cachesafe]\nper-file-ignores = { "legacy/*.py" = ["clock-in-prefix"] }\n'
    root = write(tmp_path / "p", {"legacy/a.py": CLOCK, "a.py": CLOCK, "part/a.py": CLOCK}, config)
    write(root / "part", {}, '[tool.cachesafe]\nignore = ["CSF1"]\n')
    found = lint([root]).findings
    assert [os.path.relpath(f.location.filename or "", root) for f in found] == ["a.py"]


@pytest.mark.parametrize("option", [{"select": ["CSF2"]}, {"ignore": ["CSF101"]}, {"select": ["daily-date"]}])
def test_rules_chosen_by_hand(project: Path, option: dict[str, Any]) -> None:
    assert lint([project], **option).findings == []


def test_suppressions_count(project: Path) -> None:
    text = PROMPT.replace("question}]\n", "question}]  # cachesafe: ignore[CSF101] a demo\n")
    write(project, {"prompt.py": text, "clean.py": CLEAN + "x = 1  # cachesafe: ignore[CSF104] no reason\n"})
    result = lint([project])
    assert result.suppressed == 1
    assert places(result.findings) == [("clean.py", 3, "CSF902")]
    # What is of use only in another file's finding is of use.
    write(project, {"prompt.py": PROMPT, "clean.py": CLEAN})
    write(project, {"helper.py": HELPER.replace("isoformat()", "isoformat()  # cachesafe: ignore[CSF101] a demo")})
    for paths in ([project], [project / "helper.py"], [project / "prompt.py"]):
        assert lint(paths, cache=False).findings == []


@pytest.fixture
def crashing(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(self: ClockInPrefix, context: Context) -> Iterator[Report]:
        raise ZeroDivisionError("a fault")
        yield

    monkeypatch.setattr(ClockInPrefix, "check", check)


@pytest.mark.usefixtures("crashing")
def test_a_rule_that_fails_is_named_and_the_others_go_on(project: Path) -> None:
    write(project, {"other.py": UNSORTED})
    for _ in range(2):
        outcome = run_lint(LintOptions((str(project),)))
        assert places(outcome.result.findings) == [("other.py", 2, "CSF201")]
        assert outcome.failed
        assert "CSF101 (clock-in-prefix) failed on prompt.py: ZeroDivisionError: a fault" in outcome.result.crashed


def test_a_rule_with_data_that_is_no_json(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(self: ClockInPrefix, context: Context) -> Iterator[Report]:
        for arrival in context.arrivals("clock"):
            yield Report("m", arrival.span, data={"x": object()})

    monkeypatch.setattr(ClockInPrefix, "check", check)
    outcome = run_lint(LintOptions((str(project),)))
    assert outcome.failed
    assert "CSF101 (clock-in-prefix) failed on prompt.py: TypeError" in outcome.result.crashed[0]


def test_the_garbage_collector_is_as_it_was(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lint([project])
    assert gc.isenabled()
    monkeypatch.setattr("pytest_cachesafe.lint.pipeline.Pipeline.run", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        lint([project], cache=False)
    assert gc.isenabled()


def test_nothing_is_executed(tmp_path: Path) -> None:
    hostile = f"import os\nos.mkdir({str(tmp_path / 'made')!r})\nraise SystemExit(3)\n"
    root = write(tmp_path / "p", {"helper.py": HELPER + hostile, "prompt.py": PROMPT, "conftest.py": hostile})
    assert len(lint([root]).findings) == 1
    assert not (tmp_path / "made").exists()
    assert "helper" not in sys.modules


def test_no_file_changes(project: Path) -> None:
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in project.rglob("*")}
    lint([project])
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in project.rglob("*")} == before


@pytest.mark.parametrize(
    ("data", "row"),
    [
        (b"x = 1\nx = = 1\n", 2),
        (b"x = 1\n\0\n", 2),
        (b"\x7fELF\x02\x01\x01\0\0\0\0", 1),
        (b"x = '\xff'\n", 1),
        (b"# coding: no-such-codec\n", 1),
        (b"x = 1\n  y = 2\n", 2),
    ],
)
def test_what_is_no_python_is_a_finding(data: bytes, row: int, project: Path) -> None:
    (project / "broken.py").write_bytes(data)
    result = lint([project])
    assert places(result.findings) == [("broken.py", row, "CSF901"), ("prompt.py", 5, "CSF101")]
    assert result.crashed == []


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python knows the syntax")
def test_newer_syntax_is_read_all_the_same(tmp_path: Path) -> None:
    newer = CLOCK.replace("def build(question)", "def build[T](question: T)")
    root = write(tmp_path / "p", {"a.py": newer})
    assert places(lint([root]).findings) == [("a.py", 5, "CSF101")]


@pytest.mark.parametrize("text", ["(" * 3000 + ")" * 3000, "x = " + "+".join(["1"] * 20_000), "[" * 500 + "]" * 500])
def test_deep_nesting(text: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"deep.py": f'SYSTEM_PROMPT = ""\n{text}\n', "clock.py": CLOCK})
    result = lint([root])
    assert ("clock.py", 5, "CSF101") in places(result.findings)
    assert result.crashed == []


def test_links_that_lead_in_a_circle(project: Path) -> None:
    (project / "loop").symlink_to(project, target_is_directory=True)
    (project / "self.py").symlink_to(project / "self.py")
    assert places(lint([project]).findings) == [("prompt.py", 5, "CSF101")]


def test_a_huge_file_is_skipped_with_a_warning(project: Path) -> None:
    with open(project / "huge.py", "wb") as file:
        file.truncate(50_000_000)
    result = lint([project])
    assert places(result.findings) == [("prompt.py", 5, "CSF101")]
    assert [line for line in result.warnings if line.startswith("huge.py: skipped: 50.0 MB")]


def test_a_file_that_goes_away_during_the_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_cachesafe.lint import discover

    found = discover.discover

    def slow(*args: Any) -> Any:
        result = found(*args)
        (project / "clean.py").unlink()
        return result

    monkeypatch.setattr(discover, "discover", slow)
    outcome = run_lint(LintOptions((str(project),)))
    assert places(outcome.result.findings) == [("prompt.py", 5, "CSF101")]
    assert outcome.failed
    assert "clean.py: cannot be read" in outcome.result.unread[0]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_file_that_cannot_be_read_stops_only_those_who_ask_for_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    """A commit hook passes what changed; that something else is closed to it is no fault of the change."""
    real = open

    def closed(file: Any, *args: Any, **more: Any) -> Any:
        if str(file).endswith("clean.py"):
            raise PermissionError(13, "Permission denied", str(file))
        return real(file, *args, **more)

    monkeypatch.setattr("builtins.open", closed)
    for name, asked in (("prompt.py", False), ("clean.py", True), ("", True)):
        outcome = run_lint(LintOptions((str(project / name),), cache=False, jobs=jobs))
        line = ["clean.py: cannot be read: Permission denied"]
        assert (outcome.failed, outcome.result.unread) == (asked, line if asked else [])
        assert outcome.result.warnings == ([] if asked else line)
        assert outcome.result.crashed == []
        assert len(outcome.result.findings) == (name != "clean.py")


def test_a_severity_that_there_is_not_is_the_fault_of_its_rule(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cachesafe_rules.sliding_window import SlidingWindow

    def check(self: object, context: Context) -> Iterator[Report]:
        yield Report("x", Span(context.filename, 1, 1, 1, 2), severity="fatal")

    monkeypatch.setattr(SlidingWindow, "check", check)
    monkeypatch.setattr(SlidingWindow, "needles", (b"role",))
    result = lint([project], cache=False)
    assert places(result.findings) == [("prompt.py", 5, "CSF101")]
    assert ["CSF303" in line and "not 'fatal'" in line for line in result.crashed] == [True]


@pytest.mark.parametrize(
    ("name", "files"), [("notes.md", 0), ("system_prompt.md", 1), ("a.j2", 1), ("prompts/a.yaml", 1)]
)
def test_a_template_is_something_to_lint_and_a_document_is_not(tmp_path: Path, name: str, files: int) -> None:
    """The same whether its folder is given or it is."""
    project = write(tmp_path / "p", {name: "You are {{ name }}.\n"})
    result = lint([project / name])
    assert result.files == files
    if files:
        assert lint([project]).files == files
    else:
        assert result.warnings == [f"{project / name}: no prompt template by its name"]
        with pytest.raises(UsageError, match="no prompt template in"):
            lint([project])


def test_nothing_to_lint(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no Python file and no prompt template in .*: nothing to lint"):
        lint([tmp_path])
    with pytest.raises(UsageError, match="no such file or folder"):
        lint([tmp_path / "missing.py"])


def test_several_projects_in_one_run(tmp_path: Path) -> None:
    one = write(tmp_path / "one", {"a.py": CLOCK})
    two = write(tmp_path / "two", {"a.py": CLOCK}, '[tool.cachesafe]\nignore = ["CSF101"]\n')
    found = lint([one, two]).findings
    assert [os.path.abspath(f.location.filename or "") for f in found] == [str(one / "a.py")]


def test_names_follow_the_current_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    assert lint(["."]).findings[0].location.filename == "prompt.py"
    monkeypatch.chdir(project.parent)
    assert lint(["project"]).findings[0].location.filename == "project/prompt.py"
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    assert lint([".."]).findings[0].location.filename == "../prompt.py"
    (project.parent / "aside").mkdir()
    monkeypatch.chdir(project.parent / "aside")
    assert lint([project]).findings[0].location.filename == str(project / "prompt.py")
    outcome = run_lint(LintOptions((str(project),), below_root=True))
    assert outcome.result.findings[0].location.filename == "prompt.py"
    assert outcome.sources("prompt.py") == PROMPT.split("\n")


def test_a_text_by_itself() -> None:
    assert places(lint_text(CLOCK)) == [("example.py", 5, "CSF101")]
    assert lint_text(CLOCK, select=["CSF2"]) == []
    assert places(lint_text(CLOCK, "test_x.py")) == [("test_x.py", 5, "CSF101")]
    with pytest.raises(UsageError, match="CSF1x"):
        lint_text(CLOCK, select=["CSF1x"])


@pytest.mark.usefixtures("crashing")
def test_a_text_by_itself_tells_faults() -> None:
    with pytest.raises(RuntimeError, match="CSF101"):
        lint_text(CLOCK)


@hypothesis_settings(deadline=None, max_examples=60)
@given(st.binary(max_size=200).map(lambda tail: b"SYSTEM_PROMPT = f'{now}'\n" + tail))
def test_any_bytes(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.py")
        path.write_bytes(data)
        result = lint([path], cache=False)
        assert result.crashed == []
        assert path.read_bytes() == data


def test_a_rule_that_wants_to_end_the_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cachesafe_rules.sliding_window import SlidingWindow

    def leave(self: object, context: object) -> None:
        raise SystemExit(0)

    monkeypatch.setattr(SlidingWindow, "check", leave)
    (tmp_path / "a.py").write_text("def f(c, messages):\n    return c.create(model='m', messages=messages[-9:])\n")
    result = lint([tmp_path / "a.py"], cache=False)
    assert any("CSF303" in line and "SystemExit" in line for line in result.crashed)
