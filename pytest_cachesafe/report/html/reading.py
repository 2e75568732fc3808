"""Reading values of unknown shape: what is not there, or of another type, is empty or 0."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["dollars", "mapping", "rows", "whole"]


def mapping(value: Any) -> Mapping[str, Any]:
    """The mapping, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def rows(value: Any) -> list[Mapping[str, Any]]:
    """The mappings of a list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, (list, tuple)) else []


def whole(value: Any) -> int:
    """A count."""
    return max(int(value), 0) if isinstance(value, (int, float)) and abs(value) < 1e15 else 0


def dollars(value: Any) -> float | None:
    """An amount; None where it is not known."""
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
