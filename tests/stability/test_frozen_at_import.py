"""Times computed at import: said where the clock was asked for, and nowhere else."""

from __future__ import annotations

import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe import ChatTemplate, check_prefix_stable
from pytest_cachesafe.perturb.clock import Clock
from pytest_cachesafe.perturb.node import LOADED_AT
from pytest_cachesafe.perturb.process import started_at
from pytest_cachesafe.prompt import Turn
from pytest_cachesafe.stability.frozen import is_within
from pytest_cachesafe.values.find import find_values

NOW = datetime.now()
STAMP = f"{NOW:%Y-%m-%d %H:%M:%S}"
TEMPLATE = ChatTemplate.from_string("{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}", name="all")


def away() -> Clock:
    """The clock, moved to hours that this process has not seen."""
    return Clock("clock", base=time.time() - 7 * 3600)


def built(system: str = "", *, user: str = "Hi.", tools: Any = None) -> Any:
    def build(turn: Turn) -> dict[str, Any]:
        words = [{"role": "user", "content": user}, *[{"role": "user", "content": "More."}] * turn.index]
        return {
            "messages": [{"role": "system", "content": system or "Keep."}, *words],
            **({"tools": tools} if tools else {}),
        }

    return build


def said(build: Any, under: Any = None, template: Any = None) -> list[str]:
    report = check_prefix_stable(build, under=[away()] if under is None else under, template=template)
    assert report.verdict == "stable"
    return [words for words in report.warnings if "frozen at import" in words]


# By names: processes that share a test run must give the tests the same ones.
FORMS = {
    "plain": STAMP,
    "iso": NOW.isoformat(),
    "utc": NOW.astimezone(timezone.utc).isoformat(),
    "offset": NOW.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat(),
    "west": NOW.astimezone(timezone(timedelta(hours=-8))).isoformat(),
    "time": f"{NOW:%H:%M:%S}",
    "minute": f"now {NOW:%H:%M}",
    "half": f"the time is {NOW:%I:%M %p}",
    "european": f"{NOW:%d.%m.%Y %H:%M}",
    "long": f"{NOW:%B} {NOW.day}, {NOW.year} {NOW:%H:%M:%S}",
    "reversed": f"{NOW:%H:%M:%S} {NOW:%Y-%m-%d}",
    "file": f"{NOW:%Y-%m-%d_%H-%M-%S}",
    "compact": f"{NOW:%Y%m%dT%H%M%S}",
    "digits": f"{NOW:%Y%m%d%H%M%S}",
    "epoch": f"epoch {int(NOW.timestamp())}",
    "milliseconds": f"epoch {int(NOW.timestamp() * 1000)}",
}


@pytest.mark.parametrize("template", [None, TEMPLATE], ids=["wire", "template"])
@pytest.mark.parametrize("form", FORMS)
def test_a_time_of_this_process_is_named_with_its_place(form: str, template: Any) -> None:
    (words,) = said(built(f"Started {FORMS[form]} here."), template=template)
    place = "messages[0].content"
    assert words == (
        f"frozen at import: the time at {place} is one of this process and does not follow the clock; it changes with "
        "every process"
    )


def test_in_the_tools() -> None:
    tools = [{"type": "function", "function": {"name": "f", "description": f"Data as of {STAMP}.", "parameters": {}}}]
    (words,) = said(built(tools=tools))
    assert "at tools[0]" in words


def test_only_where_the_clock_was_asked_for() -> None:
    assert said(built(f"Started {STAMP}."), under=["cwd"]) == []
    assert check_prefix_stable(built(f"Started {STAMP}.")).warnings == []


OLD = NOW - timedelta(days=2, hours=3, minutes=7)


OTHERS = {
    "another day": f"{OLD:%Y-%m-%d %H:%M:%S}",
    "earlier": f"{NOW - timedelta(hours=5):%Y-%m-%d %H:%M:%S}",
    "later": f"{NOW + timedelta(hours=5):%H:%M:%S}",
    "the right time on another day": f"{NOW - timedelta(days=40):%Y-%m-%d} {NOW:%H:%M:%S}",
    "epoch": f"epoch {int(OLD.timestamp())}",
    # Whenever the test runs.
    "opening hours": f"open {NOW:%H:%M} to 23:59",
    "lunch": f"lunch {NOW:%H:%M}",
    "today": f"{NOW:%Y-%m-%d}",
}


@pytest.mark.parametrize("form", OTHERS)
def test_other_times_are_not(form: str) -> None:
    assert said(built(f"Shop: {OTHERS[form]}.")) == []


def test_what_users_said_may_hold_any_time() -> None:
    assert said(built(user=f"It is {STAMP}.")) == []
    assert said(built(user=f"It is {STAMP}."), template=TEMPLATE) == []


def test_a_session_that_keeps_its_first_reading_is_not() -> None:
    kept: list[str] = []

    def build(turn: Turn) -> dict[str, Any]:
        if not kept:
            kept.append(f"{datetime.now():%Y-%m-%d %H:%M:%S}")
        return built(f"Started {kept[0]}.")(turn)  # type: ignore[no-any-return]

    assert said(build) == []


def test_a_module_that_the_builder_imports_is_imported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "imported_while_building.py").write_text("from datetime import datetime\nNOW = str(datetime.now())\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "imported_while_building", raising=False)

    def build(turn: Turn) -> dict[str, Any]:
        import imported_while_building  # type: ignore[import-not-found]

        return built(f"Started {imported_while_building.NOW}.")(turn)  # type: ignore[no-any-return]

    assert len(said(build)) == 1


def test_a_stamp_in_the_newest_message_explains_no_other_time() -> None:
    def build(turn: Turn) -> dict[str, Any]:
        made = built(f"Started {STAMP}.")(turn)
        made["messages"].append({"role": "user", "content": f"[{datetime.now():%H:%M:%S}]"})
        made["messages"][-2:-1] = []
        return made  # type: ignore[no-any-return]

    report = check_prefix_stable(build, under=[away()], fail_on=[])
    assert any("frozen at import" in words for words in report.warnings)


def test_the_process_began_before_the_plugin_was_loaded() -> None:
    assert started_at() <= LOADED_AT <= time.time()
    if sys.platform == "linux":
        assert time.time() - started_at() < 24 * 3600


@pytest.mark.parametrize(
    ("written", "start", "end", "inside"),
    [
        ("2026-11-29 23:59:58", (23, 59, 50), (24, 0, 10), True),
        ("00:00:05", (23, 59, 50), (24, 0, 10), True),
        ("23:59", (23, 59, 50), (24, 0, 10), True),
        ("23:58", (23, 59, 50), (24, 0, 10), False),
        ("23:59:49", (23, 59, 50), (24, 0, 10), False),
        ("2026-11-30 23:59:58", (23, 59, 50), (24, 0, 10), False),
        ("2026-11-30T00:00:05Z", (23, 59, 50), (24, 0, 10), True),
    ],
)
def test_life_over_midnight(written: str, start: Any, end: Any, inside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    try:
        day = datetime(2026, 11, 29).timestamp()
        low, high = (day + h * 3600 + m * 60 + s for h, m, s in (start, end))
        (value,) = find_values(written, ("timestamp", "time"))
        assert is_within(value, low, high) is inside
    finally:
        monkeypatch.undo()
        time.tzset()
