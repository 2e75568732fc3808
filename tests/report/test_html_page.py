"""The page: its elements are ours whatever the data is, and what was found stands in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_findings import HOSTILE
from report_runs import any_run, many

from pytest_cachesafe.gate.scenario import Regression, Run, Scenario
from pytest_cachesafe.report.html import render
from pytest_cachesafe.report.html.facts import facts_of
from pytest_cachesafe.report.html.markup import Markup, tag
from pytest_cachesafe.report.html.style import STYLE, style_hash
from pytest_cachesafe.report.html.waterfall import waterfall
from pytest_cachesafe.report.html.window import marked, window

PAYLOADS = (
    *HOSTILE,
    "</script><script>alert(1)</script>",
    "</style></title></code></td></table>",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)' autofocus='",
    "<!--",
    "]]>",
    "&lt;b&gt; &amp;#60; &#x3c;i&#x3e;",
    "```\n[x](javascript:alert(1))\n```",
    "<style>body{display:none}</style>",
    "</details></main></body></html>",
)
EMPTY = {"br", "meta"}


class Elements(HTMLParser):
    """The elements of a page, in order, each with its attributes' names; refuses what is not nested."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.opened: list[str] = []
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((name, tuple(key for key, _ in attrs)))
        given = dict(attrs)
        if "href" in given:
            self.links.append(str(given["href"]))
        if "id" in given:
            self.ids.append(str(given["id"]))
        if name not in EMPTY:
            self.opened.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.opened.pop() == name

    def handle_data(self, text: str) -> None:
        self.text.append(text)

    def handle_comment(self, text: str) -> None:
        raise AssertionError(f"a comment: {text!r}")

    def handle_pi(self, text: str) -> None:
        raise AssertionError(f"an instruction: {text!r}")


def parsed(page: str) -> Elements:
    elements = Elements()
    elements.feed(page)
    elements.close()
    assert elements.opened == []
    return elements


def texts_from(texts: Iterator[str]) -> Callable[[], str]:
    return lambda: next(texts)


# As much a word or none as what they stand for, so that the same of it is marked.
HARMLESS = str.maketrans("<>&\"'", "\u27e8\u27e9\u214b\u2033\u2032")


def harmless(text: str) -> str:
    """A text of the same kind that could be no markup."""
    return text.translate(HARMLESS)


def check_structure(given: list[str]) -> None:
    page = parsed(render(any_run(texts_from(cycle(given)))))
    plain = parsed(render(any_run(texts_from(cycle([harmless(text) for text in given])))))
    # Checks stand in the order of their names, which are other ones.
    assert Counter(page.found) == Counter(plain.found)
    assert Counter(page.links) == Counter(plain.links)
    assert page.ids == plain.ids
    assert all(re.fullmatch(r"#[a-z]+(-\d+)?", link) for link in page.links)


@pytest.mark.parametrize("text", PAYLOADS)
def test_no_payload_changes_the_elements(text: str) -> None:
    check_structure([text])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=40) | st.sampled_from(PAYLOADS), min_size=1, max_size=7))
def test_no_text_changes_the_elements(given: list[str]) -> None:
    check_structure(given)


def test_the_elements_are_those_of_a_page_without_scripts() -> None:
    page = parsed(render(any_run(texts_from(cycle(PAYLOADS)))))
    names = {name for name, _ in page.found}
    attributes = {key for _, keys in page.found for key in keys}
    assert not names & {"script", "iframe", "object", "embed", "form", "input", "img", "link", "base"}
    assert not any(key.startswith("on") or key in ("style", "src", "action", "srcdoc") for key in attributes)
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links} <= set(page.ids)


def test_nothing_of_it_is_read_as_a_command_or_obeyed_by_a_terminal() -> None:
    page = render(any_run(texts_from(cycle(PAYLOADS))))
    rest = page.replace("\n", "")
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]", rest)
    assert not any(line.startswith("::") for line in page.split("\n"))
    assert "##[" not in page
    assert "##vso[" not in page
    page.encode("utf-8")


def test_the_policy_allows_this_style_sheet_alone() -> None:
    page = render(many(1))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert "unsafe" not in policy[1]
    assert policy[1].startswith("default-src &#x27;none&#x27;")
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    assert style[1] == STYLE
    assert style_hash() in policy[1]
    assert "http:" not in page
    assert "https:" not in page
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_markup_is_what_tag_made_and_nothing_else() -> None:
    assert tag("p", "<b>", Markup("<i></i>"), 3, None) == "<p>&lt;b&gt;<i></i>3</p>"
    assert tag("p", title='"<>&', hidden=True, class_="x", open=False) == (
        '<p title="&quot;&lt;&gt;&amp;" hidden class="x"></p>'
    )
    # A string of markup joined by hand is text again.
    assert tag("p", tag("b", "x") + "y") == "<p>&lt;b&gt;x&lt;/b&gt;y</p>"


