"""Markers that do not reach what was written: lost, out of lookback, trailing, too short, missing, expired."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_cachesafe.providers.exchange import Exchange
from tests.support.wire_requests import (
    LONG,
    MARK,
    MODEL,
    anthropic,
    assistant,
    call,
    check,
    marked_last,
    only,
    openai,
    result,
    text,
    told,
    tool,
    user,
)


def blocks(count: int, *marks: int) -> dict[str, Any]:
    """One message per block, no system text, markers on the blocks with these numbers (from 0)."""
    content = [
        text(f"block {i} " + "word " * 200, **({"cache_control": MARK} if i in marks else {})) for i in range(count)
    ]
    messages = [{"role": ("user", "assistant")[i % 2], "content": [block]} for i, block in enumerate(content)]
    return anthropic(messages, system=None)


def test_the_documented_example_of_the_lookback() -> None:
    # Counted from 1 in the docs: an entry at 10; 15 blocks with a marker on the last: 15..-4 are looked at, 10 is hit.
    # An entry at 15; 35 blocks: 35..16 are looked at, 15 is one outside. A second marker on 15 hits.
    assert check([blocks(10, 9), blocks(15, 14)]).findings == []
    missed = only(check([blocks(10, 9), blocks(15, 14), blocks(35, 34)]))
    assert (missed.code, str(missed.severity)) == ("marker-out-of-lookback", "warning")
    assert (missed.location.request, missed.location.path) == (2, "messages[34].content[0]")
    assert "20 positions behind" in missed.message
    assert check([blocks(10, 9), blocks(15, 14), blocks(35, 14, 34)]).findings == []


@pytest.mark.parametrize(("distance", "found"), [(19, False), (20, True)])
def test_the_marker_itself_is_the_first_of_twenty_positions(distance: int, found: bool) -> None:
    # From block b, positions b, b-1 … b-19 are looked at: an entry 19 behind is found, one 20 behind is not.
    report = check([blocks(9, 8), blocks(9 + distance, 8 + distance)])

    assert [f.code for f in report.findings] == (["marker-out-of-lookback"] if found else [])
    read = report.requests[1].usage
    assert read is not None
    assert (read.read == 0) is found


def test_runs_of_tool_blocks_are_one_position() -> None:
    start = [user("Read them all.")]
    calls = assistant([call("read", n, path=f"{n}.py") for n in range(30)])
    results = user([result(n, f"file {n}") for n in range(30)])
    bodies = [anthropic(marked_last(m), tools=[tool("read")]) for m in (start, [*start, calls, results])]

    assert check(bodies).findings == []


def test_a_marker_that_is_gone_again() -> None:
    asked = [user("q")]
    more = [*asked, assistant("a"), user("r")]
    finding = only(check([anthropic(marked_last(asked)), anthropic(more, system=LONG)]))

    assert (finding.code, str(finding.severity), finding.location.request) == ("marker-lost", "warning", 1)
    assert finding.location.path == "messages[0].content[0]"
    assert finding.data["lost_tokens"] > 0


def test_a_marker_that_stays_gone_is_an_error() -> None:
    turns = [[user("q")], [user("q"), assistant("a"), user("r")], [user("q"), assistant("a"), user("r"), user("s")]]
    bodies = [anthropic(marked_last(turns[0])), *(anthropic(m, system=LONG) for m in turns[1:2])]
    marked_again = anthropic(marked_last(turns[2]))
    lost_again = anthropic([*turns[2], assistant("b"), user("t")], system=LONG)

    report = check([*bodies, marked_again, lost_again])
    assert [(f.code, str(f.severity), f.location.request) for f in report.findings] == [
        ("marker-lost", "error", 1),
        ("marker-lost", "error", 3),
    ]


def test_nothing_is_lost_where_nothing_was_written() -> None:
    # 40 words are surely fewer than 1,024 tokens: the first marker wrote nothing.
    bodies = [
        anthropic(marked_last([user("word " * 40)]), system=None),
        anthropic([user("word " * 40), user("x")], system=None),
    ]

    assert [f.code for f in check(bodies).findings] == ["below-minimum"]


def test_a_marker_counted_from_the_end_leaves_a_tail() -> None:
    assert only(check([blocks(40, 0, 19), blocks(42, 0, 21)])).code == "marker-trails"
    assert check([blocks(40, 0, 39), blocks(42, 0, 41)]).findings == []
    assert check([blocks(40, 19), blocks(42, 19)]).findings == [], "a marker that stays is a choice"


SHORT = "Be brief. " * 10
# About 525 tokens, 945 at most: surely fewer than 1,024, and more than half of it.
NEAR = "word " * 500
MIDDLE = "word " * 950


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (SHORT, [("below-minimum", "note", 0, "system[0]")]),
        (NEAR, [("below-minimum", "warning", 0, "system[0]")]),
        (MIDDLE, [("maybe-below-minimum", "note", 0, "system[0]")]),
        (LONG, []),
    ],
)
def test_three_answers_for_the_minimum_length(system: str, expected: list[Any]) -> None:
    report = check([anthropic([user("q")], system=[text(system, cache_control=MARK)])])

    assert told(report) == expected


@pytest.mark.parametrize(("count", "expected"), [(1023, ["below-minimum"]), (1024, [])])
def test_a_counted_length_has_no_band(count: int, expected: list[str]) -> None:
    body = anthropic([user("q")], system=[text("s", cache_control=MARK)])
    report = check([body], count_tokens=lambda words: count if words == "s" else 1)

    assert [f.code for f in report.findings] == expected
    assert report.exact


def test_a_conversation_that_grows_beyond_the_minimum_is_silent() -> None:
    messages = [user("Hello?")]
    bodies = []
    for n in range(6):
        bodies.append(anthropic(marked_last(messages), system=SHORT))
        messages = [*messages, assistant(f"Answer {n}. " + "word " * 400), user(f"More {n}?")]

    assert check(bodies).findings == []


def test_a_short_chat_with_a_moving_marker_is_a_note() -> None:
    finding = only(check([anthropic(marked_last([user("Hello?")]), system="Be brief.")]))

    assert (finding.code, str(finding.severity)) == ("below-minimum", "note")


def test_an_unknown_model_has_no_minimum_and_says_so() -> None:
    report = check([anthropic([user("q")], model="my-own-model", system=[text(SHORT, cache_control=MARK)])])

    assert report.findings == []
    assert any("my-own-model is unknown" in note for note in report.notes)
    assert report.requests[0].cost_usd is None


def test_a_long_fixed_beginning_without_any_marker() -> None:
    bodies = [anthropic([user(f"Question {n}?")], system=LONG) for n in range(3)]
    finding = only(check(bodies))

    assert (finding.code, str(finding.severity), finding.location.request) == ("no-marker", "warning", 0)
    assert finding.location.path == "system"
    assert "3 times" in finding.message
    assert only(check(bodies[:1])).severity.value == "note", "sent once, there is nothing to gain yet"
    assert check([{**b, "system": SHORT} for b in bodies]).findings == [], "too short to be cached"
    assert check([{**b, "cache_control": MARK} for b in bodies[:1]]).findings == []


def test_the_marker_on_the_question_is_never_read() -> None:
    bodies = [anthropic(marked_last([user(words)]), system=LONG) for words in ("What is a cat?", "What is a dog?")]
    report = check(bodies)
    finding = only(report)

    assert (finding.code, str(finding.severity)) == ("marker-on-changing-block", "error")
    assert (finding.location.request, finding.location.path) == (1, "messages[0].content[0]")
    assert [v.usage.read for v in report.requests if v.usage is not None] == [0, 0]
    with_system = [{**b, "system": [text(LONG, cache_control=MARK)]} for b in bodies]
    assert check(with_system).findings == []
    assert [v.usage.read > 0 for v in check(with_system).requests if v.usage is not None] == [False, True]


def test_automatic_caching_of_single_questions_is_the_same_trap() -> None:
    bodies = [anthropic([user(w)], system=LONG, cache_control=MARK) for w in ("What is a cat?", "What is a dog?")]

    assert only(check(bodies)).code == "marker-on-changing-block"


def _sent(body: dict[str, Any], at: float) -> Exchange:
    return Exchange("anthropic", "messages", body, model=MODEL, sent_at=at, began_at=at + 1)


@pytest.mark.parametrize(("gap", "expected"), [(299.0, []), (301.0, ["entry-expired"])])
def test_an_entry_that_has_run_out_is_a_note(gap: float, expected: list[str]) -> None:
    first, second = anthropic(marked_last([user("q")])), anthropic(marked_last([user("q"), assistant("a"), user("r")]))
    report = check([_sent(first, 0.0), _sent(second, gap)])

    assert [(f.code, str(f.severity)) for f in report.findings] == [(code, "note") for code in expected]
    assert report.passed


def test_explicit_mode_without_a_breakpoint_caches_nothing() -> None:
    report = check([openai([user("q")], prompt_cache_options={"mode": "explicit"})], "openai")

    assert told(report) == [("explicit-without-marker", "warning", 0, "prompt_cache_options.mode")]


def test_a_marker_of_another_provider_is_a_note_at_openai_and_nothing_at_gateways() -> None:
    body = openai([user([text("q", cache_control=MARK)])])
    direct = Exchange("openai", "chat", body, model="gpt-4o")
    gateway = Exchange("openai", "chat", body, model="anthropic/claude-sonnet-4.6", host="openrouter.ai")

    assert told(check([direct], "openai")) == [("marker-of-another-provider", "note", 0, "messages[1].content[0]")]
    assert check([gateway], "openai").findings == []


def test_what_was_lost_behind_the_last_marker_is_nothing() -> None:
    # Only the system text is marked: an edited message costs nothing that was cached.
    bodies = [anthropic([user("q"), assistant("a"), user("r")]), anthropic([user("Q"), assistant("a"), user("r")])]
    finding = only(check(bodies))

    assert (finding.code, str(finding.severity), finding.data["lost_tokens"]) == ("history-edited", "note", 0)
    assert "nothing cached is lost" in finding.message


def test_tokens_and_money_of_a_miss_are_exact_with_a_counter() -> None:
    # System 10,000 tokens, question 20. sonnet-4-6 reads at 0.30 and writes for 5m at 3.75 USD a million: 3.45 USD
    # more per million for the 10,020 tokens up to the marker, 0.034569 USD; 1,000 times that is 34.569.
    def count(words: str) -> int:
        return 10_000 if words.startswith("S") else 20

    bodies = [
        anthropic(marked_last(messages), system=[text(system, cache_control=MARK)])
        for system, messages in (("S one", [user("q")]), ("S two", [user("q"), assistant("a"), user("r")]))
    ]
    finding = only(check(bodies, count_tokens=count))

    assert finding.data["lost_tokens"] == 10_020
    assert finding.data["lost_usd"] == pytest.approx(10_020 * 3.45 / 1e6)
    assert finding.data["lost_usd_per_1000"] == pytest.approx(34.569)
    assert check(bodies, count_tokens=count, prices=False).findings[0].data["lost_usd"] is None


def test_another_account_is_a_note_and_no_lost_marker() -> None:
    bodies = [anthropic(marked_last([user("q")])), anthropic(marked_last([user("q"), assistant("a"), user("r")]))]
    exchanges = [
        Exchange("anthropic", "messages", body, model=MODEL, scope=scope)
        for body, scope in zip(bodies, ("one", "two"), strict=True)
    ]

    assert told(check(exchanges)) == [("account-changed", "note", 1, "")]


def _article(system_marked: bool, counted: int) -> Any:
    """Two questions on one manual, with the marker on the manual or on the question."""

    def count(words: str) -> int:
        return {"What is a cat?": 14, "What is a dog, then?": 17}.get(words, counted)

    bodies = []
    for question in ("What is a cat?", "What is a dog, then?"):
        system = [text("the manual", **({"cache_control": MARK} if system_marked else {}))]
        messages = [user(question)] if system_marked else marked_last([user(question)])
        bodies.append(anthropic(messages, system=system))
    return check(bodies, count_tokens=count)


def counters(report: Any) -> list[tuple[int, int, int]]:
    return [(v.usage.write, v.usage.read, v.usage.uncached) for v in report.requests]


def test_a_marked_manual_is_written_once_and_read() -> None:
    report = _article(True, 2823)

    assert report.findings == []
    assert counters(report) == [(2823, 0, 14), (0, 2823, 17)]
    assert "write=2823 read=0 uncached=14" in report.text()
    assert "write=0 read=2823 uncached=17" in report.text()


def test_a_marked_question_is_written_each_time() -> None:
    report = _article(False, 2823)

    # 2,823 + 14 and 2,823 + 17.
    assert counters(report) == [(2837, 0, 0), (2840, 0, 0)]
    assert only(report).code == "marker-on-changing-block"
    assert "what stands in front of it, 2,823 tokens, is the same" in only(report).message
    assert report.requests[1].miss_reason == "marker-on-changing-block"


def test_a_short_manual_names_the_minimum_that_applies() -> None:
    report = _article(True, 282)

    assert counters(report) == [(0, 0, 296), (0, 0, 299)]
    assert only(report).code == "below-minimum"
    assert "1,024" in only(report).message


def test_nothing_is_concluded_from_what_telemetry_leaves_out() -> None:
    bodies = [anthropic([user("q")], system=LONG), anthropic([user("q"), assistant("a"), user("r")], system=LONG)]
    hidden = ("markers", "settings")
    spans = [Exchange("anthropic", "messages", body, model=MODEL, omits=hidden) for body in bodies]

    assert only(check(bodies)).code == "no-marker"
    assert check(spans).findings == []
    assert any("markers, settings" in note for note in check(spans).notes)


def test_branches_of_one_history_are_no_edit() -> None:
    # One conversation asked three different things next: what is shared is read, and nothing sent was changed.
    before = [user("Look at " + LONG), assistant("Seen.")]
    bodies = [
        anthropic(marked_last([*before, user(words)]), system=text_list(LONG)) for words in ("Why?", "How?", "Who?")
    ]
    report = check(bodies)
    assert report.findings == []
    reads = [v.usage.read for v in report.requests if v.usage is not None]
    assert reads[0] == 0
    assert reads[1] == reads[2] > 0
    # A question in the middle of what was said is not one that is asked anew.
    later = anthropic(marked_last([*before, user("Why not?"), assistant("So."), user("Oh?")]), system=text_list(LONG))
    assert [f.code for f in check([bodies[0], later]).findings] == ["history-edited"]


def test_a_refused_request_is_not_asked_what_it_reads() -> None:
    start = [user("Look at " + LONG)]
    empty = {"type": "text", "text": "", "cache_control": MARK}
    bodies = [
        anthropic(marked_last(start)),
        anthropic([*start, assistant("Seen."), user([text("Go on."), empty])]),
    ]
    assert [f.code for f in check(bodies).findings] == ["marker-on-empty-text"]


def text_list(words: str) -> list[dict[str, Any]]:
    return [text(words, cache_control=MARK)]
