"""Builders: turns, settings, orders, worlds; their exceptions stay their own."""

from __future__ import annotations

import asyncio
import os
import random
import time
import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest

from pytest_cachesafe import Toggle, UsageError, assert_prefix_stable, assert_prefix_stable_async, check_prefix_stable
from pytest_cachesafe.prompt import Turn

HISTORY = [
    {"role": "user", "content": "What is in stock?"},
    {"role": "assistant", "content": "Pears and quinces."},
    {"role": "user", "content": "How many pears?"},
    {"role": "assistant", "content": "Forty."},
    {"role": "user", "content": "Order ten."},
]
TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "description": f"Does {name}.", "parameters": {"type": "object", "properties": {}}},
    }
    for name in ("stock", "order", "cancel")
]


def request(turn: Turn, system: str = "You keep the shop.", tools: Any = None) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, *HISTORY[: 2 * turn.index + 1]]
    return {"model": "m", "messages": messages, **({"tools": tools} if tools else {})}


def test_every_turn_is_built() -> None:
    seen = []

    def build(turn: Turn) -> dict[str, Any]:
        seen.append(turn.index)
        return request(turn)

    report = assert_prefix_stable(build, turns=3)
    assert seen == [0, 1, 2]
    assert [(s.request, s.against) for s in report.steps] == [(1, 0), (2, 1)]


def test_async_builder() -> None:
    async def build(turn: Turn) -> dict[str, Any]:
        await asyncio.sleep(0)
        return request(turn)

    report = asyncio.run(assert_prefix_stable_async(build, turns=3))
    assert report.verdict == "stable"
    with pytest.raises(UsageError, match="assert_prefix_stable_async"):
        assert_prefix_stable(build)


def test_a_builder_that_raises_keeps_its_traceback() -> None:
    def build(turn: Turn) -> dict[str, Any]:
        raise LookupError("no such customer")

    with pytest.raises(LookupError, match="no such customer") as caught:
        assert_prefix_stable(build, under=["cwd"])
    assert caught.traceback[-1].name == "build"


@pytest.mark.parametrize("result", [None, 7, {}, {"messages": []}, [{"content": "no role"}]])
def test_what_a_builder_must_not_return(result: Any) -> None:
    with pytest.raises(UsageError, match="turn 0") as caught:
        check_prefix_stable(lambda turn: result)
    assert "\n" not in str(caught.value)


def test_a_clock_in_the_system_text() -> None:
    def build(turn: Turn) -> dict[str, Any]:
        return request(turn, f"You keep the shop. It is {datetime.now():%Y-%m-%d %H:%M}.")

    assert check_prefix_stable(build).verdict == "stable"
    report = check_prefix_stable(build, under=["clock"])
    assert report.verdict == "history"
    data = report.as_dict()
    assert (data["cause"], data["origin"], data["location"]["part"]) == ("timestamp", "application", "system")
    assert data["perturbed"][0]["under"] == "clock"
    text = report.text()
    assert "test_builder.py" in text
    assert "datetime.now" in text


def test_a_date_in_the_system_text_is_a_note() -> None:
    def build(turn: Turn) -> dict[str, Any]:
        return request(turn, f"You keep the shop. Today is {datetime.now():%Y-%m-%d}.")

    assert check_prefix_stable(build, under=["clock"]).verdict == "stable"
    report = check_prefix_stable(build, under=["clock:day"])
    assert report.as_dict()["cause"] == "date"
    assert report.as_dict()["severity"] == "note"
    assert report.passed
    assert not check_prefix_stable(build, under=["clock:day"], fail_on=["history", "date"]).passed


def test_a_clock_in_the_newest_user_message_is_fine() -> None:
    """Stamped when first said and replayed as said: the pattern every guide recommends."""
    said: dict[int, str] = {}

    def build(turn: Turn) -> dict[str, Any]:
        if turn.index == 0:
            said.clear()
        said[2 * turn.index] = f"[{time.strftime('%H:%M:%S')}] {HISTORY[2 * turn.index]['content']}"
        messages = [{**m, "content": said.get(i, m["content"])} for i, m in enumerate(HISTORY[: 2 * turn.index + 1])]
        return {"messages": [{"role": "system", "content": "You keep the shop."}, *messages]}

    report = assert_prefix_stable(build, under=["clock", "clock:day", "random", "cwd", "host", "user", "locale"])
    assert report.verdict == "stable"


@pytest.mark.parametrize(
    ("under", "value"),
    [
        ("cwd", os.getcwd),
        ("user", lambda: os.path.expanduser("~")),
        ("host", lambda: __import__("socket").gethostname()),
        ("random", lambda: f"session {random.getrandbits(64):016x}"),
        ("random", lambda: f"session {uuid.uuid4()}"),
    ],
)
def test_worlds(under: str, value: Any) -> None:
    session = {}

    def build(turn: Turn) -> dict[str, Any]:
        if turn.index == 0:
            session["value"] = value()
        return request(turn, f"You keep the shop in {session['value']}.")

    assert check_prefix_stable(build).verdict == "stable"
    report = check_prefix_stable(build, under=[under])
    assert report.verdict == "history"
    assert report.perturbed[0].under == under
    assert report.as_dict()["location"]["part"] == "system"


