"""Equal messages by number, similar texts by words: what grouping compares."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

__all__ = ["Interner", "alike", "contained", "words"]

_DIGITS = re.compile(r"\d+")


class Interner:
    """Gives equal messages equal numbers, and equal message prefixes too: each message is read once."""

    def __init__(self) -> None:
        self._messages: dict[Any, int] = {}
        self._chains: dict[tuple[int, int], int] = {}

    def message(self, message: dict[str, Any]) -> int:
        """The number of a message; key order, cache markers and string-or-one-block do not count."""
        return self._messages.setdefault(_frozen_message(message), len(self._messages))

    def chain(self, bucket: int, ids: list[int]) -> list[int]:
        """Numbers of the prefixes of a message list, the empty one first."""
        # Buckets are told apart by negative roots, which no prefix number can be.
        node = -1 - bucket
        out = [node]
        for message in ids:
            node = self._chains.setdefault((node, message), len(self._chains))
            out.append(node)
        return out


def _frozen_message(message: dict[str, Any]) -> Any:
    items = []
    for key, value in message.items():
        if key == "content" and isinstance(value, list):
            value = _content(value)
        elif key == "cache_control":
            continue
        items.append((key, value if type(value) is str else _freeze(value)))
    return frozenset(items)


def _content(blocks: list[Any]) -> Any:
    kept = [{k: v for k, v in b.items() if k != "cache_control"} if isinstance(b, dict) else b for b in blocks]
    if len(kept) == 1 and isinstance(kept[0], dict) and kept[0].keys() == {"type", "text"}:
        return kept[0]["text"]
    return kept


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        # In order: re-ordered tool arguments are another message.
        return ("{}", *((key, _freeze(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return ("[]", *(_freeze(item) for item in value))
    if isinstance(value, (bool, float)):
        # True == 1 == 1.0 for a dict key, but not in JSON.
        return (type(value).__name__, value)
    return value


@lru_cache(maxsize=8192)
def words(text: str) -> frozenset[str]:
    """The words of a text without those that carry a digit: stamps, counters and ids do not make a text another one."""
    # 20,000 characters tell two texts apart; a book in the system prompt need not be split for it.
    return frozenset(word for word in text[:20_000].lower().split() if word.isalpha() or not _has_digit(word))


def _has_digit(word: str) -> bool:
    return any(char.isdigit() for char in word)


def alike(a: str, b: str) -> bool:
    """Whether two system texts are one text with changing parts: most of the words of both are shared."""
    if a == b:
        return True
    if not a or not b:
        return False
    mine, theirs = words(a), words(b)
    if not mine or not theirs:
        # Nothing but stamps and numbers: then their form is what is left to compare.
        return _DIGITS.sub("0", a) == _DIGITS.sub("0", b)
    return 4 * len(mine & theirs) >= len(mine) + len(theirs)


def contained(a: str, b: str) -> float:
    """How near two messages are, 0 to 1, counted only if half of the shorter one's words are in the longer one.

    A question with a manual in front of it still contains the question.
    """
    mine, theirs = words(a), words(b)
    shared = len(mine & theirs)
    if not shared or 2 * shared < min(len(mine), len(theirs)):
        return 0.0
    return shared / len(mine | theirs)
