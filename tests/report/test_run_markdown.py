"""Markdown of a run: what is in it, that it stays in its bounds, and that no text of others is markup in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import count

import pytest
from hostile_text import PAYLOADS, any_payload
from hypothesis import given, settings
from hypothesis import strategies as st
from report_runs import any_run, many
from tries import tries

from pytest_cachesafe.gate.scenario import Regression, Run, Scenario
from pytest_cachesafe.report.markdown import COMMENT_LIMIT, SUMMARY_LIMIT, Block, fitted, render
from pytest_cachesafe.report.mdtext import block, code, html_code

_COMMAND = re.compile(r"^\s*(::|##\[)|##(vso|teamcity)?\[", re.IGNORECASE | re.MULTILINE)
_HEADINGS = ("Worse than before", "Prompt prefix", "Engine prefix cache", "Provider prompt cache", "Semantic cache")


def words() -> Callable[[], str]:
    number = count()
    return lambda: f"word{next(number)}"


def cells_of(line: str) -> list[str]:
    """The cells of a row, by the strictest reading: only a pipe with exactly one backslash in front ends none."""
    return re.split(r"(?<!\\)\||(?<=\\\\)\|", line)[1:-1]


def outside_blocks(text: str) -> Iterator[str]:
    """Lines that are no code block's; fails where a block is not closed."""
    fence = None
    for line in text.split("\n"):
        if fence is None and (match := re.match(r"(`{3,})text$", line)):
            fence = match[1]
        elif fence is not None:
            if re.fullmatch(rf"`{{{len(fence)},}}", line):
                fence = None
        else:
            yield line
    assert fence is None


def assert_whole(text: str) -> None:
    """No command, no control character, and every table row has as many cells as its head."""
    assert not _COMMAND.search(text)
    assert all(character == "\n" or character.isprintable() for character in text)
    columns = 0
    for line in outside_blocks(text):
        if not line.startswith("|"):
            columns = 0
            continue
        columns = columns or len(cells_of(line))
        assert len(cells_of(line)) == columns, line


class Page(HTMLParser):
    """What a browser would see: text outside code, and all elements."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.bare = ""
        self.rows: list[int] = []
        self._code = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self._code += tag in ("code", "pre")
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("code", "pre")

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.bare += data


def page(text: str) -> Page:
    """The text as GitHub's own library renders it."""
    cmark = pytest.importorskip("cmarkgfm", reason="pip install cmarkgfm")
    from cmarkgfm.cmark import Options

    return Page(cmark.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE))


_OURS = {
    "h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "pre", "details", "summary", "ul", "li",
    "strong",
}  # fmt: skip


def test_every_kind_has_a_table_and_every_check_its_own() -> None:
    run = any_run(words())
    text = render(run)
    assert text.startswith("## cachesafe: 4 of 6 checks failed")
    for heading in _HEADINGS:
        assert f"\n### {heading}\n" in text
    seen = page(text)
    assert seen.tags["details"] == len(run.scenarios)
    # Tables: one a heading and the linter's, then one for each waterfall of the checks.
    assert seen.tags["table"] >= len(_HEADINGS) + 1 + 4
    assert set(seen.tags) <= _OURS


def test_a_row_says_what_was_lost_where_and_what_built_it() -> None:
    run = any_run(lambda: "x")
    run.scenarios[:] = [run.scenarios[0]]
    run.scenarios[0].test = "test_a.py::test_it"
    data = run.scenarios[0].data
    step = data["steps"][0]
    step["divergence"] |= {"built": "agent.py:7, clock()"}
    run.scenarios[0].data = {**data, "steps": [step], "perturbed": []}
    [row] = [line for line in render(run).splitlines() if "test_a.py::test_it" in line and "clock()" in line]
    cells = [cell.strip() for cell in cells_of(row)]
    assert cells[0] == "❌ failed"
    assert cells[1].startswith("`test_a.py::test_it`")
    assert cells[4] == "about 60"
    assert "timestamp (application)" in cells[5]
    assert cells[-1] == "`agent.py:7, clock()`"


def test_what_is_worse_stands_first_and_what_passed_last() -> None:
    passed, failed = any_run(words()).scenarios[1], any_run(words()).scenarios[0]
    passed.test, failed.test = "a.py::test_passed", "z.py::test_failed"
    run = Run([passed, failed], [Regression("a.py::test_passed", passed.name, "7 tokens more", True)])
    lines = render(run).splitlines()
    first = {name: next(i for i, line in enumerate(lines) if name in line) for name in ("7 tokens", "test_failed")}
    assert first["7 tokens"] < first["test_failed"] < lines.index("### Check by check")
    rows = [line for line in lines if line.startswith("| ❌")]
    assert "worse" in rows[0]
    assert "z.py::test_failed" in rows[1]
    assert "a.py::test_passed" in rows[2]


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("redact", ["none", "text", "hash"])
def test_payloads_in_every_field(payload: str, redact: str) -> None:
    text = render(any_run(lambda: payload, redact))
    assert_whole(text)
    seen = page(text)
    assert set(seen.tags) <= _OURS
    assert seen.tags["details"] == 6
    # In code nothing is made a link or a mention; outside it there are only words of ours.
    for piece in ("octocat", "evil", "alert", "owned", "heading", "#1"):
        assert piece not in seen.bare
    assert "| |" not in seen.bare


