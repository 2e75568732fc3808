"""Which comment silences which report, and which comments are told as useless."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachesafe_rules.model import Span
from pytest_cachesafe.lint.confirm import Located
from pytest_cachesafe.lint.directives import directives
from pytest_cachesafe.lint.suppress import Problem, Suppressions

KNOWN = {
    "CSF101": "clock-in-prefix",
    "CSF103": "daily-date",
    "CSF201": "unordered-set",
    "CSF902": "unused-suppression",
    "CSF903": "unknown-suppression",
    "CSF904": "bare-suppression",
    "ACM100": "house-rule",
}
ALL = frozenset(KNOWN)


def suppressions(**texts: str) -> Suppressions:
    """Files by name without ending."""
    files = {f"{name}.py": text for name, text in texts.items()}
    return Suppressions(KNOWN, lambda name: Located(files[name], name) if name in files else None)


def place(text: str, code: str, filename: str = "a.py") -> Span:
    offset = text.index(code)
    row, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
    end = offset + len(code)
    return Span(filename, row, column, text.count("\n", 0, end) + 1, end - text.rfind("\n", 0, end))


def silenced(text: str, code: str, rule: str = "CSF101") -> bool:
    return suppressions(a=text).silences(rule, place(text, code))


def problems(text: str, *told: tuple[str, str], strict: bool = False, active: frozenset[str] = ALL) -> list[Problem]:
    """The problems of a file in which these (rule, code) were reported."""
    found = suppressions(a=text)
    for rule, code in told:
        found.silences(rule, place(text, code))
    return found.problems("a.py", active, strict)


def mended(text: str, problem: Problem) -> str:
    assert problem.fix is not None
    assert problem.fix.applicability == "safe"
    rows = text.split("\n")
    for edit in problem.fix.edits:
        span = edit.span
        head = "\n".join([*rows[: span.row - 1], rows[span.row - 1][: span.column - 1]])
        tail = "\n".join([rows[span.end_row - 1][span.end_column - 1 :], *rows[span.end_row :]])
        text = head + edit.text + tail
    return text


@pytest.mark.parametrize(
    "comment",
    [
        "# cachesafe: ignore[CSF101]",
        "# cachesafe: ignore[CSF101] the clock is frozen in this demo",
        "#cachesafe:ignore[ csf101 ]",
        "# cachesafe: ignore[CSF103, clock-in-prefix]",
        "# cachesafe: ignore[CSF1]",
        "# cachesafe: ignore[CSF]",
        "# cachesafe: ignore",
        "# cachesafe: ignore for a demo",
        "# CACHESAFE: IGNORE[CSF101]",
        "# type: ignore  # cachesafe: ignore[CSF101]",
        "# cachesafe: ignore[CSF201]  # noqa: CSF101",
        "# noqa",
        "# NOQA",
        "# noqa  # what a line",
        "# noqa: CSF101",
        "# noqa:CSF101",
        "# noqa: E501,CSF101",
        "# noqa: E501 CSF1",
        "# noqa: csf101 the clock is wanted",
    ],
)
def test_a_comment_on_the_row_silences(comment: str) -> None:
    assert silenced(f"x = now()  {comment}\n", "x = now()")


@pytest.mark.parametrize(
    "comment",
    [
        "# cachesafe: ignore[CSF103]",
        "# cachesafe: ignore[CSF2]",
        "# cachesafe: ignore[daily-date]",
        "# cachesafe: ignore[]",
        "# cachesafe: ignore[CSF101",
        "# cachesafe: ignore[CSF10x]",
        "# cachesafe: ignored by the cache",
        "# cachesafe ignore[CSF101]",
        "# noqa: E501",
        "# noqa: this line is long",
        "# flake8: noqa",
        "# nonoqa",
        "# noqa-ish",
        "# type: ignore",
        "# cachesafe: ignore-file[CSF101]",
    ],
)
def test_other_comments_do_not(comment: str) -> None:
    assert not silenced(f"x = now()  {comment}\n", "x = now()")


def test_a_rule_of_another_package_is_silenced_by_name_and_by_noqa() -> None:
    for comment in ("# noqa: ACM100", "# cachesafe: ignore[house-rule]", "# cachesafe: ignore[ACM]"):
        assert silenced(f"x = now()  {comment}\n", "x = now()", "ACM100")
    assert not silenced("x = now()  # cachesafe: ignore[ACM]\n", "x = now()")


MANY_ROWS = '''
def build(history):  # D
    # A
    system = f"""It is  # I
    {now()}.
    """  # S
    text = call(  # F
        one,  # M
        now(),  # N
    )  # L
    # B
    return [text]
'''


@pytest.mark.parametrize(
    ("mark", "code", "counts"),
    [
        ("S", 'system = f"""It is  # I\n    {now()}.\n    """', True),  # behind a string of several rows
        ("I", 'system = f"""It is  # I\n    {now()}.\n    """', False),  # inside a string
        ("A", 'system = f"""It is  # I\n    {now()}.\n    """', False),  # a row above
        ("F", "now(),", True),  # first and last row of the statement around
        ("L", "now(),", True),
        ("N", "now(),", True),
        ("M", "now(),", False),  # another argument's row
        ("M", "text = call(  # F\n        one,  # M\n        now(),  # N\n    )", True),
        ("B", "return [text]", False),
        ("D", "return [text]", True),  # the function around
        ("F", "return [text]", False),
    ],
)
def test_the_rows_that_count(mark: str, code: str, counts: bool) -> None:
    place_of = place(MANY_ROWS, code)
    text = MANY_ROWS.replace(f"# {mark}\n", "# cachesafe: ignore[CSF101]\n")
    assert suppressions(a=text).silences("CSF101", place_of) is counts


