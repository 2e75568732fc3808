"""llama.cpp's prompt cache in RAM: whole states of slots, oldest first.

Source: ggml-org/llama.cpp, tools/server/server-task.cpp, server_prompt_cache, read 2026-11.
"""

from __future__ import annotations

from struct import Struct

from pytest_cachesafe.engines.token_ids import WIDTH, common_prefix

__all__ = ["RamCache", "share"]

_SINGLE = Struct("f")


def share(part: int | float, whole: int) -> float:
    """`part / whole` as the server computes it, in 32 bits."""
    rounded: float = _SINGLE.unpack(_SINGLE.pack(part / whole))[0]
    return rounded


class RamCache:
    """States by the tokens they were computed for.

    Args:
        most_tokens: tokens of all states together; None: no bound.
    """

    def __init__(self, most_tokens: int | None) -> None:
        self.most_tokens = most_tokens
        self.tokens = 0
        # Packed tokens of each state, oldest first, and the quarter of them that a prompt must share.
        self._states: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._states)

    def save(self, data: bytes) -> bool:
        """Keep the state of these tokens; False if nothing was kept.

        It is left out if a longer prompt that begins like it is here, or if it alone is over the bound; it replaces
        those that it begins with, and the oldest ones that it needs the room of.
        """
        tokens = len(data) // WIDTH
        if not tokens or any(state.startswith(data) for state in self._states):
            return False
        if self.most_tokens is not None and tokens > self.most_tokens:
            return False
        for state in [state for state in self._states if data.startswith(state)]:
            self._drop(state)
        if self.most_tokens is not None:
            while self._states and self.tokens + tokens > self.most_tokens:
                self._drop(next(iter(self._states)))
        self._states[data] = data[: -(-tokens // 4) * WIDTH]
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
        for state, quarter in self._states.items():
            if not prompt.startswith(quarter):
                continue
            shared = common_prefix(state, prompt) // WIDTH
            keep_here, similarity_here = share(shared, len(state) // WIDTH), share(shared, wanted)
            if keep < keep_here and similarity < similarity_here:
                keep, similarity, best = keep_here, similarity_here, state
        return best

    def after_save(self, data: bytes) -> RamCache:
        """What this would be after `save`."""
        copy = RamCache(self.most_tokens)
        copy._states, copy.tokens = dict(self._states), self.tokens
        copy.save(data)
        return copy

    def take(self, state: bytes) -> None:
        """The state moves into a slot."""
        self._drop(state)

    def _drop(self, state: bytes) -> None:
        del self._states[state]
        self.tokens -= len(state) // WIDTH