def test_given_requests_have_no_world() -> None:
    with pytest.raises(UsageError, match="needs a builder"):
        check_prefix_stable(HISTORY, under=["cwd"])


def test_order_toggle() -> None:
    unsorted = check_prefix_stable(lambda t: request(t, tools=t.order(TOOLS)), toggles=[Toggle.order("tools")])
    assert not unsorted.passed
    assert unsorted.verdict == "stable"
    result = unsorted.as_dict()["toggles"]["tools"]
    assert (result["observed"], result["expect"]) == ("splits", "keeps")
    assert result["divergence"]["cause"] == "order"
    by_name = lambda tools: sorted(tools, key=lambda t: t["function"]["name"])  # noqa: E731
    assert assert_prefix_stable(lambda t: request(t, tools=by_name(t.order(TOOLS))), toggles=[Toggle.order("tools")])


def test_order_toggle_that_reorders_nothing() -> None:
    with pytest.raises(UsageError, match=r"never calls turn\.order"):
        check_prefix_stable(lambda t: request(t, tools=TOOLS), toggles=[Toggle.order("tools")])


def test_schema_key_order() -> None:
    def build(turn: Turn) -> dict[str, Any]:
        return request(turn, tools=turn.order(TOOLS))

    report = check_prefix_stable(build, toggles=[Toggle.order("schema_keys")])
    assert "order of schema_keys" in "\n".join(report.failures())


def test_setting_toggle_reaches_the_builder() -> None:
    def build(turn: Turn) -> dict[str, Any]:
        return request(turn, "You keep the shop." + (" Be brief." if turn.settings["brief"] else ""))

    report = check_prefix_stable(build, toggles=[Toggle("brief", [False, True])])
    assert report.passed
    assert report.as_dict()["toggles"]["brief"]["observed"] == "splits"
    assert not check_prefix_stable(build, toggles=[Toggle("brief", [False, True], expect="keeps")]).passed
    assert check_prefix_stable(build, toggles=[Toggle("brief", [False, True], expect="splits")]).passed


def test_an_intended_split_that_stops_is_reported() -> None:
    report = check_prefix_stable(request, toggles=[Toggle("brief", [False, True], expect="splits")])
    assert not report.passed
    assert "no longer" in report.failures()[0]


def test_one_turn_compares_nothing() -> None:
    with pytest.raises(UsageError, match="nothing was compared"):
        check_prefix_stable(request, turns=1)
    # Something is compared when a toggle is tried.
    assert check_prefix_stable(request, turns=1, toggles=[Toggle("brief", [0, 1])])


def test_a_clock_that_nobody_moves_is_a_warning() -> None:
    def build(turn: Turn) -> dict[str, Any]:
        return request(turn, f"You keep the shop. It is {datetime.now():%H:%M}.")

    with pytest.warns(UserWarning, match=r'clock was read at .*test_builder.py.*add under=\["clock"\]'):
        assert_prefix_stable(build)
    assert check_prefix_stable(build).exit_status() == 1
    assert not check_prefix_stable(request).warnings


def test_a_date_that_nobody_moves_is_a_note() -> None:
    def build(turn: Turn) -> dict[str, Any]:
        return request(turn, f"You keep the shop. Today is {datetime.now():%Y-%m-%d}.")

    report = check_prefix_stable(build)
    assert not report.warnings
    assert any("clock:day" in note for note in report.notes)


@pytest.mark.parametrize(
    "text",
    [
        "Today is {now:%Y-%m-%d}. Local time {now:%H:%M}.",
        "Our terms are of 2024-05-01. Local time {now:%H:%M}.",
        "Built {now:%d %B %Y %H:%M:%S}.",
    ],
)
def test_the_clock_behind_a_date_is_seen(text: str) -> None:
    report = check_prefix_stable(lambda turn: request(turn, text.format(now=datetime.now())))
    assert len(report.warnings) == 1
    assert 'under=["clock"]' in report.warnings[0]


@pytest.mark.parametrize("text", ["Lunch is at {away:%H:%M}.", "Our terms are of 2024-05-01.", "Call +1 555 0100."])
def test_fixed_times_beside_a_reading_are_quiet(text: str) -> None:
    fixed = text.format(away=datetime.now() + timedelta(hours=5, minutes=17))

    def build(turn: Turn) -> dict[str, Any]:
        started = time.time()
        return request(turn, fixed if started else "")

    report = check_prefix_stable(build)
    assert not report.warnings
    assert not report.notes
