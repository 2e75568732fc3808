"""Sets and lists of words written as text: one line instead of a hundred quotes."""

from __future__ import annotations

__all__ = ["word_list", "word_set"]


def word_list(text: str) -> tuple[str, ...]:
    """The words of a text in their order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
