"""Token ids as packed bytes: checked once, then compared and hashed at C speed."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence

from pytest_cachesafe.usage import UsageError

__all__ = ["WIDTH", "common_prefix", "pack", "unpack"]

# Bytes of one id: a signed 32-bit number in the machine's own order (packed ids never leave the process).
WIDTH = 4
_SIGN = slice(3 if sys.byteorder == "little" else 0, None, WIDTH)
# A bool packs like 0 or 1, so types are looked at only where one of these occurs.
_SMALL = (array("i", [0]).tobytes(), array("i", [1]).tobytes())


def pack(token_ids: Sequence[int], what: str = "token_ids") -> bytes:
    """`WIDTH` bytes per id.

    Raises:
        UsageError: something is no token id (a whole number from 0 to 2**31 - 1); the line names its position.
    """
    if isinstance(token_ids, (str, bytes, bytearray)):
        raise UsageError(f"{what}: a sequence of token ids, not {type(token_ids).__name__}; tokenize the text first")
    try:
        data = array("i", token_ids).tobytes()
    except (TypeError, OverflowError):
        raise _wrong(token_ids, what) from None
    # The highest byte of a number that is not negative is below 128.
    if not data[_SIGN].isascii():
        raise _wrong(token_ids, what)
    if (_SMALL[0] in data or _SMALL[1] in data) and bool in set(map(type, token_ids)):
        raise _wrong(token_ids, what)
    return data


def unpack(data: bytes) -> tuple[int, ...]:
    """The ids again."""
    return tuple(memoryview(data).cast("i"))


def common_prefix(a: bytes, b: bytes, at: int = 0) -> int:
    """Bytes that `a` and `b[at:]` share at their front (one pass; windows double, then halve around the difference)."""
    end = min(len(a), len(b) - at)
    low, step = 0, 256
    while low < end:
        high = min(low + step, end)
        if a[low:high] != b[at + low : at + high]:
            while high - low > 1:
                middle = (low + high) // 2
                if a[low:middle] == b[at + low : at + middle]:
                    low = middle
                else:
                    high = middle
            return low
        low, step = high, step * 2
    return end


def _wrong(token_ids: Sequence[int], what: str) -> UsageError:
    """Names the first thing that is no id."""
    try:
        items = list(token_ids)
    except TypeError:
        return UsageError(f"{what}: a sequence of token ids, not {type(token_ids).__name__}")
    for position, item in enumerate(items):
        try:
            number = None if isinstance(item, bool) else item.__index__()
        except (AttributeError, TypeError):
            number = None
        if number is None or not 0 <= number < 2**31:
            return UsageError(f"{what}[{position}] is {item!r}: a token id is a whole number from 0 to 2**31 - 1")
    return UsageError(f"{what}: a sequence of token ids, not {type(token_ids).__name__}")
