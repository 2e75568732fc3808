"""Literal bytes looked for in many files: by roots first, since most files hold none of those.

A search costs the same whether it finds something or not, and words that go together (`messages=`, `.messages`) are in
the same few files. Every word is asked for only where its root is, so the answers are those of asking for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Literals"]

# Parts of the words that mark requests. A root that half of all files hold would cost more than it saves.
_ROOTS = (
    b"essages", b"istory", b"ystem", b"tools", b"tool", b"propert", b"Buffer", b"ontents", b"escription",
    b"invoke(", b"equired",
)  # fmt: skip


class Literals:
    """A set of words to look for."""

    __slots__ = ("_groups",)

    def __init__(self, words: Iterable[bytes]) -> None:
        groups: dict[bytes, list[bytes]] = {}
        for word in dict.fromkeys(words):
            groups.setdefault(next((root for root in _ROOTS if root in word), word), []).append(word)
        self._groups = [(words[0] if len(words) == 1 else root, tuple(words)) for root, words in groups.items()]

    def any(self, data: bytes) -> bool:
        """Whether one of the words occurs."""
        for root, words in self._groups:
            if root in data and (root in words or any(word in data for word in words)):
                return True
        return False

    def found(self, data: bytes) -> frozenset[bytes]:
        """Those that occur."""
        return frozenset(
            word for root, words in self._groups if root in data for word in words if word == root or word in data
        )
