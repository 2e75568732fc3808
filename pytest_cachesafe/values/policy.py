"""How bad a value in a prompt is, from what it looks like alone: the one clock policy.

What changes within minutes is an error, what changes once a day a note with its price; random-looking ids, addresses
and temporary paths are warnings, since they may be constants. Numbers and units are left to comparison.
"""

from __future__ import annotations

import re

from pytest_cachesafe.findings import Severity
from pytest_cachesafe.values.find import Value

__all__ = ["volatility"]

_NOW = re.compile(
    r"\b(?:now|today|current(?:ly)?|date|time|as of|it is|clock|timestamp|generated|updated)\b", re.IGNORECASE
)
_RANGE_AFTER = re.compile(r"\s?(?:[-–—]|to\b|until\b|and\b)\s?\d")
_RANGE_BEFORE = re.compile(r"\d\s?(?:[AaPp][Mm])?\s?(?:[-–—]|to|until|and)\s?$")
_TEMPORARY = re.compile(
    r"(?:^|[\\/])(?:tmp|temp|Temp|TEMP|var[\\/]folders|pytest-of-[^\\/]+|pytest-\d+)(?:[\\/]|$)|[\\/]tmp[\w]{6,}"
)
_HOME = re.compile(r"^(?:~|/home/|/Users/|/root/|[A-Za-z]:\\{1,2}Users\\)")
_LONG = 40


def volatility(value: Value, text: str) -> tuple[Severity, str] | None:
    """Severity and reason for a value found in `text`, None if nothing speaks for a change."""
    before = text[max(0, value.start - _LONG) : value.start]
    after = text[value.end : value.end + 8]
    if value.kind in ("timestamp", "time"):
        return _clock(value, before, after)
    if value.kind == "date":
        if value.text.isalpha() and not _NOW.search(before):
            # "open Monday to Friday" is no clock.
            return None
        often = {"month": "once a month", "year": "once a year"}.get(value.granularity or "", "once a day")
        return Severity.NOTE, f"a date: if it is today's, the prefix is written anew {often}"
    if value.kind in ("uuid", "id", "hash"):
        if not value.text.strip("0-"):
            return None
        words = {"uuid": "a UUID", "id": "a random-looking id", "hash": "a hash or commit id"}[value.kind]
        if before.endswith("/"):
            return Severity.NOTE, f"{words} in a path or URL: nothing behind it is reused if it is made per request"
        return Severity.WARNING, f"{words}: if it is made per request, nothing behind it is reused"
    if value.kind == "address":
        return Severity.WARNING, "a memory address, from the repr of an object: it changes with every process"
    if value.kind == "path":
        if _TEMPORARY.search(value.text):
            return Severity.WARNING, "a temporary path: it changes with every run"
        if _HOME.match(value.text):
            return Severity.NOTE, "a path in a home directory: it differs between users and machines"
        return None
    if value.kind == "host":
        return Severity.NOTE, "a host name or address: it differs between machines"
    return None


def _clock(value: Value, before: str, after: str) -> tuple[Severity, str] | None:
    if value.granularity == "day":
        return Severity.NOTE, "midnight of a day: if it is today's, the prefix is written anew once a day"
    if value.kind == "time" and value.granularity != "second":
        if _RANGE_AFTER.match(after) or _RANGE_BEFORE.search(before):
            # Opening hours.
            return None
        if not _NOW.search(before):
            return Severity.NOTE, "a time of day: an error if it is the clock's"
    often = {"second": "every second", "minute": "every minute", "hour": "every hour"}.get(
        value.granularity or "", "often"
    )
    return Severity.ERROR, f"a clock that changes {often}: nothing behind it is reused"
