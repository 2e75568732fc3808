"""Token ids as packed bytes: checked once, then compared and hashed at C speed."""

from __future__ import annotations

import marshal
import struct
from collections.abc import Sequence

from pytest_cachesafe.usage import UsageError

__all__ = ["WIDTH", "common_prefix", "pack", "unpack"]

# Bytes of one id, lowest first.
WIDTH = 4
# marshal writes a list as 5 bytes, then each whole number of 32 bits as the letter i and 4 bytes.
_HEAD = 5


def pack(token_ids: Sequence[int], what: str = "token_ids") -> bytes:
    """`WIDTH` bytes per id.

    Marshalling is the fastest way to see type and range of every item: if each fifth byte says "whole number of 32
    bits", no item can be anything else, a bool included.

    Raises:
        UsageError: something is no token id (a whole number from 0 to 2**31 - 1); the line names its position.
    """
    if isinstance(token_ids, (str, bytes, bytearray)):
        raise UsageError(f"{what}: a sequence of token ids, not {type(token_ids).__name__}; tokenize the text first")
    try:
        ids = token_ids if type(token_ids) is list else list(token_ids)
        data = bytearray(marshal.dumps(ids, 2))
    except (TypeError, ValueError):
        return _pack_slowly(token_ids, what)
    # The highest byte of a number that is not negative is below 128.
    if data[_HEAD::5] != b"i" * len(ids) or not data[_HEAD + 4 :: 5].isascii():
        return _pack_slowly(token_ids, what)
    del data[:_HEAD]
    del data[::5]
    return bytes(data)


def unpack(data: bytes) -> tuple[int, ...]:
    """The ids again."""
    return struct.unpack(f"<{len(data) // WIDTH}i", data)


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


def _pack_slowly(token_ids: Sequence[int], what: str) -> bytes:
    """Whole numbers of other kinds, or the words for what is none."""
    try:
        items = list(token_ids)
    except TypeError:
        raise UsageError(f"{what}: a sequence of token ids, not {type(token_ids).__name__}") from None
    numbers = []
    for position, item in enumerate(items):
        try:
            number = -1 if isinstance(item, bool) else item.__index__()
        except (AttributeError, TypeError):
            number = -1
        if not 0 <= number < 2**31:
            raise UsageError(f"{what}[{position}] is {item!r}: a token id is a whole number from 0 to 2**31 - 1")
        numbers.append(number)
    return struct.pack(f"<{len(numbers)}i", *numbers)
