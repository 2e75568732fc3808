"""Fixes are made whole or not at all, until nothing is left, and a second run changes nothing."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachesafe_rules.api import Applicability, Edit, Fix
from cachesafe_rules.model import Span
from pytest_cachesafe.lint.fix import Fixable, apply_fixes

NAME = "a.py"


def span(text: str, start: int, end: int) -> Span:
    rows = re.split(r"\r\n?|\n", text[:start]), re.split(r"\r\n?|\n", text[:end])
    return Span(NAME, len(rows[0]), len(rows[0][-1]) + 1, len(rows[1]), len(rows[1][-1]) + 1)


Rules = dict[str, tuple[str, Applicability, str]]
# What is found -> how it is mended: a word, the applicability, and what it becomes.
RULES: Rules = {
    r"\bset\(\w*\)": ("CSF201", "safe", r"sorted(\g<0>)"),
    r"\bnow\(\)": ("CSF101", "unsafe", "today()"),
    r"\btoday\(\)": ("CSF103", "suggestion", ""),
}
SEVERITY = {"CSF101": "error", "CSF103": "note", "CSF201": "warning"}


def linter(rules: Rules = RULES) -> Callable[[str], list[Fixable]]:
    """A linter of one file by patterns; what is inside `sorted(` is fine."""

    def lint(text: str) -> list[Fixable]:
        found = []
        for pattern, (code, level, new) in rules.items():
            for match in re.finditer(rf"(?<!sorted\(){pattern}", text):
                edit = Edit(span(text, match.start(), match.end()), match.expand(new))
                row = edit.span.row
                fix = Fix(f"mend {code}", level, (edit,) if level != "suggestion" else ())
                found.append(Fixable(code, SEVERITY.get(code, "warning"), row, f"{code} found", fix))
        return sorted(found, key=lambda f: f.row)

    return lint


def run(text: str, *, unsafe: bool = False, rules: Rules = RULES) -> tuple[str, list[str], list[str]]:
    lint = linter(rules)
    result = apply_fixes(text, lint(text), lint, unsafe=unsafe, filename=NAME)
    return result.text, [f.code for f in result.applied], [s.reason for s in result.skipped]


def test_safe_fixes_are_made_and_unsafe_ones_only_when_asked() -> None:
    text = "x = set(a), now()  # c\n"
    assert run(text) == ("x = sorted(set(a)), now()  # c\n", ["CSF201"], [])
    assert run(text, unsafe=True) == ("x = sorted(set(a)), today()  # c\n", ["CSF201", "CSF101"], [])


def test_a_suggestion_is_never_made() -> None:
    assert run("x = today()\n", unsafe=True) == ("x = today()\n", [], [])


def test_without_fixes_the_text_is_the_same() -> None:
    text = "\ufeffx = 1\r\n\ty = '\f'\r"
    assert apply_fixes(text, [], linter()).text is text


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_new_rows_end_as_the_file_s_rows_do(newline: str) -> None:
    rules: Rules = {r"\bset\(a\)": ("CSF201", "safe", "sorted(\n    set(a)\n)")}

    def lint(text: str) -> list[Fixable]:
        return [] if "sorted" in text else linter(rules)(text)

    text = newline.join(["x = 1", "y = set(a)", "z = 2", ""])
    wanted = newline.join(["x = 1", "y = sorted(", "    set(a)", ")", "z = 2", ""])
    assert apply_fixes(text, lint(text), lint).text == wanted


def manual(text: str, *fixes: tuple[str, str, str], after: list[Fixable] | None = None) -> tuple[str, list[str]]:
    """Replace (code, old, new); afterwards `after` is found."""
    told = []
    for code, old, new in fixes:
        at = text.index(old)
        told.append(Fixable(code, "error", 1, "m", Fix(code, "safe", (Edit(span(text, at, at + len(old)), new),))))
    result = apply_fixes(text, told, lambda changed: after or [])
    return result.text, [s.reason for s in result.skipped]


def test_of_overlapping_fixes_the_first_wins() -> None:
    calls: list[str] = []

    def lint(text: str) -> list[Fixable]:
        calls.append(text)
        return []

    text = "abcd\n"
    told = [
        Fixable("A1", "error", 1, "m", Fix("second", "safe", (Edit(span(text, 1, 3), "YY"),))),
        Fixable("A2", "error", 1, "m", Fix("first", "safe", (Edit(span(text, 0, 2), "X"),))),
    ]
    assert apply_fixes(text, told, lint).text == "Xcd\n"
    assert calls == ["Xcd\n"]


def test_edits_of_one_fix_are_made_together() -> None:
    text = "f(x)\n"
    fix = Fix("wrap", "safe", (Edit(span(text, 2, 2), "g("), Edit(span(text, 3, 3), ")")))
    result = apply_fixes(text, [Fixable("A1", "error", 1, "m", fix)], lambda t: [])
    assert result.text == "f(g(x))\n"


@pytest.mark.parametrize(
    "edits",
    [
        (Edit(Span(NAME, 1, 1, 1, 3), "a"), Edit(Span(NAME, 1, 2, 1, 4), "b")),
        (Edit(Span(NAME, 1, 1, 1, 1), "a"), Edit(Span(NAME, 1, 1, 1, 1), "b")),
        (Edit(Span(NAME, 1, 1, 1, 99), "a"),),
        (Edit(Span(NAME, 9, 1, 9, 1), "a"),),
        (Edit(Span(NAME, 1, 3, 1, 1), "a"),),
        (Edit(Span("b.py", 1, 1, 1, 2), "a"),),
    ],
)
def test_impossible_edits_are_refused_and_told(edits: tuple[Edit, ...]) -> None:
    told = [Fixable("A1", "error", 1, "m", Fix("bad", "safe", edits))]
    result = apply_fixes("abcd\n", told, lambda t: [], filename=NAME)
    assert result.text == "abcd\n"
    assert len(result.skipped) == 1


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("x", "x (", "not valid Python"),
        ("x = 1  # why", "x = 1", "remove a comment"),
        ("x", "x", "changes nothing"),
    ],
)
def test_a_fix_that_harms_is_taken_back(old: str, new: str, reason: str) -> None:
    text, [told] = manual("x = 1  # why\n", ("A1", old, new), after=[])
    assert text == "x = 1  # why\n"
    assert reason in told


def test_the_fix_of_an_unused_suppression_may_remove_its_comment() -> None:
    assert manual("x = 1  # why\n", ("CSF902", "  # why", "")) == ("x = 1\n", [])


def test_a_fix_that_does_not_help_is_taken_back() -> None:
    still = Fixable("A1", "error", 1, "m", None)
    text, reasons = manual("x = 1\n", ("A1", "1", "2"), after=[still])
    assert text == "x = 1\n"
    assert reasons == ["A1 is still reported afterwards"]


def test_a_fix_that_makes_other_findings_is_taken_back() -> None:
    worse = [Fixable("B1", "error", 1, "m", None), Fixable("B2", "note", 1, "m", None)]
    text, reasons = manual("x = 1\n", ("A1", "1", "2"), after=worse)
    assert text == "x = 1\n"
    assert reasons == ["more would be reported than before"]


def test_an_error_that_becomes_a_note_is_progress() -> None:
    assert manual("x = 1\n", ("A1", "1", "2"), after=[Fixable("B1", "note", 1, "m")]) == ("x = 2\n", [])


def test_of_a_folded_report_one_part_may_be_mended() -> None:
    text = "x = 1\n"
    fix = Fix("m", "safe", (Edit(span(text, 4, 5), "2"),))
    told = [Fixable("A1", "error", 1, "m", fix, reports=2)]
    assert apply_fixes(text, told, lambda t: [Fixable("A1", "error", 1, "m")]).text == "x = 2\n"


def test_one_bad_fix_does_not_stop_the_good_ones() -> None:
    rules = {**RULES, r"\bbad\(\)": ("CSF302", "safe", "bad( (")}
    assert run("x = bad()\ny = set(a)\nz = set(b)\n", rules=rules) == (
        "x = bad()\ny = sorted(set(a))\nz = sorted(set(b))\n",
        ["CSF201", "CSF201"],
        ["the result is not valid Python"],
    )


def test_fixes_that_undo_each_other_end() -> None:
    rules: Rules = {r"\bping\b": ("A1", "safe", "pong"), r"\bpong\b": ("A2", "safe", "ping")}
    text, applied, reasons = run("ping\n", rules=rules)
    assert (text, applied) == ("ping\n", [])
    assert reasons == ["more would be reported than before"]


def test_syntax_newer_than_python_is_no_fault_of_the_fix() -> None:
    text = "type A = int\nx = set(a)\n"
    assert run(text)[0] == "type A = int\nx = sorted(set(a))\n"


def comments(text: str) -> list[str]:
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in found if token.type == tokenize.COMMENT]


CODE = st.lists(
    st.sampled_from(
        [
            "x = set(a), set(b)",
            "y = [now(), set(a)]  # why",
            "if today():  # c\n    z = set(a); w = now()",
            "s = '''\n# no comment set(a)\n'''",
            "bad()  # c",
            "ping()",
            "",
        ]
    ),
    max_size=6,
)
HOSTILE: Rules = {
    **RULES,
    r"\bbad\(\)": ("B1", "safe", "bad( ("),
    r"  # why": ("B2", "safe", ""),
    r"\bping\b": ("B3", "safe", "pong"),
    r"\bpong\b": ("B4", "safe", "ping"),
    r"\bz = ": ("B5", "safe", "now(); now(); z = "),
}


@settings(deadline=None, max_examples=60)
@given(CODE, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_twice_changes_nothing_more_whatever_the_rules_do(rows: list[str], newline: str, unsafe: bool) -> None:
    text = "\n".join([*rows, ""]).replace("\n", newline)
    before = linter(HOSTILE)(text)
    once, applied, _ = run(text, unsafe=unsafe, rules=HOSTILE)
    ast.parse(once)
    assert comments(once) == comments(text)
    assert len(linter(HOSTILE)(once)) <= len(before)
    assert (once == text) is (applied == [])
    assert run(once, unsafe=unsafe, rules=HOSTILE)[:2] == (once, [])
    assert "\r" not in once.replace("\r\n", "")
    assert ("\r\n" in once) is ("\r\n" in text)


@settings(deadline=None, max_examples=60)
@given(st.text(), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.text(max_size=3)), max_size=4))
def test_no_text_and_no_edit_makes_it_fail(text: str, edits: list[tuple[int, int, str]]) -> None:
    made = tuple(Edit(Span(NAME, 1, start, 1, end), new) for start, end, new in edits)
    told = [Fixable("A1", "error", 1, "m", Fix("m", "safe", made))]
    result = apply_fixes(text, told, lambda t: [])
    assert result.text == text or result.applied
