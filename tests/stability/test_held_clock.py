"""Worlds that do not move the clock are built at the moments of the plain one."""

from __future__ import annotations

import itertools
import sys
import time
from datetime import datetime
from typing import Any

import pytest

from pytest_cachesafe import Toggle, check_prefix_stable
from pytest_cachesafe.perturb import clock
from pytest_cachesafe.perturb.clock import Moments
from pytest_cachesafe.prompt import Turn

WORLDS = ["cwd", "host", "user", "locale", "random"]


def body(turn: Turn, *, system: str = "You keep the shop.", newest: str = "") -> dict[str, Any]:
    history = [{"role": ("user", "assistant")[i % 2], "content": f"words {i}"} for i in range(2 * turn.index + 1)]
    history[-1]["content"] += newest
    return {"messages": [{"role": "system", "content": system}, *history]}


def stamped() -> Any:
    """A builder that stamps the newest message to the nanosecond and replays it as it was said."""
    said: dict[int, str] = {}

    def build(turn: Turn) -> dict[str, Any]:
        if turn.index == 0:
            said.clear()
        said[2 * turn.index] = f"[{time.time_ns()} {datetime.now().isoformat()}] words"
        made = body(turn)
        for at, words in said.items():
            made["messages"][at + 1]["content"] = words
        return made

    return build


def test_a_clock_in_the_newest_message_is_no_other_worlds_doing() -> None:
    report = check_prefix_stable(stamped(), under=WORLDS)
    assert (report.verdict, report.perturbed) == ("stable", [])


def test_a_clock_is_no_toggles_doing() -> None:
    toggles = [Toggle("brief", [False, True], expect="keeps"), Toggle.order("items")]

    def build(turn: Turn) -> dict[str, Any]:
        turn.order("ab")
        return {**stamp(turn), "seen": turn.settings["brief"]}

    stamp = stamped()
    report = check_prefix_stable(build, toggles=toggles)
    assert report.failures() == []
    assert [result.observed for result in report.toggles] == ["keeps", "keeps"]


def test_a_time_that_a_world_changes_is_told(tmp_path_factory: pytest.TempPathFactory) -> None:
    """With the clock held there is nothing left to excuse: the time follows the directory."""
    import os

    home = os.getcwd()
    system = lambda: f"Built at {'10:00:01' if os.getcwd() == home else '11:30:59'}."  # noqa: E731
    report = check_prefix_stable(lambda turn: body(turn, system=system()), under=["cwd"])
    assert report.verdict == "history"
    assert report.perturbed[0].under == "cwd"


def test_who_holds_the_clock_already_keeps_it() -> None:
    time_machine = pytest.importorskip("time_machine")
    with time_machine.travel(1_700_000_000, tick=False):
        assert not Moments.possible()
        seen: list[float] = []
        report = check_prefix_stable(lambda turn: seen.append(time.time()) or body(turn), under=["host"])
    assert report.verdict == "stable"
    assert set(seen) == {1_700_000_000}


def test_a_builder_that_stops_the_clock_itself_keeps_it() -> None:
    time_machine = pytest.importorskip("time_machine")
    travellers: list[Any] = []

    def build(turn: Turn) -> dict[str, Any]:
        if not travellers:
            travellers.append(time_machine.travel(1_700_000_000, tick=False))
            travellers[0].start()
        return body(turn)

    try:
        assert check_prefix_stable(build, under=["host"]).verdict == "stable"
    finally:
        travellers[0].stop()


def test_without_the_extra_a_clock_is_still_no_other_worlds_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "time_machine", None)
    assert not Moments.possible()
    ticks = itertools.count(8)
    # The first three requests are the plain world's.
    system = lambda: f"It is 10:41:{'07' if next(ticks) < 11 else '08'}."  # noqa: E731
    assert check_prefix_stable(lambda turn: body(turn, system=system()), under=["locale"]).verdict == "stable"


def test_requests_of_the_plain_world_have_their_own_moments() -> None:
    report = check_prefix_stable(lambda turn: body(turn, system=f"{time.time_ns()}"), under=["host"])
    assert report.verdict == "history"
    assert report.perturbed == []


def test_moments_are_kept_by_request() -> None:
    moments = Moments()
    with moments.at(0):
        first = time.time()
        assert time.time() == first
    with moments.at(1):
        second = time.time()
    with moments.at(0):
        assert time.time() == first
    assert second >= first
    assert clock.frozen_by() is None
