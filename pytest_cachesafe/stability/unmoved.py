"""A clock in the prompt that nobody asked to move: requests of one test are built within the same minute."""

from __future__ import annotations

import re
import time
from datetime import datetime, timezone

from pytest_cachesafe.prefix.check import prompts_of
from pytest_cachesafe.prefix.inputs import Plan
from pytest_cachesafe.prompt import FrontEnd, Prompt, Segment
from pytest_cachesafe.report.visible import relative
from pytest_cachesafe.stability.frozen import is_within
from pytest_cachesafe.stability.worlds import Worlds
from pytest_cachesafe.values import Value, find_values

__all__ = ["unmoved_clock"]

_FIXED_PARTS = ("system", "tools", "template")
_TIMES = ("timestamp", "time", "date")
# A clock that was printed names the moment of building, give or take a minute of rounding.
_SLACK = 60


def unmoved_clock(worlds: Worlds, base: Plan, front_end: FrontEnd) -> tuple[list[str], list[str]]:
    """(warnings, notes) where the builder read the clock and the time of building stands in front of the messages.

    A time of day is a warning: it breaks every later request. A date is a note: it costs one rewrite a day. Times that
    are not those of the building (opening hours, the date of some terms) are texts like any other.
    """
    read = next((r for r in worlds.reads if r.kind == "clock"), None)
    if read is None:
        return [], []
    prompt = next((p for _, p in prompts_of(base.items[:1], front_end) if isinstance(p, Prompt)), None)
    if prompt is None:
        return [], []
    dated: Segment | None = None
    for segment in prompt.segments:
        if segment.part not in _FIXED_PARTS:
            continue
        for value in find_values(prompt.text[segment.start : segment.end], kinds=_TIMES):
            if is_within(value, worlds.made_at - _SLACK, time.time() + _SLACK):
                return [_sentence(segment, "time", f"{relative(read.filename)}:{read.row} ({read.call})")], []
            if dated is None and _names_today(value):
                dated = segment
    if dated is None:
        return [], []
    return [], [_sentence(dated, "date", f"{relative(read.filename)}:{read.row} ({read.call})")]


def _sentence(segment: Segment, what: str, read: str) -> str:
    path = f" at {segment.path}" if segment.path not in (None, segment.part) else ""
    setting = "clock" if what == "time" else "clock:day"
    return (
        f"the {segment.part} text{path} holds a {what}, and the clock was read at {read}; requests built in one moment "
        f'cannot show it: add under=["{setting}"]'
    )


def _names_today(value: Value) -> bool:
    """Whether a date is today's, here or in UTC, in any order of its parts."""
    if value.granularity not in ("day", None):
        return False
    text = value.text.lower()
    numbers = {int(n) for n in re.findall(r"\d+", text)}
    for now in (datetime.now(), datetime.now(timezone.utc)):
        if text == now.strftime("%A").lower():
            return True
        compact = now.strftime("%Y%m%d") in text
        month = now.month in numbers or now.strftime("%b").lower() in text
        if compact or (now.day in numbers and month and {now.year, now.year % 100} & numbers):
            return True
    return False
