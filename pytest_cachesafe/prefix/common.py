"""Longest common prefixes of long strings and id lists, in a few C-level comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["common_prefix"]

# One slice comparison of this size is a memcmp; smaller pieces only add interpreter steps.
_CHUNK = 1 << 14


def common_prefix(a: Sequence[Any] | str, b: Sequence[Any] | str, start_a: int = 0, start_b: int = 0) -> int:
    """Number of equal items of `a` from `start_a` and `b` from `start_b` on."""
    if isinstance(a, str) and isinstance(b, str) and not start_a and not start_b and b.startswith(a):
        return len(a)
    if not isinstance(a, str) and type(a) is not type(b):
        # Slices of a list and of a tuple are never equal.
        a, b = list(a), list(b)
    limit = min(len(a) - start_a, len(b) - start_b)
    at = 0
    while at < limit:
        step = min(_CHUNK, limit - at)
        if a[start_a + at : start_a + at + step] != b[start_b + at : start_b + at + step]:
            low, high = 0, step  # first `low` items equal, first `high` items not
            while high - low > 1:
                mid = (low + high) // 2
                left = start_a + at
                right = start_b + at
                if a[left + low : left + mid] == b[right + low : right + mid]:
                    low = mid
                else:
                    high = mid
            return at + low
        at += step
    return max(limit, 0)
