"""Where two prompts part: token ids decide where both have them, text (or canonical bytes) where not."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from pytest_cachesafe.prefix.common import common_prefix
from pytest_cachesafe.prompt import Prompt

__all__ = ["Split", "split"]


class Split(NamedTuple):
    """The common beginning of two prompts.

    `char_index` is where the texts part, None if neither says anything that the other contradicts (one is a prefix of
    the other). `merged` marks a text prefix whose last tokens merge with what follows.
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


def split(a: Prompt, b: Prompt) -> Split:
    """Compare two prompts; `extends` says that `b` begins with all of `a`."""
    chars = common_prefix(a.text, b.text)
    ids_a, ids_b = a.token_ids, b.token_ids
    if ids_a is None or ids_b is None:
        diverges = chars < min(len(a.text), len(b.text))
        best = a.count(a.text[:chars])[1]
        counts = (best if chars == len(a.text) else a.count()[1], best if chars == len(b.text) else b.count()[1])
        return Split(
            best, chars, counts, chars == len(a.text), diverges, None, chars if diverges else None, exact=False
        )
    tokens = common_prefix(ids_a, ids_b)
    extends = tokens == len(ids_a)
    diverges = tokens < min(len(ids_a), len(ids_b))
    counts = (len(ids_a), len(ids_b))
    if not diverges:
        return Split(tokens, chars, counts, extends, False, None, None, exact=True)
    if not a.text and not b.text:
        return Split(tokens, 0, counts, extends, True, tokens, None, exact=True)
    if chars == min(len(a.text), len(b.text)):
        # The text goes on, the ids do not: the last token of the shorter text is another one in the longer text.
        return Split(tokens, chars, counts, extends, True, tokens, max(chars - 1, 0), exact=True, merged=True)
    if tokens > len(a._encode(a.text[:chars]) if a._encode else ids_a):
        chars = _real_difference(a.text, b.text, chars)
    return Split(tokens, chars, counts, extends, True, tokens, chars, exact=True)


def _real_difference(a: str, b: str, chars: int) -> int:
    """Index in `a` of the first difference that survives NFC, which some tokenizers apply before encoding."""
    start = max(chars - 8, 0)
    form_a = unicodedata.normalize("NFC", a[start:])
    form_b = unicodedata.normalize("NFC", b[start:])
    same = common_prefix(form_a, form_b)
    low, high = start, len(a)
    while low < high:
        mid = (low + high) // 2
        if len(unicodedata.normalize("NFC", a[start:mid])) > same:
            high = mid
        else:
            low = mid + 1
    return max(low - 1, chars)
