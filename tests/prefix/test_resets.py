"""Intended resets begin a new epoch: declared they are counted, undeclared they fail."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_cachesafe import UsageError, assert_prefix_stable, check_prefix_stable
from pytest_cachesafe.prompt import Chat

Messages = list[dict[str, Any]]
SYSTEM = {"role": "system", "content": "You keep the shop."}


def turn(n: int) -> Messages:
    return [{"role": "user", "content": f"Question {n}?"}, {"role": "assistant", "content": f"Answer {n}."}]


def talk(first: int, last: int, start: Messages | None = None) -> Messages:
    messages = [SYSTEM, *(start or [])]
    for n in range(first, last + 1):
        messages += turn(n)
    return messages[:-1]


SUMMARY: Messages = [
    {"role": "user", "content": "<summary>Questions 0 to 2 were answered.</summary>"},
    {"role": "assistant", "content": "Understood."},
]
# Three turns, then everything is summarised, then two turns more.
COMPACTED = [talk(0, 0), talk(0, 1), talk(0, 2), talk(3, 3, SUMMARY), talk(3, 4, SUMMARY)]


def test_undeclared_it_fails() -> None:
    report = check_prefix_stable(COMPACTED)
    assert (report.verdict, report.resets) == ("history", [])
    assert [s.request for s in report.steps if s.verdict != "stable"] == [3]


@pytest.mark.parametrize(
    "reset",
    [3, "<summary>", lambda earlier, later: len(later.messages) < len(earlier.messages)],
    ids=["index", "marker", "predicate"],
)
def test_declared_it_is_counted(reset: Any) -> None:
    report = assert_prefix_stable(COMPACTED, resets=[reset], max_resets=1)
    assert report.resets == [3]
    assert report.verdict == "stable"
    assert "declared reset at request 3" in report.text()
    assert report.as_dict()["steps"][2]["reset"]
    assert report.as_dict()["resets"] == [3]


def test_a_predicate_sees_both_requests() -> None:
    seen: list[tuple[int, int]] = []

    def shorter(earlier: Chat, later: Chat) -> bool:
        seen.append((len(earlier.messages), len(later.messages)))
        return len(later.messages) < len(earlier.messages)

    assert_prefix_stable(COMPACTED, resets=[shorter])
    assert (6, 4) in seen


def test_the_new_epoch_is_judged_as_well() -> None:
    broken = [*COMPACTED, talk(3, 5, SUMMARY)]
    broken[-1][2] = {"role": "assistant", "content": "Noted."}
    report = check_prefix_stable(broken, resets=["<summary>"])
    assert report.resets == [3]
    assert [s.request for s in report.judged if s.verdict != "stable"] == [5]
    assert not report.passed


def test_a_marker_resets_once_only() -> None:
    """It is in every later request; a second compaction is another reset only where a marker is new."""
    second: Messages = [{"role": "user", "content": "<summary>All answered.</summary> /clear"}]
    requests = [*COMPACTED, [SYSTEM, *second]]
    assert check_prefix_stable(requests, resets=["<summary>"]).resets == [3]
    assert check_prefix_stable(requests, resets=["<summary>"]).verdict == "history"
    assert check_prefix_stable(requests, resets=["<summary>", "/clear"]).resets == [3, 5]


def test_too_many() -> None:
    twice = [talk(0, 0), talk(1, 1), talk(2, 2)]
    report = check_prefix_stable(twice, resets=[1, 2], max_resets=1)
    assert not report.passed
    assert "2 resets happened, max_resets is 1" in report.first_line
    assert check_prefix_stable(twice, resets=[1, 2], max_resets=2).passed


def test_a_model_switch() -> None:
    bodies = [{"model": m, "messages": talk(0, n)} for n, m in enumerate(["small", "small", "large", "large"])]
    report = check_prefix_stable(bodies)
    assert (report.verdict, report.as_dict()["cause"]) == ("history", "model_changed")
    assert [s.request for s in report.steps if s.verdict != "stable"] == [2]
    declared = assert_prefix_stable(bodies, resets=["model"])
    assert declared.resets == [2]
    assert declared.as_dict()["steps"][1]["reset"] == "model switch small to large"


def test_a_declared_reset_hides_nothing_where_the_prefix_is_kept() -> None:
    report = assert_prefix_stable([talk(0, 0), talk(0, 1)], resets=[1])
    assert report.resets == []


def test_a_reset_that_never_happens_is_reported() -> None:
    report = assert_prefix_stable([talk(0, 0), talk(0, 1)], resets=["<summary>", 7])
    assert [n for n in report.notes if "never happened" in n] == [
        "declared reset never happened: '<summary>'",
        "declared reset never happened: 7",
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"resets": 3}, "takes a list"),
        ({"resets": [True]}, "neither a request index"),
        ({"resets": [3.5]}, "neither a request index"),
        ({"resets": [3], "max_resets": -1}, "max_resets"),
    ],
)
def test_misuse(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        check_prefix_stable(COMPACTED, **options)
    assert "\n" not in str(caught.value)


def test_a_predicate_that_raises_keeps_its_error() -> None:
    def broken(earlier: Any, later: Any) -> bool:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        check_prefix_stable(COMPACTED, resets=[broken])