@pytest.mark.parametrize("comment", ["# noqa", "# noqa: CSF101"])
def test_a_noqa_at_the_def_is_for_the_def_only(comment: str) -> None:
    text = f"def build():  {comment}\n    return now()\n"
    assert not silenced(text, "return now()")
    assert silenced(text, "def build():")


def test_the_innermost_function_counts_decorators_included() -> None:
    text = (
        "@a  # 1\n@b(\n    c,  # 2\n)\ndef outer(\n    d,  # 3\n):\n    def inner():  # 4\n        x = 1\n    y = 2\n"
    )
    for mark in "1234":
        marked = text.replace(f"# {mark}", "# cachesafe: ignore")
        inner, outer = place(text, "x = 1"), place(text, "y = 2")
        assert suppressions(a=marked).silences("CSF101", inner) is (mark == "4")
        assert suppressions(a=marked).silences("CSF101", outer) is (mark != "4")


def test_of_a_compound_statement_the_head_counts_and_not_the_body() -> None:
    text = "if (a  # 1\n        and now()):  # 2\n    x = 1  # 3\nelse:  # 4\n    pass\n"
    span = place(text, "if (a  # 1\n        and now()):")
    for mark in "1234":
        marked = text.replace(f"# {mark}", "# noqa")
        assert suppressions(a=marked).silences("CSF101", span) is (mark in "12")


def test_a_comment_where_the_value_arises_silences_flows_from_it() -> None:
    source, sink = "def today():\n    return now(  # cachesafe: ignore[CSF101] pinned\n    )\n", "x = today()\n"
    at = place(sink, "x = today()", "b.py")
    origin, other = place(source, "now("), place(sink, "today()", "b.py")
    assert suppressions(a=source, b=sink).silences("CSF101", at, [origin])
    assert not suppressions(a=source, b=sink).silences("CSF103", at, [origin])
    assert not suppressions(a=source, b=sink).silences("CSF101", at, [])
    # One silenced source of two leaves the report.
    assert not suppressions(a=source, b=sink).silences("CSF101", at, [origin, other])
    used = suppressions(a=source, b=sink)
    used.silences("CSF101", at, [origin])
    assert used.problems("a.py", ALL) == []


@pytest.mark.parametrize(
    ("text", "works"),
    [
        ("# cachesafe: ignore-file[CSF101]\nx = now()\n", True),
        ("'''Doc.'''\n\nimport os\n# cachesafe: ignore-file\nx = now()\n", True),
        ("import os  # cachesafe: ignore-file\nx = now()\n", False),
        ("x = now()\n# cachesafe: ignore-file[CSF201]\n", False),
        ("'''\n# cachesafe: ignore-file\n'''\nx = now()\n", False),
        ("# licence\n" * 30 + "# cachesafe: ignore-file[CSF1]\nx = now()\n", True),
        ("'''Doc.'''\n" + "# licence\n" * 30 + "# cachesafe: ignore-file[CSF1]\nx = now()\n", True),
        ("import os\n" * 20 + "# cachesafe: ignore-file\nx = now()\n", False),
    ],
)
def test_a_file_is_silenced_from_its_head(text: str, works: bool) -> None:
    assert silenced(text, "x = now()") is works


