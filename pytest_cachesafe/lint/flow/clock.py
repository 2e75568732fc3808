"""How often a clock changes after it was formatted, cut or divided; `policy` among the rules makes severities of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern

if TYPE_CHECKING:
    from cachesafe_rules.model import Source

__all__ = [
    "GRANULARITIES",
    "coarser",
    "of_attribute",
    "of_divisor",
    "of_format",
    "of_method",
    "of_replace",
    "of_spec",
    "rank",
    "tells_time",
    "tells_zone_only",
]

# From fine to coarse.
GRANULARITIES = ("microsecond", "second", "minute", "hour", "day", "month", "year")

_DIRECTIVES = {
    "f": "microsecond", "S": "second", "s": "second", "c": "second", "X": "second", "T": "second", "r": "second",
    "M": "minute", "R": "minute", "H": "hour", "I": "hour", "p": "hour", "l": "hour", "k": "hour", "d": "day",
    "e": "day", "a": "day", "A": "day", "w": "day", "u": "day", "j": "day", "x": "day", "D": "day", "F": "day",
    "U": "day", "W": "day", "V": "day", "b": "month", "B": "month", "h": "month", "m": "month", "y": "year",
    "Y": "year", "G": "year", "C": "year",
}  # fmt: skip
_OTHER_UNIT = lazy_pattern(r"_ns\b|ns\(|\bms\b|_ms\b|milli|micro|nano|\*|1e\d", re.IGNORECASE)
# Methods of pendulum, arrow, whenever and pandas by which a time becomes text, another time or a number: what is left.
_METHODS: dict[str, str | None] = {
    "to_time_string": "second", "to_datetime_string": "second", "to_day_datetime_string": "minute",
    "to_formatted_date_string": "day", "to_date_string": "day", "to_iso8601_string": None, "to_atom_string": "second",
    "to_cookie_string": "second", "to_rss_string": "second", "to_w3c_string": "second", "to_rfc822_string": "second",
    "to_rfc850_string": "second", "to_rfc1036_string": "second", "to_rfc1123_string": "second",
    "to_rfc2822_string": "second", "to_rfc3339_string": "second", "for_json": None, "format_iso": None,
    "format_common_iso": None, "format_rfc2822": "second", "format_rfc3339": None, "diff_for_humans": "second",
    "in_timezone": None, "in_tz": None, "to_tz": None, "to_system_tz": None, "to_fixed_offset": None, "naive": None,
    "set_timezone": None, "set_tz": None, "tz_convert": None, "tz_localize": None, "to_pydatetime": None,
    "py_datetime": None, "datetime": None, "add": None, "subtract": None, "shift": None, "dehumanize": None,
    "normalize": "day", "day_name": "day", "month_name": "month", "timetz": None, "utctimetuple": "second",
    "in_seconds": "second", "in_minutes": "minute", "in_hours": "hour", "in_days": "day", "in_weeks": "day",
    "in_words": "second", "total_minutes": None, "total_hours": None, "as_interval": None, "as_timedelta": None,
    "diff": None, "to": None,
}  # fmt: skip
_DIRECTIVE = lazy_pattern(r"%[-#_0^:]?([A-Za-z%])")


def of_format(text: str) -> str | None:
    """Finest directive of a strftime format; None where the format prints nothing of the clock."""
    found = [_DIRECTIVES[letter] for letter in _DIRECTIVE.findall(text) if letter in _DIRECTIVES]
    return min(found, key=GRANULARITIES.index) if found else None


def tells_zone_only(text: str) -> bool:
    """Whether a format prints the time zone and nothing of the time."""
    found = set(_DIRECTIVE.findall(text)) - {"%"}
    return bool(found) and found <= {"z", "Z"}


def tells_time(source: Source) -> bool:
    """Whether a source is a time, that of a clock or that of a file."""
    return source.kind == "clock" or (source.kind == "file" and source.granularity in GRANULARITIES)


def of_spec(text: str) -> str | None:
    """The same for tokens of pendulum and arrow (`YYYY-MM-DD HH:mm`)."""
    for token, granularity in (
        ("S", "microsecond"),
        ("s", "second"),
        ("m", "minute"),
        ("H", "hour"),
        ("h", "hour"),
        ("D", "day"),
        ("d", "day"),
        ("M", "month"),
        ("Y", "year"),
    ):
        if token in text:
            return granularity
    return None


def of_attribute(name: str) -> str | None:
    """`now.hour` changes hourly, whatever the clock."""
    name = {
        "tm_sec": "second",
        "tm_min": "minute",
        "tm_hour": "hour",
        "tm_mday": "day",
        "tm_wday": "day",
        "tm_mon": "month",
        "tm_year": "year",
        "tm_yday": "day",
        "microseconds": "microsecond",
        "seconds": "second",
        "days": "day",
        "int_timestamp": "second",
        "float_timestamp": "microsecond",
        "day_of_week": "day",
        "day_of_year": "day",
        "week_of_year": "day",
    }.get(name, name)
    return name if name in GRANULARITIES else None


def of_method(name: str, unit: str = "") -> tuple[bool, str | None]:
    """Whether a method of a time gives the same time in another form, and how often that changes; `unit` is what
    `start_of` and the like are given."""
    if name in ("start_of", "end_of", "floor", "ceil"):
        return True, unit if unit in GRANULARITIES else None
    return name in _METHODS, _METHODS.get(name)


def of_divisor(dividend: str, seconds: float) -> str | None:
    """`int(seconds / 60)` changes with the minute; of milliseconds and the like, as far as they are called so, nothing
    is known."""
    if _OTHER_UNIT.search(dividend):
        return None
    return "day" if seconds >= 86400 else "hour" if seconds >= 3600 else "minute" if seconds >= 60 else None


def of_replace(zeroed: set[str]) -> str | None:
    """`.replace(minute=0, second=0, microsecond=0)` leaves the hour; the finest part that stays decides."""
    for granularity in GRANULARITIES:
        if granularity not in zeroed:
            return granularity
    return "year"


def coarser(a: str, b: str | None) -> str:
    """The coarser of two: cutting never makes a clock finer."""
    if b is None or a not in GRANULARITIES or b not in GRANULARITIES:
        return a
    return max(a, b, key=GRANULARITIES.index)


def rank(granularity: str) -> int:
    """Finest first; what is no clock's comes last."""
    return GRANULARITIES.index(granularity) if granularity in GRANULARITIES else len(GRANULARITIES)
