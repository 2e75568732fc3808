"""Times that were computed when modules were imported: they change with every process, and no clock moved in a test
shows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone, tzinfo

from pytest_cachesafe.findings import Severity
from pytest_cachesafe.prefix.check import prompts_of
from pytest_cachesafe.prefix.inputs import Item, Plan
from pytest_cachesafe.prompt import FrontEnd, Prompt
from pytest_cachesafe.stability.worlds import Worlds
from pytest_cachesafe.values.find import Value, find_values
from pytest_cachesafe.values.patterns import TIME_OF_DAY
from pytest_cachesafe.values.policy import volatility

__all__ = ["frozen_at_import", "is_within"]

# The pieces of a time of day, and of a stamp without separators (20261129204035).
_DIGITS = re.compile(r"(\d{1,2})\D?(\d\d)(?:\D?(\d\d))?")
_COMPACT = re.compile(r"(20\d\d\d\d\d\d)(\d\d\d\d\d\d)")
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)?$")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# In a process that runs for days, a time of day alone says nothing.
_MOST_DAYS = 3


def frozen_at_import(worlds: Worlds, base: Plan, moved: Sequence[Item], front_end: FrontEnd) -> list[str]:
    """A sentence for each time of this process in the first request that stays as it is while the clock moves.

    `moved` are the requests of `base`, built with the clock moved. Asked for with `under=["clock"]` only: elsewhere a
    time is looked at by comparison alone.
    """
    if worlds.moments is None:
        return []
    from pytest_cachesafe.perturb.process import started_at

    first = [p for _, p in prompts_of(base.items[:1], front_end) if isinstance(p, Prompt)]
    others = [*moved[:1], *moved[-1:]]
    later = [p for _, p in prompts_of(others, front_end) if isinstance(p, Prompt)]
    if not first or len(later) < len(others):
        return []
    # A line that read the clock in the plain world and not in the moved one may have kept what it read, once a session
    # or once a process, which a test cannot tell. A module that the builder imported is as good as one before.
    once = [r for r in worlds.reads if r not in worlds.reads_later and r.function != "<module>"]
    kept = worlds.blind or any(r.kind == "clock" for r in once)
    places: dict[str, None] = {}
    for value, place in _frozen_times(first[0], later, started_at() - 1, worlds.made_at):
        if not (kept and any(is_within(value, moment, moment) for moment in worlds.moments.known.values())):
            places[place] = None
    return [
        f"frozen at import: the time {place} is one of this process and does not follow the clock; it changes with "
        "every process"
        for place in places
    ]


def _frozen_times(prompt: Prompt, later: list[Prompt], start: float, end: float) -> Iterator[tuple[Value, str]]:
    """(value, place) of each time in tools, system or template text that the process's own clock can have shown.

    Args:
        prompt: a request as built; later: the same and later requests, built with the clock moved.
        start: begin of the process, end: when requests were built; seconds since the epoch.
    """
    for low, high in _runs(prompt):
        text = prompt.text[low:high]
        for value in find_values(text, ("timestamp", "time")):
            judged = volatility(value, text)
            # Opening hours and the like: only what the clock policy takes for a clock.
            if judged is None or judged[0] is not Severity.ERROR:
                continue
            if is_within(value, start, end) and all(value.text in other.text for other in later):
                segment = prompt.segment_at(low + value.start)
                written = segment is not None and segment.writer == "data" and segment.path
                yield value, f"at {segment.path}" if segment is not None and written else "in the template"


def _runs(prompt: Prompt) -> Iterator[tuple[int, int]]:
    """Stretches of the prompt outside messages: what users said may hold any time."""
    low = high = 0
    for segment in prompt.segments:
        if segment.part in ("tools", "system", "template"):
            if segment.start != high:
                low = segment.start
            high = segment.end
        elif high > low:
            yield low, high
            low = high = segment.end
        else:
            low = high = segment.end
    if high > low:
        yield low, high


def is_within(value: Value, start: float, end: float) -> bool:
    """Whether a value can name a moment between two (seconds since the epoch), in local time, UTC or its own zone."""
    width = {"second": 1, "minute": 60}.get(value.granularity or "")
    if width is None:
        return False
    digits = value.text.replace(".", "")
    if digits.isdigit() and len(value.text.partition(".")[0]) in (10, 13, 16, 19):
        second = int(digits[:10])
        return second <= end and second + 1 > start
    return any(moment <= end and moment + width > start for moment in _moments(value, start, end))


def _moments(value: Value, start: float, end: float) -> Iterator[float]:
    """What the value can mean on each day from `start` to `end`."""
    found = _time_of_day(value.text)
    if found is None:
        return
    hour, minute, second, rest = found
    for zone in _zones(rest):
        day = datetime.fromtimestamp(start, zone)
        for days in range(min(int((end - start) // 86_400) + 2, _MOST_DAYS)):
            moment = (day + timedelta(days=days)).replace(hour=hour, minute=minute, second=min(second, 59))
            moment = moment.replace(microsecond=0)
            if value.kind == "time" or _names_day(rest, moment):
                yield moment.timestamp()


def _time_of_day(word: str) -> tuple[int, int, int, str] | None:
    """(hour, minute, second, the rest of the word: its date, half of the day and zone)."""
    found = TIME_OF_DAY.search(word)
    low, high = (found.span(1) if found[1] else found.span(2)) if found is not None else (0, 0)
    compact = _COMPACT.match(word)
    if found is None and compact is not None:
        low, high = compact.span(2)
    pieces = _DIGITS.match(word, low, high)
    if pieces is None:
        return None
    hour, rest = int(pieces[1]), f"{word[:low]} {word[high:]}"
    half = re.search(r"\b([AaPp])\.?[Mm]\b", rest)
    if half is not None:
        hour = hour % 12 + (12 if half[1] in "Pp" else 0)
    return (hour, int(pieces[2]), int(pieces[3] or 0), rest) if hour < 24 and int(pieces[2]) < 60 else None


def _zones(rest: str) -> list[tzinfo | None]:
    found: list[tzinfo | None] = [None, timezone.utc]
    offset = _OFFSET.search(rest.strip())
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        if minutes < 24 * 60:
            found.append(timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes)))
    return found


def _names_day(rest: str, moment: datetime) -> bool:
    """Whether the date written beside a time is that of `moment`."""
    numbers = [int(n) for n in re.findall(r"\d+", rest)]
    joined = re.search(r"(20\d\d)(\d\d)(\d\d)(?!\d)", rest)
    if joined is not None:
        numbers += [int(n) for n in joined.groups()]
    years = [n for n in numbers if 1900 <= n < 2100]
    month = moment.month in numbers or _MONTHS[moment.month - 1] in rest.lower()
    return moment.day in numbers and month and (not years or moment.year in years)