def scenario(kind: Any, data: dict[str, Any], *, passed: bool = True, test: str = "test_a.py::test_a") -> Scenario:
    return Scenario(test, kind, kind, passed, data)


def test_300_checks_stay_small_and_none_is_left_out() -> None:
    page = render(many(300))
    assert len(page.encode()) < 5_000_000
    assert page.count("<details class=") == 300


def test_what_does_not_fit_is_counted() -> None:
    page = render(many(12), most=60_000)
    shown = page.count("<details class=")
    assert 0 < shown < 12
    assert f"{12 - shown} more checks are in the table only" in page
    parsed(page)


def test_the_worst_come_first() -> None:
    step = {"request": 1, "against": 0, "tokens": 100, "shared_tokens": 90, "verdict": "stable"}
    run = Run(
        [
            scenario("stable", {"steps": [step]}, test="passes"),
            scenario("stable", {"steps": [step | {"shared_tokens": 60}]}, passed=False, test="loses little"),
            scenario("stable", {"steps": [step | {"shared_tokens": 10}]}, passed=False, test="loses much"),
            scenario("stable", {"steps": [step]}, test="got worse"),
            scenario("stable", {"steps": [step], "warnings": ["look"]}, test="warns"),
        ],
        [Regression("got worse", "stable", "10 tokens more", True)],
    )
    found = facts_of(run)
    assert [one.scenario.test for one in found] == ["loses much", "loses little", "got worse", "warns", "passes"]
    assert [one.status for one in found] == ["failed", "failed", "regression", "warning", "passed"]
    page = render(run)
    assert "2 of 5 checks failed, 1 regression" in page
    assert re.search(r"Tokens lost</dt><dd><strong>160</strong> <span>32% of 500 reusable", page)


def test_numbers_of_every_kind_of_check() -> None:
    found = {one.scenario.kind: one for one in facts_of(any_run(lambda: "x")) if one.scenario.kind != "collisions"}
    stable, engine, provider = found["stable"], found["reuse"], found["provider"]
    # Four plain steps beside a reset, 100 tokens each; the world with most loss counts.
    assert (stable.reusable, stable.kept) == (400, 160)
    assert (engine.reusable, engine.kept) == (160, 96)
    # Request 1 reads 20 of the 100 tokens of request 0; request 2 was not answered.
    assert (provider.reusable, provider.kept) == (200, 20)
    # 2 conversations; each finding loses 1.50 USD per 1,000.
    assert (provider.usd_paid, provider.usd_plain, provider.usd_lost) == (100.0, 200.0, 1.5)


def test_a_waterfall_says_in_numbers_what_it_shows() -> None:
    data = {
        "steps": [
            {"request": 1, "against": 0, "tokens": 100, "shared_tokens": 40, "request_tokens": 130},
            {"request": 2, "against": 1, "tokens": 130, "shared_tokens": 130, "request_tokens": 150},
        ]
    }
    (one,) = facts_of(Run([scenario("stable", data)]))
    table = parsed(waterfall(one.groups[0], "Tokens", estimated=False))
    words = " ".join(" ".join(table.text).split())
    assert words == (
        "Tokens request tokens kept recomputed new request 0 first 100 0 0 100 request 1 130 40 60 30 request 2 150 "
        "130 0 20"
    )
    assert [keys for name, keys in table.found if name == "svg"].count(("class", "aria-hidden")) == 3


def test_long_conversations_show_the_requests_that_lose() -> None:
    steps = [
        {"request": i, "against": i - 1, "tokens": 100, "shared_tokens": 20 if i == 50 else 100, "request_tokens": 110}
        for i in range(1, 90)
    ]
    (one,) = facts_of(Run([scenario("stable", {"steps": steps})]))
    words = waterfall(one.groups[0], "Tokens", estimated=True)
    assert "request 50<" in words
    assert "66 more requests are not shown" in words
    assert "token counts are estimates" in words


@pytest.mark.parametrize(
    ("lead", "before", "after", "deleted", "inserted"),
    [
        ("Time: 09:4", "1:00. Answer", "2:00. Answer", "09:41:00.", "09:42:00."),
        ("You have ", "9 orders open today.", "10 orders open today.", "9", "10"),
        ("Say: ", "hello to all of them, please", "goodbye now to all of them, please", "hello", "goodbye now"),
        ("Say: ", "", "more", "(ends here)", "more"),
        ("", "Tools: orders and parcels", "Be warm. Tools: orders and parcels", "(nothing)", "Be warm. "),
        ("", "low", "high", "low", "high"),
    ],
)
def test_what_changed_is_marked_whole(lead: str, before: str, after: str, deleted: str, inserted: str) -> None:
    shown = window(lead, before, after, plain=False)
    found = re.search(r"<del[^>]*>(.*?)</del>.*<ins[^>]*>(.*?)</ins>", shown)
    assert found is not None
    assert (found[1], found[2]) == (deleted, inserted)


