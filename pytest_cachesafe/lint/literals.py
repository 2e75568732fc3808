"""Literal bytes looked for in many files: by roots first, since most files hold none of those.

A search costs the same whether it finds something or not, and words that go together (`messages=`, `.messages`) are in
the same few files. Every word is asked for only where its root is, so the answers are those of asking for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["SHARED", "Literals", "shared_roots"]

# Roots of the words that mark requests and of those that mark sinks: every file is searched for them once.
SHARED = (b"essages", b"tool", b"story", b"prompt", b"chat", b"_cont")
# Parts of the words that mark requests. A root that half of all files hold would cost more than it saves.
_ROOTS = (*SHARED, b"ystem", b"propert", b"Buffer", b"ontents", b"escription", b"invoke(", b"equired")


def shared_roots(data: bytes) -> list[bytes]:
    """Those that occur."""
    return [root for root in SHARED if root in data]


class Literals:
    """A set of words to look for."""

    __slots__ = ("_groups", "_others", "_shared")

    def __init__(self, words: Iterable[bytes]) -> None:
        groups: dict[bytes, list[bytes]] = {}
        for word in dict.fromkeys(words):
            groups.setdefault(_root(word), []).append(word)
        self._groups = [(words[0] if len(words) == 1 else root, tuple(words)) for root, words in groups.items()]
        self._shared = {root: tuple(words) for root, words in groups.items() if root in SHARED}
        self._others = [group for group in self._groups if self._shared.keys().isdisjoint(map(_root, group[1]))]

    def any(self, data: bytes, roots: Sequence[bytes] | None = None) -> bool:
        """Whether one of the words occurs; `roots` are the shared ones that do, if they are known."""
        for root in shared_roots(data) if roots is None else roots:
            if any(word in data for word in self._shared.get(root, ())):
                return True
        for root, words in self._others:
            if root in data and (root in words or any(word in data for word in words)):
                return True
        return False

    def found(self, data: bytes) -> frozenset[bytes]:
        """Those that occur."""
        return frozenset(
            word for root, words in self._groups if root in data for word in words if word == root or word in data
        )


def _root(word: bytes) -> bytes:
    return next((root for root in _ROOTS if root in word), word)
