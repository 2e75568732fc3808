"""The clock setting: steps, base, reach, and other holders of the clock."""

from __future__ import annotations

import asyncio
import builtins
import sys
import time
import types
import uuid
from datetime import date, datetime, timedelta, timezone
from datetime import datetime as alias
from itertools import pairwise
from typing import Any

import pytest
import time_machine
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.perturb.clock import Clock, frozen_by
from pytest_cachesafe.prompt import UsageError


def test_requests_are_61_seconds_apart_and_the_clock_stands_still() -> None:
    clock = Clock()
    seen = []
    for index in range(3):
        with clock.at(index):
            seen.append(datetime.now())
            assert datetime.now() == seen[-1] == alias.now()
    assert [b - a for a, b in pairwise(seen)] == [timedelta(seconds=61)] * 2


def test_days_are_a_day_apart_at_the_same_time() -> None:
    clock = Clock("clock:day")
    with clock.at(0):
        first = datetime.now()
    with clock.at(40):
        later = datetime.now()
    assert later.date() - first.date() == timedelta(days=40)
    assert later.time() == first.time()


@settings(derandomize=True, deadline=None, max_examples=60)
@given(now=st.floats(946684800, 4102444800))
def test_a_run_before_midnight_does_not_change_the_date_by_accident(now: float) -> None:
    with time_machine.travel(now, tick=False):
        real = time.time
        today = date.today()
        clock = object.__new__(Clock)
        clock.name, clock._base, clock._now = "clock", None, real()
    days = {datetime.fromtimestamp(clock.timestamp(i)).date() for i in range(0, 600, 50)}
    assert days == {today}
    assert datetime.fromtimestamp(clock.timestamp(1)) - datetime.fromtimestamp(clock.timestamp(0)) == timedelta(
        seconds=61
    )


def test_reaches_every_way_to_tell_the_time() -> None:
    clock = Clock(base=1_800_000_000.0)
    with clock.at(2):
        stamp = 1_800_000_122
        assert time.time() == stamp
        assert time.time_ns() == stamp * 10**9
        assert datetime.now(timezone.utc).timestamp() == stamp
        assert date.today() == datetime.fromtimestamp(stamp).date()
        assert time.strftime("%H:%M:%S") == datetime.fromtimestamp(stamp).strftime("%H:%M:%S")
        assert time.localtime().tm_sec == datetime.fromtimestamp(stamp).second
        ticks = uuid.uuid1().time / 1e7 - (date(1970, 1, 1) - date(1582, 10, 15)).days * 86400
        assert abs(ticks - stamp) < 1


def test_reaches_the_clock_of_templates_in_transformers() -> None:
    utils = pytest.importorskip("transformers.utils.chat_template_utils")

    def rendered() -> str:
        chats, _ = utils.render_jinja_template(
            conversations=[[{"role": "user", "content": "hi"}]], chat_template="{{ strftime_now('%Y-%m-%d %H:%M') }}"
        )
        return str(chats[0])

    with Clock(base=1_800_000_000.0).at(1):
        assert rendered() == datetime.fromtimestamp(1_800_000_061).strftime("%Y-%m-%d %H:%M")


def test_reaches_the_clock_of_our_templates() -> None:
    from pytest_cachesafe import ChatTemplate

    template = ChatTemplate.from_string("{{ strftime_now('%Y-%m-%d %H:%M') }}")
    with Clock(base=1_800_000_000.0).at(1):
        text = template.render([{"role": "user", "content": "hi"}]).text
    assert text == datetime.fromtimestamp(1_800_000_061).strftime("%Y-%m-%d %H:%M")


def test_an_event_loop_goes_on_while_the_clock_stands() -> None:
    async def build() -> datetime:
        await asyncio.sleep(0.01)
        return datetime.now()

    with Clock(base=1_800_000_000.0).at(0):
        assert asyncio.run(build()).timestamp() == 1_800_000_000


def test_the_clock_goes_on_after_an_exception() -> None:
    with pytest.raises(KeyError), Clock(base=1_800_000_000.0).at(0):
        raise KeyError
    assert abs(time.time() - 1_800_000_000) > 60
    assert frozen_by() is None


@pytest.mark.parametrize("name", ["clock", "clock:day"])
def test_a_clock_that_is_held_already_is_named(name: str) -> None:
    with time_machine.travel(0), pytest.raises(UsageError, match="time-machine holds the clock"):
        Clock(name)
    clock = Clock(name)
    with time_machine.travel(0), pytest.raises(UsageError, match=name), clock.at(0):
        pass


def test_freezegun_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = types.ModuleType("freezegun.api")
    fake.freeze_factories = [object()]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "freezegun.api", fake)
    with pytest.raises(UsageError, match="freezegun holds the clock"):
        Clock()
    fake.freeze_factories.clear()  # type: ignore[attr-defined]
    assert frozen_by() is None


def test_our_own_clock_is_no_foreign_holder() -> None:
    clock = Clock()
    with clock.at(0):
        assert frozen_by() is None
        with clock.at(1):
            assert datetime.now().timestamp() == clock.timestamp(1)


def test_a_missing_extra_gives_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "time_machine":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(UsageError, match=r'pip install "pytest-cachesafe\[clock\]"') as caught:
        Clock("clock:day")
    assert "\n" not in str(caught.value)
