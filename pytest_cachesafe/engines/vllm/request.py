"""One request in vLLM's prefix cache."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.engines.request import Request
from pytest_cachesafe.engines.vllm.keys import Extras, checked
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.engines.vllm.manager import VllmCache

__all__ = ["VllmRequest"]


class VllmRequest(Request):
    """A request of a `VllmCache`.

    After admission the whole prompt (or the first chunk of it) is computed, and its full blocks are in the cache at
    once. `cached_tokens` stays that of the first scheduling, also after a preemption.
    """

    __slots__ = (
        "_alive",
        "_cache",
        "_contents",
        "_digests",
        "_indexed",
        "_name",
        "_pending",
        "_plain",
        "_preempted",
        "_read",
        "_shortage",
        "extras",
        "new_block_ids",
        "num_computed_tokens",
        "num_preemptions",
    )

    def __init__(
        self, cache: VllmCache, token_ids: list[int], contents: list[Hashable], extras: Extras | None, read: bool
    ) -> None:
        # Not the base class's __init__, which would copy the ids once more.
        self.token_ids = token_ids
        self.admitted = False
        self.cached_tokens = 0
        self.block_ids = ()
        # Blocks that the latest call took from the queue.
        self.new_block_ids: tuple[int, ...] = ()
        # Tokens with KV: found ones and computed ones.
        self.num_computed_tokens = 0
        self.num_preemptions = 0
        # Extra keys of its blocks, None without any.
        self.extras = extras
        self._cache = cache
        self._read = read
        # Of every full block, as far as it is known.
        self._contents = contents
        # Contents are token ids.
        self._plain = extras is None and cache.block_size == 1
        # Blocks with a key, and the name of the last one's.
        self._indexed = 0
        self._name = 0
        # Between admission and `free`; preempted or not.
        self._alive = False
        self._preempted = False
        # The last token was sampled and is not computed yet.
        self._pending = False
        # Blocks needed, and blocks to be had, at the latest refusal.
        self._shortage: tuple[int, int] | None = None
        self._digests: list[bytes] = []

    @property
    def refused(self) -> str | None:
        """Why the latest call that needed blocks got none, in words; None if it got them."""
        if self._shortage is None:
            return None
        needed, available = self._shortage
        usable = self._cache.usable_blocks
        if usable is not None and needed > usable:
            return f"{len(self.token_ids)} tokens need {needed} blocks, the whole pool has {usable}"
        return f"{len(self.token_ids)} tokens need {needed} free blocks, {available} can be had"

    @property
    def block_hashes(self) -> tuple[str, ...]:
        """Digests of all full blocks of prompt and reply, in the cache's algorithm, as hexadecimal text."""
        full = len(self.token_ids) // self._cache.block_size
        return tuple(digest.hex() for digest in self.digests(full)[:full])

    def digests(self, count: int) -> list[bytes]:
        """At least `count` digests of full blocks; computed once."""
        found = self._digests
        size = self._cache.block_size
        hasher = self._cache.hasher
        for block in range(len(found), count):
            extra = None if self.extras is None else self.extras.of(block)
            parent = found[-1] if found else hasher.root
            found.append(hasher.digest(parent, self.token_ids[block * size : (block + 1) * size], extra))
        return found

    def append(self, sampled_ids: Sequence[int]) -> bool:
        """Ids that the model sampled: all but the last one are computed, and the one that was the last before.

        Full blocks of them are in the cache at once. After `resume()` the last sampled id is computed, too.

        Returns:
            False if the pool has no room for them (the scheduler would preempt a request); then nothing was appended.

        Raises:
            UsageError: the request is not running, part of its prompt is not computed, or something is no token id.
        """
        self._must_run("append")
        ids, data = checked(sampled_ids, "sampled_ids")
        known = len(self.token_ids)
        if known - self.num_computed_tokens > self._pending:
            raise UsageError(
                f"append() with {self.num_computed_tokens} of {known} tokens computed: prefill() the rest of them first"
            )
        if not ids:
            return True
        return self._cache._extend(self, ids, data)

    def prefill(self, tokens: int | None = None) -> bool:
        """Compute the next chunk of a prompt that was admitted with `prefill=…`.

        Args:
            tokens: of the chunk; None: all that are left.

        Returns:
            False if the pool has no room for it; then nothing was computed.

        Raises:
            UsageError: the request is not running, or nothing is left to compute.
        """
        self._must_run("prefill")
        if len(self.token_ids) - self.num_computed_tokens <= self._pending:
            raise UsageError("prefill() of a request whose prompt is computed")
        return self._cache._prefill(self, tokens)

    def preempt(self) -> None:
        """The scheduler takes the blocks away; they stay in the cache as those of a finished request.

        Raises:
            UsageError: the request is not running.
        """
        self._must_run("preempt")
        self._cache._release(self)
        self._preempted = True
        self.num_preemptions += 1
        self.num_computed_tokens = 0
        self.block_ids = self.new_block_ids = ()

    def resume(self, prefill: int | None = None) -> bool:
        """Schedule a preempted request again: a new look-up, then all its tokens are computed that were not found.

        Args:
            prefill: tokens of the first chunk; None: all.

        Returns:
            False if it is refused; then it stays preempted.

        Raises:
            UsageError: the request is not preempted.
        """
        if not self._preempted:
            raise UsageError("resume() of a request that is not preempted")
        return self._cache._schedule(self, prefill)

    def free(self) -> None:
        """The request is finished or aborted: give its blocks back. Harmless if it holds none, also when repeated.

        `block_ids` and `num_computed_tokens` stay as they were, for the record.
        """
        if self._alive and not self._preempted:
            self._cache._release(self)
        self._alive = self._preempted = False

    def _must_run(self, what: str) -> None:
        if self._alive and not self._preempted:
            return
        if self._preempted:
            raise UsageError(f"{what}() of a preempted request: resume() it first")
        raise UsageError(f"{what}() of a request that was {'freed' if self.admitted else 'refused'}")
