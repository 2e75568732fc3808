"""How often a property is tried: all of it in `make test-all`, a quarter of it in `make test`."""

from __future__ import annotations

from hypothesis import settings

__all__ = ["tries"]


def tries(most: int) -> int:
    """`most` examples with the profile `deep`, else a quarter of it, but not less than 50."""
    return most if settings.default.max_examples >= 100 else max(50, most // 4)
