"""Repeats of a log: what an exact-match cache would serve."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.semantic.repeats import NOT_PART, RepeatCounter, count_repeats
from pytest_cachesafe.usage import UsageError

texts = st.lists(st.sampled_from(["a", "A", "a ", "b", "c", "aé", "\ud800"]), min_size=1, max_size=40)


@given(texts, st.integers(1, 5))
@settings(deadline=None)
def test_counts_are_those_of_plain_sets_and_a_plain_list(log: list[str], entries: int) -> None:
    report = count_repeats(log, entries=entries)
    assert report.requests == len(log)
    assert report.distinct == len(set(log))
    assert report.repeats == len(log) - len(set(log))
    folded = [" ".join(text.casefold().split()) for text in log]
    assert report.folded == len(folded) - len(set(folded))
    kept: list[str] = []
    served = 0
    for text in log:
        if text in kept:
            served += 1
            kept.remove(text)
        kept = [*kept, text][-entries:]
    assert report.served == served
    assert report.most_often == max(map(log.count, log))
    assert not report.bounded


def body(**extra: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Hi"}]} | extra


@pytest.mark.parametrize("key", sorted(NOT_PART))
def test_what_decides_no_answer_makes_no_difference(key: str) -> None:
    assert count_repeats([body(), body(**{key: "x"}), body(**{key: "y"})]).repeats == 2


@pytest.mark.parametrize(
    "other",
    [
        body(model="n"), body(temperature=0), body(tools=[]), body(system="Be brief."), body(max_tokens=5),
        body(tenant="acme"), body(messages=[{"role": "user", "content": "Hi "}]), "Hi", json.dumps(body()),
    ],
)  # fmt: skip
def test_what_decides_the_answer_is_no_repeat(other: Any) -> None:
    assert count_repeats([body(), other]).repeats == 0


def test_keys_in_another_order_and_log_lines_around_a_body_are_the_same_request() -> None:
    turned = dict(reversed(list(body().items())))
    assert count_repeats([body(), turned, {"timestamp": 3, "body": body()}]).repeats == 2


def test_partitions_never_repeat_one_another() -> None:
    counter = RepeatCounter()
    assert [counter.add("Hi", name) for name in ("acme", "globex", "acme")] == [False, False, True]
    # The border between partition and prompt cannot be moved.
    assert not RepeatCounter().add("b", "a")
    split = RepeatCounter()
    assert [split.add("bc", "a"), split.add("c", "ab")] == [False, False]


def test_a_stream_is_read_once_and_a_bound_is_told() -> None:
    def stream() -> Iterator[str]:
        yield from ("a", "b", "c", "c", "a")

    counter = RepeatCounter(most=2)
    for text in stream():
        counter.add(text)
    report = counter.report()
    assert (report.repeats, report.bounded) == (1, True)
    assert "would serve at least 20.0% of 5 requests" in report.text()


def test_the_report_says_the_share_and_what_sampling_means() -> None:
    report = count_repeats([body(temperature=0.7), body(temperature=0.7), "Hi", "hi"], entries=1)
    assert report.text().splitlines() == [
        "an exact-match cache would serve 25.0% of 4 requests (1 repeat an earlier one byte for byte), each with the "
        "answer to the same request",
        "  with 1 entries, least recently used dropped first: 1 of them",
        "  1 more differ from an earlier one in case or white space alone",
        "  note: 2 requests ask for sampling: a cache repeats the answer it has instead",
    ]
    assert report.share == 0.25
    assert json.loads(json.dumps(report.as_dict()))["repeats"] == 1


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ([], "no requests"),
        ("lone", "a lone request"),
        ({"a": 1}, "a lone request"),
        (["a", {"stream": True}], "request 1: a request without anything"),
        ([{"messages": {1, 2}}], "request 0: a request is text or JSON"),
    ],
)
def test_what_cannot_be_counted_is_an_error(log: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        count_repeats(log)


@pytest.mark.parametrize("entries", [0, -1, True, 1.5])
def test_a_cache_has_at_least_one_entry(entries: Any) -> None:
    with pytest.raises(UsageError, match="a number from 1"):
        RepeatCounter(entries)