def test_spans_are_marked_where_they_stand() -> None:
    assert marked("a monthly plan", [(2, 9)], "mark") == "<code>a <mark>monthly</mark> plan</code>"
    assert "<mark>end</mark>" in marked("x" * 900 + "end", [(900, 903)], "mark")
    assert marked("ab", [(-5, 1), (0, 9), (1, 1)], "mark") == "<code><mark>a</mark><mark>b</mark></code>"


def test_of_a_redacted_run_nothing_is_marked() -> None:
    page = render(any_run(lambda: "[12 characters]", "text"))
    assert "Prompt texts are left out of this report" in page
    assert "<del>" not in page
    assert "<mark>" not in page


def test_strange_data_is_survived() -> None:
    odd: list[Any] = [None, 3, "x", [1], {"steps": 3, "toggles": [], "perturbed": [None]}, {"steps": [{"tokens": "x"}]}]
    for kind in ("stable", "reuse", "provider", "collisions"):
        for data in odd:
            parsed(render(Run([scenario(kind, data, passed=False)])))
    parsed(render(Run()))


def test_what_two_findings_say_of_one_request_counts_once() -> None:
    requests = [
        {"request": 0, "conversation": 0, "against": None, "tokens": {"total": 100, "read": 90, "write": 10}},
        # Reads more than request 0 had: a part that another conversation wrote.
        {"request": 1, "conversation": 0, "against": 0, "tokens": {"total": 300, "read": 150, "write": 150}},
    ]
    findings = [
        {"code": code, "severity": "error", "request": 1, "path": code, "lost_usd_per_1000": usd, "lost_tokens": 9}
        for code, usd in (("a", 2.0), ("b", 3.0))
    ]
    (one,) = facts_of(Run([scenario("provider", {"requests": requests, "findings": findings})]))
    assert one.usd_lost == 3.0
    assert (one.reusable, one.kept) == (100, 100)


def test_the_line_to_mend_first_is_told_once_for_all_checks() -> None:
    def step(built: str, lost: int) -> dict[str, Any]:
        found = {"cause": "timestamp", "origin": "application", "severity": "error", "lost_tokens": lost, "lead": "at ",
                 "before": "10:00", "after": "10:01", "built": built, "location": {"part": "system"}}  # fmt: skip
        both = [found, {**found, "cause": "date", "lost_tokens": 0}]
        steps = [{"request": 1, "against": 0, "tokens": 99, "shared_tokens": 9, "divergence": one} for one in both]
        return {"steps": steps}

    run = Run([scenario("stable", step("a.py:3, now()", 50), passed=False, test=f"test_{i}") for i in range(2)])
    run.scenarios.append(scenario("stable", step("b.py:9, today()", 80), passed=False, test="test_b"))
    run.scenarios.append(scenario("stable", step("c.py:1, passed()", 900), test="test_c"))
    first = render(run).partition('class="first"')[2].partition("</section>")[0]
    assert re.findall(r"<code>(.*?)</code> \((.*?)\)", first) == [
        ("a.py:3, now()", "2 checks, 100 tokens"),
        ("b.py:9, today()", "1 check, 80 tokens"),
    ]


def test_pairs_of_prompts_say_what_a_cache_would_do() -> None:
    pair = {"a": "monthly plan", "b": "annual plan", "spans": [{"kind": "period", "a": [[0, 7]], "b": [[0, 6]]}]}
    pairs = [
        pair | {"merged": False, "different_answer": "certain"},
        pair | {"merged": True, "different_answer": "certain", "allowed": "one page answers both"},
        pair | {"merged": True, "different_answer": "suspect"},
        pair | {"merged": True, "different_answer": "certain", "at": [4, 7]},
        pair | {"merged": True, "different_answer": "certain", "verified": "suspect"},
        pair | {"merged": True, "different_answer": "none"},
    ]
    page = render(Run([scenario("collisions", {"pairs": pairs, "merged": 4, "compared": 15}, passed=False)]))
    signs = re.findall(r'<h4><span class="badge \w+"><span aria-hidden="true">.</span> (.*?)</span> period', page)
    assert signs == ["collision", "suspect", "suspect", "allowed: one page answers both", "not merged"]
    assert "prompts 4 and 7" in page


def test_numbers_that_json_does_not_have_are_shown_as_unknown() -> None:
    data = {"pairs": [{"a": "x", "b": "y", "merged": True, "different_answer": "certain", "similarity": None}]}
    page = render(Run([scenario("collisions", data | {"threshold": None}, passed=False)]))
    assert "cosine" not in page.partition("</style>")[2]
