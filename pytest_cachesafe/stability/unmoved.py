"""A clock in the prompt that nobody asked to move: requests of one test are built within the same minute."""

from __future__ import annotations

from pytest_cachesafe.prefix.check import prompts_of
from pytest_cachesafe.prefix.inputs import Plan
from pytest_cachesafe.prompt import FrontEnd, Prompt
from pytest_cachesafe.report.visible import relative
from pytest_cachesafe.stability.worlds import Worlds
from pytest_cachesafe.values import find_values

__all__ = ["unmoved_clock"]

_FIXED_PARTS = ("system", "tools", "template")
_TIMES = ("timestamp", "time", "date")


def unmoved_clock(worlds: Worlds, base: Plan, front_end: FrontEnd) -> tuple[list[str], list[str]]:
    """(warnings, notes) where the builder read the clock and a time stands in front of the messages.

    A time of day is a warning: it breaks every later request. A date is a note: it costs one rewrite a day.
    """
    read = next((r for r in worlds.reads if r.kind == "clock"), None)
    if read is None:
        return [], []
    prompt = next((p for _, p in prompts_of(base.items[:1], front_end) if isinstance(p, Prompt)), None)
    if prompt is None:
        return [], []
    for segment in prompt.segments:
        if segment.part not in _FIXED_PARTS:
            continue
        for value in find_values(prompt.text[segment.start : segment.end], kinds=_TIMES):
            daily = value.granularity in ("day", "month", "year")
            path = f" at {segment.path}" if segment.path not in (None, segment.part) else ""
            setting = "clock:day" if daily else "clock"
            words = (
                f"the {segment.part} text{path} holds a {'date' if daily else 'time'}, and the clock was read at "
                f"{relative(read.filename)}:{read.row} ({read.call}); requests built in one moment cannot show it: "
                f'add under=["{setting}"]'
            )
            return ([], [words]) if daily else ([words], [])
    return [], []
