"""A threshold is a cosine similarity; the one mistake that passes unseen is to give a distance instead."""

from __future__ import annotations

import math

from pytest_cachesafe.usage import UsageError

__all__ = ["parse_threshold"]

# RedisVL's `SemanticCache` takes a cosine distance and begins with 0.1 (redisvl 0.28, `distance_threshold`), and its
# documentation goes up to 0.3. As a similarity, anything up to that merges prompts that have nothing in common.
_LIKE_A_DISTANCE = 0.3
_UNITS = ("similarity", "distance")


def parse_threshold(value: object, where: str = "threshold") -> float:
    """The cosine at and above which a cache merges two prompts, 0 to 1; 0 merges all that are not opposed.

    Args:
        value: a number, or text with its unit: "0.9", "similarity:0.2", "distance:0.1" (cosine distance, 1 - cosine).
        where: the option's name for error messages.

    Raises:
        UsageError: no number, outside 0..1, or a small number without a unit, which is most likely a distance.
    """
    text = value if isinstance(value, str) else None
    unit, number = _read(value)
    if number is None or not math.isfinite(number):
        raise UsageError(f"{where} {value!r}: a cosine similarity from 0 to 1 is meant, e.g. 0.95")
    if unit == "distance":
        if not 0 <= number <= 1:
            raise UsageError(f"{where} {value!r}: a cosine distance from 0 to 1 is meant, e.g. distance:0.1")
        return 1.0 - number
    if not 0 <= number <= 1:
        # 1.2 is a distance or a slip; nobody's cache merges at one or two per cent.
        per_cent = f"; did you mean {number / 100:g}?" if 30 <= number <= 100 else ""
        raise UsageError(f"{where} {text or number:}: must be a cosine similarity from 0 to 1{per_cent}")
    if unit is None and 0 < number <= _LIKE_A_DISTANCE:
        raise UsageError(
            f"{where} {number:g} looks like a distance, and a cosine similarity is meant: give {1 - number:g} if it is "
            f"one, or 'similarity:{number:g}' if nearly everything is to be merged"
        )
    return number


def _read(value: object) -> tuple[str | None, float | None]:
    if isinstance(value, bool):
        return None, None
    if isinstance(value, str):
        unit, colon, rest = value.strip().partition(":")
        if not colon:
            unit, rest = "", value
        elif unit.strip() not in _UNITS:
            return None, None
        try:
            return unit.strip() or None, float(rest)
        except ValueError:
            return None, None
    try:
        # Numbers of numpy and the like included.
        return None, float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None, None