def test_a_file_level_comment_out_of_place_says_so() -> None:
    [problem] = problems("import os\n" * 20 + "# cachesafe: ignore-file[CSF101]\n")
    assert problem.code == "CSF902"
    assert "first 20 rows" in problem.message
    assert problem.span.row == 21


def test_nothing_in_a_string_is_a_suppression() -> None:
    text = 'x = """\n# cachesafe: ignore[CSF999]\n# noqa: CSF101\n""" + now()  \n'
    assert not silenced(text, "x = ")
    assert problems(text) == []


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_backslashes_tabs_and_wide_characters(newline: str) -> None:
    text = "if a:\n\tü = 'ö' + \\\n\t\tnow()  # cachesafe: ignore[CSF101]\n\f\n"
    text += "b = '日本' + now()  # cachesafe: ignore[CSF201]\n"
    text = text.replace("\n", newline)
    first, second = Span("a.py", 2, 2, 3, 8), Span("a.py", 5, 1, 5, 17)
    found = suppressions(a=text)
    assert found.silences("CSF101", first)
    assert not found.silences("CSF101", second)
    [unused] = found.problems("a.py", ALL)
    assert (unused.code, unused.span) == ("CSF902", Span("a.py", 5, 19, 5, 46))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # cachesafe: ignore[CSF101] why\ny = 2\n", "x = 1\ny = 2\n"),
        ("x = 1\n    # cachesafe: ignore[CSF101]\ny = 2\n", "x = 1\ny = 2\n"),
        ("x = 1  # cachesafe: ignore", "x = 1"),
        ("# cachesafe: ignore", ""),
        ("x = 1  # keep  # cachesafe: ignore[CSF101]\n", "x = 1  # keep\n"),
        ("x = 1  # cachesafe: ignore[CSF101] why  # keep\n", "x = 1  # keep\n"),
        ("x = 1  # noqa: CSF101\n", "x = 1\n"),
        ("x = 1  # noqa: E501, CSF101 why\n", "x = 1  # noqa: E501 why\n"),
        ("x = 1  # noqa: CSF101, E501\n", "x = 1  # noqa: E501\n"),
        ("# cachesafe: ignore-file[CSF201] why\nx = 1\n", "x = 1\n"),
    ],
)
def test_the_fix_of_an_unused_one_removes_it_and_nothing_else(before: str, after: str) -> None:
    [problem] = problems(before)
    assert problem.code == "CSF902"
    assert mended(before, problem) == after


def test_of_several_codes_the_unused_ones_are_told() -> None:
    text = "x = now()  # cachesafe: ignore[CSF101, CSF103, unordered-set] why\n"
    [problem] = problems(text, ("CSF101", "x = now()"))
    assert "CSF103, unordered-set" in problem.message
    assert mended(text, problem) == "x = now()  # cachesafe: ignore[CSF101] why\n"


@pytest.mark.parametrize("comment", ["# noqa", "# noqa: E501", "# noqa: F401,E501", "# noqa: see below"])
def test_other_linters_comments_are_never_told(comment: str) -> None:
    assert problems(f"x = 1  {comment}\n", strict=True) == []


def test_used_ones_are_not_told() -> None:
    text = "x = now()  # cachesafe: ignore[CSF1]\n"
    assert problems(text, ("CSF103", "x = now()")) == []


def test_of_rules_that_did_not_run_nothing_is_said() -> None:
    assert problems("x = 1  # cachesafe: ignore[CSF103]\n", active=frozenset({"CSF101"})) == []
    assert problems("x = 1  # cachesafe: ignore[CSF1]\n", active=frozenset({"CSF101"})) == []
    assert problems("x = 1  # cachesafe: ignore\n", active=frozenset({"CSF101"})) == []
    assert [p.code for p in problems("x = 1  # cachesafe: ignore[CSF101]\n", active=frozenset({"CSF101"}))] == [
        "CSF902"
    ]


