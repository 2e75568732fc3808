"""Where two prompts part: token ids decide where both have them, text (or canonical bytes) where not."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from pytest_cachesafe.prefix.common import common_prefix
from pytest_cachesafe.prompt import Prompt

__all__ = ["Split", "split"]


class Split(NamedTuple):
    """The common beginning of two prompts.

    `char_index` is where the first text parts from the other, None if neither says anything that the other contradicts
    (one is a prefix of the other). `merged` marks a text prefix whose last tokens merge with what follows.
    """

    shared_tokens: int
    shared_chars: int
    tokens: tuple[int, int]
    extends: bool
    diverges: bool
    token_index: int | None
    char_index: int | None
    exact: bool
    merged: bool = False
    # Where the other text parts; another place only behind characters that a tokenizer takes for the same.
    char_index_b: int | None = None


def split(a: Prompt, b: Prompt) -> Split:
    """Compare two prompts; `extends` says that `b` begins with all of `a`."""
    chars = common_prefix(a.text, b.text)
    ids_a, ids_b = a.token_ids, b.token_ids
    if ids_a is None or ids_b is None:
        diverges = chars < min(len(a.text), len(b.text))
        best = a.count(a.text[:chars])[1]
        counts = (best if chars == len(a.text) else a.count()[1], best if chars == len(b.text) else b.count()[1])
        place = chars if diverges else None
        return Split(best, chars, counts, chars == len(a.text), diverges, None, place, exact=False, char_index_b=place)
    tokens = common_prefix(ids_a, ids_b)
    extends = tokens == len(ids_a)
    counts = (len(ids_a), len(ids_b))
    if tokens == min(counts):
        return Split(tokens, chars, counts, extends, False, None, None, exact=True)
    if not a.text and not b.text:
        return Split(tokens, 0, counts, extends, True, tokens, None, exact=True)
    if chars == min(len(a.text), len(b.text)):
        # The text goes on, the ids do not: the last token of the shorter text is another one in the longer text.
        place = max(chars - 1, 0)
        return Split(tokens, chars, counts, extends, True, tokens, place, exact=True, merged=True, char_index_b=place)
    places = (chars, chars)
    composed = all(unicodedata.is_normalized("NFC", text) for text in (a.text, b.text))
    if not composed and a._encode is not None and tokens > len(a._encode(a.text[:chars])):
        places = _real_difference(a.text, b.text, chars)
    return Split(tokens, min(places), counts, extends, True, tokens, places[0], exact=True, char_index_b=places[1])


def _real_difference(a: str, b: str, chars: int) -> tuple[int, int]:
    """Where either text parts from the other when both are seen in NFC, which some tokenizers apply first."""
    start = max(chars - 8, 0)
    same = common_prefix(unicodedata.normalize("NFC", a[start:]), unicodedata.normalize("NFC", b[start:]))
    return _position(a, start, same), _position(b, start, same)


def _position(text: str, start: int, same: int) -> int:
    """Index of the first character of `text` behind `same` characters of its NFC from `start` on."""
    low, high = start, len(text)
    while low < high:
        mid = (low + high) // 2
        if len(unicodedata.normalize("NFC", text[start:mid])) > same:
            high = mid
        else:
            low = mid + 1
    return max(low - 1, start)