@settings(deadline=None, max_examples=tries(150))
@given(st.data())
def test_no_text_breaks_out(data: st.DataObject) -> None:
    texts = data.draw(st.lists(any_payload, min_size=1, max_size=5))
    number = count()
    text = render(any_run(lambda: texts[next(number) % len(texts)]))
    assert_whole(text)
    text.encode("utf-8")


@settings(deadline=None)
@given(any_payload)
def test_a_cell_stays_a_cell(payload: str) -> None:
    row = f"| {code(payload)} | b |"
    assert len(cells_of(row)) == 2
    assert "\n" not in row
    seen = page(f"| x | y |\n|---|---|\n{row}\n")
    assert seen.rows == [2, 2]
    assert seen.bare.split()[:2] == ["x", "y"]
    assert seen.bare.split()[2:] in (["b"], ["–", "b"])


@settings(deadline=None)
@given(st.lists(any_payload, max_size=4))
def test_a_block_stays_a_block(lines: list[str]) -> None:
    seen = page(f"{block(lines)}\n\nbehind\n")
    assert seen.bare.strip() == "behind"
    assert seen.tags == {"pre": 1, "code": 1, "p": 1}


@settings(deadline=None)
@given(any_payload)
def test_a_summary_stays_a_summary(payload: str) -> None:
    seen = page(f"<details><summary>{html_code(payload)}</summary>\n\nbehind\n\n</details>\n")
    assert seen.bare.replace("–", "").strip() == "behind"
    assert set(seen.tags) - {"code"} == {"details", "summary", "p"}


@pytest.mark.parametrize(("limit", "checks"), [(COMMENT_LIMIT, 300), (SUMMARY_LIMIT, 600)])
def test_a_large_run_is_cut_with_a_note(limit: int, checks: int) -> None:
    run = many(checks)
    text = render(run, limit)
    assert limit * 0.8 < len(text.encode()) <= limit
    assert re.search(r"… left out: .*checks? \(GitHub takes .* bytes here\)", text.splitlines()[-1])
    assert_whole(text)


def test_what_failed_is_kept_when_not_all_fits() -> None:
    run = many(200, requests=3)
    text = render(run, 40_000)
    failed = [one for one in run.scenarios if not one.passed and one.kind == "stable"]
    assert sum(one.test in text for one in failed) == len(failed)
    passed = [one for one in run.scenarios if one.passed and one.kind == "stable"]
    assert sum(f"✅ passed | `{one.test[:30]}" in text for one in passed) < len(passed)


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 200)), max_size=40), st.integers(700, 3_000))
def test_no_row_is_missing_in_between_and_the_limit_holds(sizes: list[tuple[int, int]], limit: int) -> None:
    blocks = [Block(0, "head")]
    blocks += [Block(rank, f"{number}:" + "é" * size, "row") for number, (rank, size) in enumerate(sizes)]
    text = fitted(blocks, limit)
    assert len(text.encode()) <= limit
    kept = {int(line.split(":")[0]) for line in text.splitlines() if ":é" in line}
    order = sorted(range(len(sizes)), key=lambda number: sizes[number][0])
    # What is kept is a beginning of what matters most, so that "the first n" is always true.
    assert kept == set(order[: len(kept)])
    assert f"… left out: {len(sizes) - len(kept)} row" in text or len(kept) == len(sizes)


def test_the_note_fits_into_the_limit() -> None:
    text = fitted([Block(1, "x" * 49, "row") for _ in range(100)], 2_500)
    assert "left out" in text
    assert len(text.encode()) <= 2_500


def test_all_of_a_small_run_fits_without_a_note() -> None:
    assert "left out" not in render(any_run(words()))


def test_texts_that_no_cache_was_asked_about_are_neither_merged_nor_not() -> None:
    pair = {"a": "one", "b": "two", "different_answer": "certain", "spans": []}
    assert "**judged by their words**, different answer: `certain`" in render(
        Run([Scenario("t", "n", "collisions", True, pair)])
    )
    assert "**not merged**" in render(Run([Scenario("t", "n", "collisions", True, pair | {"merged": False})]))


def test_money_is_told_where_prices_are_known() -> None:
    [check] = [one for one in any_run(words()).scenarios if one.kind == "provider"]
    text = render(Run([check]))
    assert "Money: 1,000 conversations cost about 100.00 USD, about 200.00 USD without caching" in text
    assert "lost if each conversation is held 1,000 times" in text


def test_an_empty_run() -> None:
    assert render(Run()) == "## cachesafe: no check ran\n"


@pytest.mark.parametrize("mode", ["text", "hash"])
def test_redacted_texts_are_shown_as_what_stands_for_them(mode: str) -> None:
    data = any_run(lambda: "[5 characters]").scenarios[0].data
    text = render(Run([Scenario("t", "n", "stable", False, data)], redact=mode))
    assert "before: [5 characters]\nafter:  [5 characters]\n" in text


def test_a_share_is_never_rounded_up_to_all() -> None:
    data = {"steps": [{"request": 1, "against": 0, "tokens": 1000, "shared_tokens": 999, "request_tokens": 1100}]}
    [row] = [line for line in render(Run([Scenario("t", "n", "stable", False, data)])).splitlines() if "999" in line][
        :1
    ]
    assert "999 (99%)" in row
