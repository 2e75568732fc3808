"""Findings for people: one line each, or with source, path and advice."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from lint_findings import edit, finding, sources_of

from pytest_cachesafe.lint.result import LintResult
from pytest_cachesafe.report.lint import render
from pytest_cachesafe.report.lint.frame import frame, source_line
from pytest_cachesafe.report.lint.place import Place
from pytest_cachesafe.report.visible import display_width

AGENT = """from app.util import stamp

def prompt():
    header = "You help."
    return f"{header} It is {stamp()}."
"""
UTIL = "def stamp():\n    return datetime.now().isoformat()\n"
FOUND = finding(
    row=5,
    column=12,
    end=(5, 40),
    flow=[("app/util.py", 2, "datetime.now reads the clock"), ("app/agent.py", 5, "becomes part of a string")],
    help="put it into the newest user message\nor offer a tool",
    confidence="medium",
    fix={"message": "pin it", "applicability": "unsafe", "edits": [edit((5, 29), (5, 36), "DAY")]},
)


def concise(*findings: object) -> str:
    return render("concise", LintResult(list(findings)), sources=lambda name: None)  # type: ignore[arg-type]


def full(*findings: object, **texts: str) -> str:
    return render("full", LintResult(list(findings)), sources=sources_of(**texts))  # type: ignore[arg-type]


def test_concise_is_one_line_a_finding() -> None:
    second = finding("CSF203", "unsorted", "note", filename="b.py", row=3, column=7, name="unsorted-json")
    assert concise(FOUND, second) == (
        "app/agent.py:5:12: CSF101 the clock reaches the system message [clock-in-prefix]\n"
        "b.py:3:7: CSF203 unsorted [unsorted-json]\n"
    )


def test_nothing_found_is_no_output() -> None:
    assert concise() == full() == ""


def test_a_message_of_two_lines_stays_on_one() -> None:
    assert concise(finding(message="one\ntwo")).count("\n") == 1


def test_full_shows_source_path_advice_and_fix() -> None:
    assert full(FOUND, app__agent=AGENT, app__util=UTIL).splitlines() == [
        "app/agent.py:5:12: error CSF101 the clock reaches the system message [clock-in-prefix]",
        '  5 |     return f"{header} It is {stamp()}."',
        "    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        "  from where it arises to where it arrives:",
        "    app/util.py:2: datetime.now reads the clock",
        "      2 | return datetime.now().isoformat()",
        "    app/agent.py:5: becomes part of a string",
        "  confidence: medium",
        "  help: put it into the newest user message",
        "  help: or offer a tool",
        "  fix: pin it (--fix --unsafe-fixes applies it)",
    ]


def test_a_blank_line_lies_between_findings() -> None:
    assert full(finding(row=1), finding(row=2)).split("\n\n")[1].startswith("app/agent.py:2:1:")


def test_a_fix_in_words_names_no_flag() -> None:
    shown = full(finding(fix={"message": "offer a tool", "applicability": "suggestion", "edits": []}))
    assert shown.endswith("  fix: offer a tool\n")


def test_files_that_cannot_be_read_are_told_without_source() -> None:
    assert " | " not in full(FOUND)


def test_long_paths_are_cut_in_the_middle_and_say_so() -> None:
    shown = full(finding(flow=[("a.py", n, f"step {n};") for n in range(1, 41)]))
    assert "step 1;" in shown
    assert "step 40;" in shown
    assert "step 20;" not in shown
    assert "... 24 more steps" in shown


def test_one_step_too_many_is_told_as_one() -> None:
    shown = full(finding(flow=[("a.py", n, f"step {n};") for n in range(1, 18)]))
    assert "... 1 more step (" in shown
    assert shown.count("step ") == 16 + 1


def test_long_statements_show_their_first_rows_and_the_last() -> None:
    lines = ["call(", *[f"    part_{n}," for n in range(20)], ")"]
    shown = frame(lines, Place("a.py", 1, 1, 22, 2))
    assert [line.strip() for line in shown] == [
        "1 | call(",
        "| ^^^^^",
        "2 |     part_0,",
        "3 |     part_1,",
        ".. | …",
        "22 | )",
    ]


def test_rows_and_columns_behind_the_end_do_no_harm() -> None:
    assert frame(["x"], Place("a.py", 2, 1, 2, 2)) == []
    assert frame(["x"], Place("a.py", 1, 50, 1, 60)) == ["  1 | x", "    |  ^"]
    assert source_line(["x"], 0) is None
    assert source_line(None, 1) is None


_PARTS = st.text(st.sampled_from("ab\t日\u0301\u202e\x1b\U0001f600#[:é")).map(lambda s: s.replace("Q", ""))


@settings(deadline=None)
@given(_PARTS, _PARTS.map(lambda text: text + "z"))
def test_the_mark_is_under_the_first_character(before: str, behind: str) -> None:
    row, mark = frame([f"{before}Q{behind}"], Place("a.py", 1, len(before) + 1, 1, len(before) + 2))
    assert mark.strip("^ |") == ""
    assert mark.count("^") == 1
    assert display_width(row[: row.index("Q")]) == mark.index("^")


@settings(deadline=None)
@given(st.text(st.characters(), max_size=400), st.integers(1, 400), st.integers(0, 400))
def test_frames_fit_the_screen_and_mark_something(line: str, column: int, length: int) -> None:
    for shown in (out := frame([line], Place("a.py", 1, column, 1, column + length))):
        assert display_width(shown) <= 120
        assert shown.isprintable()
    assert "^" in out[1]


def test_a_line_of_megabytes_is_cut_around_the_mark() -> None:
    row, mark = frame(["x" * 3_000_000 + "HERE" + "y" * 3_000_000], Place("a.py", 1, 3_000_001, 1, 3_000_005))
    assert row[mark.index("^") :].startswith("HERE")
    assert mark.count("^") == 4
    assert row.endswith("…")


def test_tabs_are_shown_as_columns() -> None:
    row, mark = frame(["\ta\tb"], Place("a.py", 1, 4, 1, 5))
    assert row == "  1 |     a   b"
    assert mark.index("^") == row.index("b")