@pytest.mark.parametrize(
    ("comment", "column", "word", "near"),
    [
        ("# cachesafe: ignore[CSF100]", 27, "'CSF100'", "did you mean 'CSF10"),
        ("# cachesafe: ignore[clock-in-prefx]", 27, "'clock-in-prefx'", "clock-in-prefix"),
        ("# noqa: E501, CSF999", 21, "'CSF999'", "did you mean 'CSF9"),
        ("# cachesafe: ignroe[CSF101]", 7, "'ignroe'", "ignore[CODE]"),
        ("# cachesafe: ignore[]", 7, "empty list", "ignore[CODE]"),
        ("# cachesafe: ignore[CSF101", 7, "closing bracket", "ignore[CODE]"),
    ],
)
def test_unknown_and_unreadable_ones_are_told(comment: str, column: int, word: str, near: str) -> None:
    [problem] = problems(f"x = 1 {comment}\n")
    assert problem.code == "CSF903"
    assert word in problem.message
    assert near in problem.help
    assert problem.span.column == column


def test_prose_about_the_cache_is_no_directive() -> None:
    assert problems("x = 1  # cachesafe: we looked at this, see below\n", strict=True) == []


def test_bare_ones_are_told_under_strict_only() -> None:
    text = "x = now()  # cachesafe: ignore\n"
    told = ("CSF101", "x = now()")
    assert problems(text, told) == []
    assert [p.code for p in problems(text, told, strict=True)] == ["CSF904"]
    assert [p.code for p in problems("x = now()  # noqa\n", told, strict=True)] == ["CSF904"]


def test_remarks_on_a_comment_are_silenced_by_name_only() -> None:
    assert problems("x = 1  # cachesafe: ignore[CSF999, CSF903]\n") == []
    assert problems("x = 1  # cachesafe: ignore[CSF101, unused-suppression]\n") == []
    assert problems("# cachesafe: ignore-file[CSF903]\nx = 1  # noqa: CSF999\n") == []
    assert [p.code for p in problems("x = 1  # cachesafe: ignore  # noqa: CSF999\n")] == ["CSF902", "CSF903"]


def test_a_file_that_cannot_be_parsed_still_has_its_comments() -> None:
    text = "x = now()  # cachesafe: ignore[CSF101]\ny = (\n"
    assert silenced(text, "x = now()")


def test_a_file_that_is_not_there_silences_nothing() -> None:
    found = suppressions(a="x = 1\n")
    assert not found.silences("CSF101", Span("page.jinja", 1, 1, 1, 2))
    assert found.problems("page.jinja", ALL) == []


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("#cachesafe: ignore-file[]CSF101,noqa:E5 \t'é")))
def test_reading_a_comment_never_fails_and_parts_are_where_they_are_said_to_be(text: str) -> None:
    comment = "#" + text
    for directive in directives(comment):
        assert comment[directive.start] == "#"
        assert directive.end <= len(comment)
        for part in directive.parts or ():
            assert comment[part.start : part.end] == part.text


COMMENTS = st.sampled_from(
    [
        "",
        "  # plain",
        "  # cachesafe: ignore[CSF101] why",
        "  # cachesafe: ignore[CSF101, CSF201]",
        "  # cachesafe: ignore",
        "  # noqa: E501, CSF103",
        "  # keep  # noqa: CSF101",
        "  # cachesafe: ignore[CSF999]",
    ]
)
ROWS = st.sampled_from(
    ["x = now()", "y = '''\n# cachesafe: ignore\n'''", "def f(): pass", "# cachesafe: ignore[CSF103]"]
)


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(ROWS, COMMENTS), min_size=1, max_size=6), st.booleans())
def test_removing_unused_ones_leaves_none_and_keeps_the_used(rows: list[tuple[str, str]], report: bool) -> None:
    text = "".join(f"{row}{comment}\n" for row, comment in rows)
    for _ in range(40):
        found = suppressions(a=text)
        spans = [Span("a.py", r, 1, r, 10) for r, row in enumerate(text.split("\n"), 1) if row.startswith("x = now()")]
        used = [s for s in spans if report and found.silences("CSF101", s)]
        unused = [p for p in found.problems("a.py", ALL) if p.code == "CSF902"]
        if not unused:
            break
        text = mended(text, unused[0])
        again = suppressions(a=text)
        assert sum(again.silences("CSF101", s) for s in spans_of(text)) >= len(used)
    else:
        raise AssertionError("there was always one more")
    assert "# plain" in text or not any("plain" in c for _, c in rows)


def spans_of(text: str) -> list[Span]:
    return [Span("a.py", r, 1, r, 10) for r, row in enumerate(text.split("\n"), 1) if row.startswith("x = now()")]
