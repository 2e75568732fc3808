"""llama.cpp's prompt cache in RAM: whole states of slots, oldest first.

Source: ggml-org/llama.cpp, tools/server/server-task.cpp, server_prompt_cache, read 2026-11.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from struct import Struct

from pytest_cachesafe.engines.token_ids import WIDTH, common_prefix

__all__ = ["RamCache", "share"]

_SINGLE = Struct("f")


def share(part: int | float, whole: int) -> float:
    """`part / whole` as the server computes it, in 32 bits."""
    rounded: float = _SINGLE.unpack(_SINGLE.pack(part / whole))[0]
    return rounded


class RamCache:
    """States by the tokens they were computed for. No state is the beginning of another one.

    Args:
        most_tokens: tokens of all states together; None: no bound.
    """

    def __init__(self, most_tokens: int | None) -> None:
        self.most_tokens = most_tokens
        self.tokens = 0
        # Packed tokens of each state and its age, oldest first.
        self._states: dict[bytes, int] = {}
        self._saved = 0
        # The same in the order of their bytes: what begins alike stands side by side.
        self._sorted: list[bytes] = []
        # States by their first quarter, which a prompt must share, and quarters by their length in bytes.
        self._quarters: dict[bytes, set[bytes]] = {}
        self._lengths: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._states)

    def save(self, data: bytes) -> bool:
        """Keep the state of these tokens; False if nothing was kept.

        It is left out if a longer prompt that begins like it is here, or if it alone is over the bound; it replaces
        those that it begins with, and the oldest ones that it needs the room of.
        """
        tokens = len(data) // WIDTH
        at = bisect_left(self._sorted, data)
        # A state that begins with these tokens stands right here, one that they begin with right before.
        if not tokens or (at < len(self._sorted) and self._sorted[at].startswith(data)):
            return False
        if self.most_tokens is not None and tokens > self.most_tokens:
            return False
        if at and data.startswith(self._sorted[at - 1]):
            self._drop(self._sorted[at - 1])
        if self.most_tokens is not None:
            while self._states and self.tokens + tokens > self.most_tokens:
                self._drop(next(iter(self._states)))
        self._saved += 1
        self._states[data] = self._saved
        insort(self._sorted, data)
        quarter = _quarter(data)
        alike = self._quarters.setdefault(quarter, set())
        if not alike:
            self._lengths[len(quarter)] = self._lengths.get(len(quarter), 0) + 1
        alike.add(data)
        self.tokens += tokens
        return True

    def better(self, held: bytes, prompt: bytes) -> bytes | None:
        """The state to load instead of what a slot holds: both more of it and more of the prompt must be in use.

        States of which less than a quarter would be used are left alone.
        """
        wanted = len(prompt) // WIDTH
        shared = common_prefix(held, prompt) // WIDTH
        keep = share(shared, len(held) // WIDTH) if held else -1.0
        similarity = share(shared, wanted)
        best = None
        for state in self._candidates(prompt):
            shared = common_prefix(state, prompt) // WIDTH
            keep_here, similarity_here = share(shared, len(state) // WIDTH), share(shared, wanted)
            if keep < keep_here and similarity < similarity_here:
                keep, similarity, best = keep_here, similarity_here, state
        return best

    def after_save(self, data: bytes) -> RamCache:
        """What this would be after `save`."""
        copy = RamCache(None)
        for state in self._states:
            copy.save(state)
        copy.most_tokens = self.most_tokens
        copy.save(data)
        return copy

    def take(self, state: bytes) -> None:
        """The state moves into a slot."""
        self._drop(state)

    def _candidates(self, prompt: bytes) -> list[bytes]:
        """States whose first quarter the prompt begins with, oldest first."""
        found: list[bytes] = []
        for length in self._lengths:
            alike = self._quarters.get(prompt[:length])
            if alike is not None and length <= len(prompt):
                found += alike
        return sorted(found, key=self._states.__getitem__)

    def _drop(self, state: bytes) -> None:
        del self._states[state]
        del self._sorted[bisect_left(self._sorted, state)]
        quarter = _quarter(state)
        alike = self._quarters[quarter]
        alike.remove(state)
        if not alike:
            del self._quarters[quarter]
            self._lengths[len(quarter)] -= 1
            if not self._lengths[len(quarter)]:
                del self._lengths[len(quarter)]
        self.tokens -= len(state) // WIDTH


def _quarter(state: bytes) -> bytes:
    return state[: -(-(len(state) // WIDTH) // 4) * WIDTH]
