"""One compared thing of a prompt."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Item"]


class Item(NamedTuple):
    """A word or value with its place."""

    # "word" for content, "function", "filler", "negation", or the kind of a value (`verdict.KINDS`).
    kind: str
    # What two items share when they say the same: a base form, or a value in base units.
    # Hashable; text for words, function words and fillers.
    value: Any
    start: int
    end: int
    # Number of the clause, from 0.
    clause: int
    # 0 a common word, 1 a word no table has, 2 a name; for values: unused.
    name: int = 0
    # Values: number and unit as written, where `value` is in base units. Words: "_" for a part of a code name
    # (user_id), and "s" for a plural. Quantifiers: the word as written.
    raw: tuple[str, str] = ("", "")
