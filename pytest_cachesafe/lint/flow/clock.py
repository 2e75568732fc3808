"""How often a clock changes after it was formatted, cut or divided; `policy` among the rules makes severities of it."""

from __future__ import annotations

import re

from cachesafe_rules.patterns import lazy_pattern

__all__ = [
    "GRANULARITIES",
    "coarser",
    "of_attribute",
    "of_divisor",
    "of_format",
    "of_replace",
    "of_spec",
    "rank",
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
_DIRECTIVE = lazy_pattern(r"%[-#_0^:]?([A-Za-z%])")


def of_format(text: str) -> str | None:
    """Finest directive of a strftime format; None where the format prints nothing of the clock."""
    found = [_DIRECTIVES[letter] for letter in _DIRECTIVE.findall(text) if letter in _DIRECTIVES]
    return min(found, key=GRANULARITIES.index) if found else None


def tells_zone_only(text: str) -> bool:
    """Whether a format prints the time zone and nothing of the time."""
    found = set(_DIRECTIVE.findall(text)) - {"%"}
    return bool(found) and found <= {"z", "Z"}


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
    }.get(name, name)
    return name if name in GRANULARITIES else None


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
