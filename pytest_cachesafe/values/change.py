"""Name what differs between two texts at a place, the same whichever text comes first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Literal

from pytest_cachesafe.values.find import Value, value_at

__all__ = ["Cause", "classify_change"]

Cause = Literal["timestamp", "date", "id", "number", "path", "host", "whitespace", "order", "unicode_form", "other"]

# How much text behind the difference must agree before a difference is called one of form only.
_AGREE = 64
_WINDOW = 600
# Reordered tool lists and documents are looked at up to this many characters.
_ORDER_WINDOW = 1_000_000
_ITEM = re.compile(r"[^\s,;{}\[\]()\"'`|]+")
_ITEM_BREAK = re.compile(r"[\s,;{}\[\]()\"'`|]")
_CLOCKS = frozenset({"timestamp", "time", "date"})
_IDS = frozenset({"id", "uuid", "hash", "address"})
_NUMBERS = frozenset({"number", "unit"})
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


def classify_change(a: str, b: str, at: int) -> tuple[Cause, Value | None, Value | None]:
    """The cause of a difference whose first differing character is `at`, and the values there in `a` and in `b`.

    Differences of form (white space, Unicode form, order) are tried first: a reordered list of documents differs in a
    number as well, but the number is not what changed. Only windows around `at` are read.
    """
    left, right = value_at(a, at), value_at(b, at)
    if left is not None and right is not None and left.text == right.text and left.start == right.start:
        # Both sides merely touch the same value: it is not what differs.
        left = right = None
    cause = _form(a, b, at) or _by_values(left, right) or _by_shape(a, b, at, left, right) or _by_digits(a, b, at)
    return cause or "other", left, right


def _form(a: str, b: str, at: int) -> Cause | None:
    if _agree(_without_space, a, b, at) and any(text[at : at + 1].isspace() for text in (a, b)):
        return "whitespace"
    back = at
    while back > max(0, at - 8) and any(back < len(t) and unicodedata.combining(t[back]) for t in (a, b)):
        back -= 1
    # An escape may have begun before the first differing digit.
    escape = a.rfind("\\u", max(0, at - 6), at)
    for start in {max(0, back - 1), max(0, back), escape if escape >= 0 else back}:
        if _agree(_one_form, a, b, start):
            return "unicode_form"
    return "order" if _reordered(a, b, at) else None


def _by_values(left: Value | None, right: Value | None) -> Cause | None:
    if left is None or right is None:
        return None
    kinds = {left.kind, right.kind}
    if kinds <= _CLOCKS:
        daily = all(v.kind == "date" or (v.kind == "timestamp" and v.granularity == "day") for v in (left, right))
        return "date" if daily else "timestamp"
    if kinds <= _IDS | _NUMBERS:
        return "number" if kinds <= _NUMBERS else "id"
    if kinds <= {"timestamp", "number"}:
        return "number"
    if kinds == {"path"}:
        return "path"
    return "host" if kinds == {"host"} else None


def _by_shape(a: str, b: str, at: int, left: Value | None, right: Value | None) -> Cause | None:
    """An id on one side and a word of the same length on the other: some random words look like names."""
    if (left is None) == (right is None):
        return None
    value, text = (left, b) if left is not None else (right, a)
    if value is None or value.kind not in _IDS or len(value.text) < 8 or value.start > at:
        return None
    word = _TOKEN.match(text, value.start)
    return "id" if word is not None and len(word.group()) == len(value.text) else None


def _by_digits(a: str, b: str, at: int) -> Cause | None:
    """A number glued to a word ("user1", "chunk-012a"): both sides have a digit there, or one goes on with a digit."""

    def digit(text: str) -> bool:
        return at < len(text) and text[at].isdigit()

    if digit(a) and digit(b):
        return "number"
    return "number" if (digit(a) or digit(b)) and at > 0 and a[at - 1].isdigit() else None


def _without_space(text: str) -> str:
    return "".join(text.split())


def _one_form(text: str) -> str:
    """One spelling for composed and decomposed characters, compatibility characters and JSON's \\u escapes."""
    if "\\u" in text:
        text = _ESCAPE.sub(lambda m: chr(int(m[1], 16)), text)
    return unicodedata.normalize("NFKC", text)


def _agree(form: Callable[[str], str], a: str, b: str, at: int) -> bool:
    """Whether the texts from `at` on are the same in this form, as far as both go and at most `_AGREE` characters."""
    x, y = form(a[at : at + _WINDOW]), form(b[at : at + _WINDOW])
    ends = len(a) <= at + _WINDOW and len(b) <= at + _WINDOW
    if x == y and ends:
        return True
    # The last characters of a cut window may lack their combining marks.
    length = min(len(x), len(y), _AGREE) - (0 if min(len(x), len(y)) > _AGREE + 8 else 8)
    return length >= 8 and x[:length] == y[:length]


def _reordered(a: str, b: str, at: int) -> bool:
    """Whether both texts go on with the same items in another order: words, lines, list items, JSON members."""
    start = at
    while start > max(0, at - 4096) and not _ITEM_BREAK.match(a, start - 1):
        start -= 1
    # Both may stand on punctuation; the items begin behind it.
    first, second = _ITEM.search(a, start, start + 64), _ITEM.search(b, start, start + 64)
    # The same item with another full stop behind it has not moved.
    if first is None or second is None or _bare(first.group()) == _bare(second.group()):
        return False
    limit = start + _ORDER_WINDOW
    # Cheap refusal: an item that has merely been replaced does not come back.
    if b.find(_bare(first.group()), start, limit) < 0 or a.find(_bare(second.group()), start, limit) < 0:
        return False
    balance: dict[str, int] = {}
    for x, y in zip(_ITEM.finditer(a, start, limit), _ITEM.finditer(b, start, limit), strict=False):
        for item, step in ((_bare(x.group()), 1), (_bare(y.group()), -1)):
            count = balance.get(item, 0) + step
            if count:
                balance[item] = count
            else:
                balance.pop(item, None)
        if not balance:
            return True
    return False


def _bare(item: str) -> str:
    return item.rstrip(".:!?") or item
