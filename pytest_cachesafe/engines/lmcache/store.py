"""LMCache's local CPU memory: chunks by key, and which of them goes when it is full.

Source: LMCache 0.5.6, v1/storage_backend/local_cpu_backend.py and cache_policy/, 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

__all__ = ["POLICIES", "Chunk", "ChunkStore"]

POLICIES = ("lru", "lfu", "fifo", "mru")


class Chunk:
    """What is known of a stored chunk."""

    __slots__ = ("hits", "owner", "tokens")

    def __init__(self, tokens: int, owner: object) -> None:
        self.tokens = tokens
        # Whose request stored it; no part of its key.
        self.owner = owner
        self.hits = 1


class ChunkStore:
    """Chunks of at most `capacity` tokens together (None: no bound).

    Not simulated: alignment and fragmentation of the real memory, and chunks that are pinned by a load under way.
    """

    def __init__(self, capacity: int | None, policy: str) -> None:
        self.capacity = capacity
        self.tokens = 0
        self._policy = policy
        # In the order of insertion; `lru` and `mru` move what was hit to the end.
        self._chunks: dict[bytes, Chunk] = {}
        # For `lfu`: keys by number of hits, each in the order in which they got there.
        self._by_hits: dict[int, dict[bytes, None]] = {}

    def __len__(self) -> int:
        return len(self._chunks)

    def __contains__(self, key: bytes) -> bool:
        return key in self._chunks

    def found(self, keys: Iterable[bytes]) -> list[Chunk]:
        """Chunks of the leading keys that are here."""
        chunks = []
        for key in keys:
            chunk = self._chunks.get(key)
            if chunk is None:
                break
            chunks.append(chunk)
        return chunks

    def touch(self, keys: Sequence[bytes]) -> None:
        """The keys were hit by one look-up. The last is touched first, so that a prefix outlives what follows it."""
        if self._policy == "fifo":
            return
        for key in reversed(keys):
            if self._policy == "lfu":
                chunk = self._chunks[key]
                self._unlist(key, chunk.hits)
                chunk.hits += 1
                self._by_hits.setdefault(chunk.hits, {})[key] = None
            else:
                self._chunks[key] = self._chunks.pop(key)

    def put(self, keys: Sequence[bytes], sizes: Sequence[int], owner: object) -> int:
        """Store chunks of one request; returns how many got room.

        Room is made for all of them before one is stored, so chunks of the request's own prefix may go for it; where
        even that is not enough, the last ones are left out. Keys that are here already are not stored again, but room
        was made for them as well.
        """
        taken = room = 0
        for size in sizes:
            while self.capacity is not None and self.tokens + room + size > self.capacity:
                victim = self._next()
                if victim is None:
                    break
                self._remove(victim)
            else:
                room += size
                taken += 1
                continue
            break
        for key, size in zip(keys[:taken], sizes, strict=False):
            if key in self._chunks:
                continue
            self._chunks[key] = Chunk(size, owner)
            self.tokens += size
            if self._policy == "lfu":
                self._by_hits.setdefault(1, {})[key] = None
        return taken

    def keys(self) -> Iterator[bytes]:
        """Keys, oldest insertion (or hit, under `lru` and `mru`) first."""
        return iter(self._chunks)

    def _next(self) -> bytes | None:
        """The chunk that goes next."""
        if not self._chunks:
            return None
        if self._policy == "mru":
            return next(reversed(self._chunks))
        if self._policy == "lfu":
            return next(iter(self._by_hits[min(self._by_hits)]))
        return next(iter(self._chunks))

    def _remove(self, key: bytes) -> None:
        chunk = self._chunks.pop(key)
        self.tokens -= chunk.tokens
        if self._policy == "lfu":
            self._unlist(key, chunk.hits)

    def _unlist(self, key: bytes, hits: int) -> None:
        keys = self._by_hits[hits]
        del keys[key]
        if not keys:
            del self._by_hits[hits]
