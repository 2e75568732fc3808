"""LMCache behind an engine, written down plainly: prompts are compared as tuples, chunks are a list.

Rules: LMCache 0.5.6, integration/vllm/vllm_v1_adapter.py, v1/cache_engine.py and v1/storage_backend, 2026-11.
"""

from __future__ import annotations

__all__ = ["NaiveLMCache"]

Key = tuple[int, ...]


class NaiveLMCache:
    """Chunks of prompts, a chunk known by all tokens up to its end."""

    def __init__(self, chunk: int, capacity: int | None, policy: str, unfull: bool, least: int) -> None:
        self.chunk = chunk
        self.capacity = capacity
        self.policy = policy
        self.unfull = unfull
        self.least = least
        # Oldest first; with the number of hits.
        self.chunks: list[list] = []

    def ends(self, count: int, unfull: bool) -> list[int]:
        ends = list(range(self.chunk, count + 1, self.chunk))
        return [*ends, count] if unfull and count % self.chunk else ends

    def size(self, key: Key) -> int:
        return len(key) - (len(key) - 1) // self.chunk * self.chunk

    def look_up(self, prompt: list[int]) -> int:
        keys = []
        for end in self.ends(len(prompt), self.unfull):
            key = tuple(prompt[:end])
            if not any(have[0] == key for have in self.chunks):
                break
            keys.append(key)
        for key in reversed(keys):
            (entry,) = [have for have in self.chunks if have[0] == key]
            entry[1] += 1
            if self.policy != "fifo":
                self.chunks.remove(entry)
                self.chunks.append(entry)
        return len(keys[-1]) if keys else 0

    def adds(self, prompt: list[int], hit: int, engine: int) -> int:
        more = hit - engine
        if hit == len(prompt):
            more -= 1
        return more if more > 0 and more >= self.least else 0

    def saves(self, prompt: list[int], saved: int) -> int:
        """After the prefill of a prompt of which `saved` tokens were found; returns what counts as saved then."""
        boundary = -(-(saved + 1) // self.chunk) * self.chunk
        if saved > 0 and len(prompt) < boundary:
            return saved
        return self.store(prompt, saved, len(prompt) if self.unfull else len(prompt) // self.chunk * self.chunk)

    def store(self, tokens: list[int], saved: int, until: int) -> int:
        if saved == until:
            return until
        skip = saved // self.chunk * self.chunk
        new = [tuple(tokens[:end]) for end in self.ends(until, self.unfull) if end > skip]
        granted = []
        for key in new:
            taken = sum(self.size(have) for have in granted)
            while self.capacity is not None and self.used() + taken + self.size(key) > self.capacity and self.chunks:
                self.chunks.remove(self.victim())
            if self.capacity is not None and self.used() + taken + self.size(key) > self.capacity:
                break
            granted.append(key)
        for key in granted:
            if not any(have[0] == key for have in self.chunks):
                self.chunks.append([key, 1])
        return until

    def used(self) -> int:
        return sum(self.size(have[0]) for have in self.chunks)

    def victim(self) -> list:
        if self.policy == "mru":
            return self.chunks[-1]
        if self.policy == "lfu":
            # Among those with the fewest hits, the one that has had that many for longest.
            return min(self.chunks, key=lambda have: have[1])
        return self.chunks[0]
