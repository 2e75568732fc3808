"""A body that goes on from an earlier one: its beginning and end are compared as bytes, and only the middle is read.

An agent's next request repeats everything but the end of its history. What stands before that end and behind it is then
what it was, values and all: a JSON text is read from left to right, and both leave the reader in the same place.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable
from typing import Any

from pytest_cachesafe.providers.fronts import Front

__all__ = ["CLOSED", "Trunk", "shared_blocks"]

# How a value ends, or begins, that ends by itself: a number could go on.
CLOSED = '{["'
_ENDS = (b"}", b"]", b'"')
_BLANKS = " \t\n\r"
# How many elements at the end may be new to the list: a marker moves by a message or two.
_CHANGED = 6
# What is repeated is put together when there is so much of it, so that it is compared at once and copied seldom.
_SETTLED = 8_192
# Texts worth keeping once.
_LONG = 64
# Reads one value at a place and says where it ends; the C version, where there is one.
_DECODER: Any = json.JSONDecoder()
_scan = _DECODER.scan_once


class Trunk:
    """One body, cut where the elements of its longest list end."""

    __slots__ = ("_body", "_ends", "_front", "_key", "_rest", "_settled", "_tail", "_values")

    def __init__(self, data: bytes, body: dict[str, Any], key: str, begin: int, ends: list[int]) -> None:
        """Begin with a body that was read whole.

        Args:
            data: its bytes; body: as it was read; key: of the list.
            begin: where in `data` its first element stands; ends: where each ends, at least one.
        """
        self._front, self._rest, self._tail = data[:begin], data[begin : ends[-1]], data[ends[-1] :]
        self._settled, self._ends = 0, [end - begin for end in ends]
        self._body, self._key, self._values = body, key, body[key]

    def read(self, data: bytes, element: Callable[[str, Any, Any], Any]) -> tuple[dict[str, Any], Front] | None:
        """The body if it goes on from this one, and what its list shares; None if it does not, or is no JSON.

        Args:
            data: a body's bytes; element: called with the text of a new element, its value and the one that stood in
                its place, if any; returns what to keep.
        """
        begin, end = len(self._front), len(data) - len(self._tail)
        if end < begin or not (data.startswith(self._front) and data.endswith(self._tail)):
            return None
        n = self._repeated(data, begin, end)
        if n is None:
            return None
        at = self._ends[n - 1] if n else 0
        middle = data[begin + at : end]
        if not middle and n == len(self._ends):
            # Once more the same.
            return dict(self._body), Front(self._values, self._values, len(self._values))
        items: list[Any] = self._values[: self._settled + n]
        try:
            ends = self._more(middle, items, element)
        except (ValueError, StopIteration, IndexError):
            # Let the library say what is wrong, if anything is.
            return None
        front = Front(self._values, items, self._settled + n)
        body = {**self._body, self._key: items}
        if middle:
            # A mere beginning of what is known leaves that as it is.
            self._grow(body, n, at, middle, ends)
        return body, front

    def _repeated(self, data: bytes, begin: int, end: int) -> int | None:
        """How many elements behind the settled ones are repeated; None if more than the newest few are not."""
        ends, rest = self._ends, self._rest
        for n in range(len(ends), max(len(ends) - _CHANGED, 0) - 1, -1):
            if not n:
                # With nothing in common but what stands around the list it is another conversation, unless the list
                # was of one element: its marker may have moved.
                return 0 if self._settled or len(ends) == 1 else None
            at, before = ends[n - 1], ends[n - 2] if n > 1 else 0
            # The element alone first: most that differ do at their end.
            if (
                begin + at <= end
                and rest[at - 1 : at] in _ENDS
                and data.startswith(rest[before:at], begin + before)
                and data.startswith(rest[:before], begin)
            ):
                return n
        return None

    def _more(self, middle: bytes, items: list[Any], element: Callable[[str, Any, Any], Any]) -> list[int]:
        """Read the new elements into `items`; where each ends, counted in bytes from the beginning of `middle`."""
        text = middle.decode()
        single = len(text) == len(middle)
        at, last, past, size = 0, 0, 0, len(text)
        ends: list[int] = []
        while True:
            while at < size and text[at] in _BLANKS:
                at += 1
            if at == size:
                return ends
            if items:
                if text[at] != ",":
                    raise IndexError
                at += 1
                while text[at] in _BLANKS:
                    at += 1
            value, end = _scan(text, at)
            if text[at] in CLOSED:
                old = self._values[len(items)] if len(items) < len(self._values) else None
                value = element(text[at:end], value, old)
            items.append(value)
            past = end if single else past + len(text[last:end].encode())
            ends.append(past)
            at = last = end

    def _grow(self, body: dict[str, Any], n: int, at: int, middle: bytes, ends: list[int]) -> None:
        """Be the newer body, of whose list `n` elements behind the settled ones, `at` bytes, are the older one's."""
        self._body, self._values = body, body[self._key]
        kept = self._rest[:at]
        if at > _SETTLED and at > len(self._front) // 4:
            self._front += kept
            self._settled += n
            n, at, kept = 0, 0, b""
        self._rest = kept + middle
        self._ends = self._ends[:n] + [at + end for end in ends]


def shared_blocks(old: Any, new: dict[str, Any]) -> None:
    """Put what a message's blocks have in common with those that stood in its place in their place again."""
    if not isinstance(old, dict):
        return
    for key in ("content", "parts"):
        before, after = old.get(key), new.get(key)
        if isinstance(after, str):
            if before == after:
                new[key] = before
        elif isinstance(after, list) and isinstance(before, list):
            for i, (one, other) in enumerate(zip(before, after)):  # noqa: B905 (as far as both go)
                if _same(one, other):
                    after[i] = one
                elif isinstance(one, dict) and isinstance(other, dict):
                    # A marker came or went.
                    for name, value in other.items():
                        if type(value) is str and len(value) >= _LONG and one.get(name) == value:
                            other[name] = one[name]


def _same(one: Any, other: Any) -> bool:
    try:
        # What `==` does not tell: order of keys, 1 against true. Version 2: later ones write a value differently where
        # its objects are shared.
        return bool(one == other) and marshal.dumps(one, 2) == marshal.dumps(other, 2)
    except (RecursionError, ValueError):
        # Nested deeply.
        return False
