"""`PrefixCache("vllm", …)`: requests in vLLM's prefix cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from pytest_cachesafe.engines.cache import PrefixCache, check_flag, check_size
from pytest_cachesafe.engines.hashing import BlockHasher
from pytest_cachesafe.engines.vllm.block_pool import ROOT, BlockPool
from pytest_cachesafe.engines.vllm.events import EventLog, KVEvent
from pytest_cachesafe.engines.vllm.keys import Contents, Item, checked, extras_of
from pytest_cachesafe.engines.vllm.request import VllmRequest
from pytest_cachesafe.usage import UsageError

__all__ = ["VllmCache"]

_LIMITS = {
    kind: f"{kind} model: its state is not kept block by block, so vLLM's cache of blocks holds nothing for it (the "
    "server's Mamba 'align' mode, which keeps some states, is not simulated; with it the real number may be higher)"
    for kind in ("hybrid", "recurrent")
}


class VllmCache(PrefixCache):
    """vLLM's prefix cache (V1) for a model with one group of full-attention layers.

    Rules: vLLM 0.33.0, v1/core/kv_cache_manager.py, single_type_kv_cache_manager.py, block_pool.py and
    sched/scheduler.py, 2026-11. Full blocks only; a prompt always leaves its last token to compute, so at most
    (tokens - 1) // block_size blocks are found; blocks are in the cache as soon as their request is scheduled.

    Not simulated: sliding windows, several groups of layers, slots for draft tokens, KV connectors, context parallel
    servers.

    Args:
        block_size: tokens per block (vLLM: 16 with CUDA, 128 on CPUs, unless the attention backend wants another).
        num_blocks: blocks in the pool, the null block included, as vLLM counts them, so one less can be used; None: it
            never runs out.
        caching: False as with `--no-enable-prefix-caching`.
        unhashed_first: freed blocks without a key are the next to be taken; False: they go to the end of the queue like
            all others, as in servers of before vllm-project/vllm#42656 (2026-05).
        watermark: share of the pool that stays free when a request is admitted while others run.
        scheduler_reserve_full_isl: a prompt in chunks is only admitted if there is room for all of it.
        hash: algorithm of `block_hashes` and events, one of `hashing.ALGORITHMS`; what is found does not depend on it.
        none_hash_seed: the server's PYTHONHASHSEED, where it is set.
        eagle: EAGLE or MTP drafting, which computes one more found block anew.
        model_type: `attention`, or `hybrid` / `recurrent`, for which nothing is found (see `limits`).
        events: keep what a server publishes, for `take_events()`.
        int_block_hashes: events name blocks by the lowest 64 bits of their digests, as servers do by default.

    Raises:
        UsageError: a size that is no positive whole number, or something else that is not on its option's list.
    """

    options = (
        "block_size",
        "num_blocks",
        "caching",
        "unhashed_first",
        "watermark",
        "scheduler_reserve_full_isl",
        "hash",
        "none_hash_seed",
        "eagle",
        "model_type",
        "events",
        "int_block_hashes",
    )
    flags = ("caching", "unhashed_first", "scheduler_reserve_full_isl", "eagle", "events", "int_block_hashes")
    servers_names: ClassVar[Mapping[str, str]] = {
        "enable_prefix_caching": "caching",
        "prefix_caching_hash_algo": "hash",
        "num_gpu_blocks": "num_blocks",
        "num_gpu_blocks_override": "num_blocks",
    }
    bounds = ("num_blocks",)
    label = "vLLM"

    def __init__(
        self,
        engine: str = "vllm",
        *,
        block_size: int = 16,
        num_blocks: int | None = None,
        caching: bool = True,
        unhashed_first: bool = True,
        watermark: float = 0.0,
        scheduler_reserve_full_isl: bool = True,
        hash: str = "canonical",  # noqa: A002 (the option's name)
        none_hash_seed: str | None = None,
        eagle: bool = False,
        model_type: str = "attention",
        events: bool = False,
        int_block_hashes: bool = True,
    ) -> None:
        super().__init__(engine)
        self.block_size = self.unit = check_size("block_size", block_size)
        # The null block and one to use.
        self.num_blocks = None if num_blocks is None else check_size("num_blocks", num_blocks, 2)
        if isinstance(watermark, bool) or not isinstance(watermark, (int, float)) or not 0 <= watermark < 1:
            raise UsageError(f"watermark={watermark!r}: a share of the pool, from 0 to less than 1")
        if model_type not in ("attention", *_LIMITS):
            raise UsageError(f"model_type={model_type!r}: one of attention, {', '.join(_LIMITS)}")
        self.limits = _LIMITS.get(model_type)
        self.hasher = BlockHasher(hash, none_hash_seed)
        self._caching = check_flag("caching", caching) and self.limits is None
        self._eagle = check_flag("eagle", eagle)
        self._watermark = int(watermark * (self.num_blocks or 0))
        self._reserve = check_flag("scheduler_reserve_full_isl", scheduler_reserve_full_isl)
        self._contents = Contents(self.block_size)
        check_flag("unhashed_first", unhashed_first)
        self._pool = BlockPool(self.num_blocks, single=self.block_size == 1, unhashed_first=unhashed_first)
        check_flag("int_block_hashes", int_block_hashes)
        self._log = EventLog(self.hasher, self.block_size, int_block_hashes) if check_flag("events", events) else None
        if events:
            self._pool.evicted = []
        # Requests that hold blocks; the only one while there is one and holders are not counted.
        self._running = 0
        self._alone: VllmRequest | None = None
        # Tokens, as in vllm:prefix_cache_queries and vllm:prefix_cache_hits: of admitted requests that may read, the
        # first time they are scheduled.
        self.queries = 0
        self.hits = 0
        # The same for requests that are scheduled again after a preemption, which the server counts apart.
        self.preempted_queries = 0
        self.preempted_hits = 0

    # Requests.

    def request(
        self,
        token_ids: Sequence[int],
        salt: str | None = None,
        lora: str | tuple[str, str] | None = None,
        read: bool = True,
        *,
        mm: Iterable[Item] = (),
        embeds: bytes | Sequence[bytes] | None = None,
        prefill: int | None = None,
        **more: Any,
    ) -> VllmRequest:
        """As `PrefixCache.request`.

        Args:
            token_ids: the whole prompt.
            salt: cache salt; requests with different ones share nothing.
            lora: name of the adapter, or (name, path); the path is part of a server's key.
            read: False: nothing is looked up (as for prompt logprobs, or with `skip_reading_prefix_cache`).
            mm: multimodal items as (hash of the item, offset, length), in tokens of the prompt.
            embeds: prompt embeddings: their bytes, the same number for each token, or one SHA-256 digest per block.
            prefill: tokens of the first chunk; None: the whole prompt is computed at once.
        """
        if more:
            raise UsageError(f"vLLM requests have no {next(iter(more))!r}; known: mm, embeds, prefill")
        made = self._new_request(token_ids, salt, lora, mm, embeds, read)
        self._schedule(made, prefill)
        return made

    def lookup(
        self,
        token_ids: Sequence[int],
        salt: str | None = None,
        lora: str | tuple[str, str] | None = None,
        read: bool = True,
        *,
        mm: Iterable[Item] = (),
        embeds: bytes | Sequence[bytes] | None = None,
    ) -> int:
        """Tokens that a request would find now. Changes nothing; arguments as those of `request`."""
        return len(self._find(self._new_request(token_ids, salt, lora, mm, embeds, read))[0]) * self.block_size

    def _new_request(
        self, token_ids: Sequence[int], salt: Any, lora: Any, mm: Any, embeds: Any, read: bool
    ) -> VllmRequest:
        ids, data = checked(token_ids)
        if not ids:
            raise UsageError("token_ids is empty: a prompt has at least one token")
        extras = None
        if salt is not None or lora is not None or mm or embeds is not None:
            extras = extras_of(self.block_size, len(ids), salt, lora, mm, embeds)
        contents = self._contents.cut(ids, data, extras) if self._caching else []
        return VllmRequest(self, ids, contents, extras, read)

    def _find(self, request: VllmRequest) -> tuple[list[int], bool]:
        """Names of the keys that a look-up finds, and whether the next one is known to be missing."""
        if not (self._caching and request._read):
            return [], False
        most = (len(request.token_ids) - 1) // self.block_size
        names = self._pool.match(request._contents, most, request._plain)
        missing = len(names) < most
        if self._eagle and names:
            names.pop()
            missing = False
        return names, missing

    def _schedule(self, request: VllmRequest, prefill: int | None) -> bool:
        """Admit a new or preempted request, or refuse it and change nothing."""
        if prefill is not None:
            check_size("prefill", prefill)
        pool, size = self._pool, self.block_size
        names, missing = self._find(request)
        blocks = pool.blocks_of(names)
        found = len(blocks) * size
        known = len(request.token_ids)
        if not request.num_preemptions:
            request.cached_tokens = found
        computed = known if prefill is None else min(known, found + prefill)
        needed = -(-computed // size) - len(blocks)
        if self._alone is not None:
            pool.count(self._alone.block_ids)
            self._alone = None
        if self.num_blocks is not None:
            # Found blocks that nobody holds are in the queue, too, so they are not there for the others.
            room = pool.num_free - (pool.count_free(blocks) if self._running else len(blocks))
            if self._running:
                room -= self._watermark
            wanted = -(-known // size) - len(blocks) if self._reserve else needed
            if wanted > room:
                request._shortage = (wanted + len(blocks), max(room + len(blocks), 0))
                return False
        if blocks:
            pool.touch(blocks)
        taken = pool.take(needed)
        if self._log is not None:
            self._publish_removed()
        request._shortage = None
        request.admitted = request._alive = True
        request._preempted = request._pending = False
        request.new_block_ids = tuple(taken)
        request.block_ids = (*blocks, *taken)
        request.num_computed_tokens = computed
        request._indexed = len(names)
        request._name = names[-1] if names else ROOT
        if not self._running:
            self._alone = request
        self._running += 1
        self._index(request, missing)
        if self._caching and request._read:
            if request.num_preemptions:
                self.preempted_queries += known
                self.preempted_hits += found
            else:
                self.queries += known
                self.hits += found
        return True

    def _prefill(self, request: VllmRequest, tokens: int | None) -> bool:
        """The next chunk."""
        left = len(request.token_ids) - request.num_computed_tokens
        if tokens is not None:
            left = min(left, check_size("tokens", tokens))
        return self._compute(request, request.num_computed_tokens + left)

    def _extend(self, request: VllmRequest, ids: list[int], data: bytes) -> bool:
        """Append sampled tokens, compute all but the last."""
        tokens, size = request.token_ids, self.block_size
        target = len(tokens) + len(ids) - 1
        if not self._has_room(request, target):
            return False
        tokens.extend(ids)
        if self._caching and not request._plain:
            first = len(request._contents)
            if len(tokens) // size > first:
                if len(tokens) - len(ids) > first * size:
                    ids, data = checked(tokens[first * size :])
                request._contents += self._contents.cut(ids, data, request.extras, first)
        if self._log is None:
            self._compute(request, target)
        else:
            # Step by step, so that events come out one by one: a block is taken for its first token.
            taken: list[int] = []
            while request.num_computed_tokens < target:
                self._compute(request, min(target, (request.num_computed_tokens // size + 1) * size))
                taken += request.new_block_ids
            request.new_block_ids = tuple(taken)
        request._pending = True
        return True

    def _has_room(self, request: VllmRequest, computed: int) -> bool:
        needed = -(-computed // self.block_size) - len(request.block_ids)
        if needed > self._pool.num_free:
            request._shortage = (len(request.block_ids) + needed, len(request.block_ids) + self._pool.num_free)
            return False
        request._shortage = None
        return True

    def _compute(self, request: VllmRequest, computed: int) -> bool:
        """Take blocks for the tokens up to `computed` and compute them."""
        if not self._has_room(request, computed):
            return False
        needed = -(-computed // self.block_size) - len(request.block_ids)
        taken = self._pool.take(needed) if needed > 0 else []
        if self._log is not None:
            self._publish_removed()
        request.new_block_ids = tuple(taken)
        if taken:
            request.block_ids = (*request.block_ids, *taken)
        request.num_computed_tokens = computed
        self._index(request, False)
        return True

    def _index(self, request: VllmRequest, missing: bool) -> None:
        """Give every full computed block its key."""
        full = request.num_computed_tokens // self.block_size
        first = request._indexed
        if full <= first or not self._caching:
            return
        blocks, contents = request.block_ids[first:full], request._contents[first:full]
        request._name = self._pool.index(blocks, contents, request._name, request._plain, missing)
        request._indexed = full
        if self._log is not None:
            self._log.stored(request, first, full)

    def _release(self, request: VllmRequest) -> None:
        """Give the blocks of a running request back."""
        self._pool.release(request.block_ids, request._indexed, self._running == 1)
        self._running -= 1
        self._alone = None

    def _publish_removed(self) -> None:
        evicted = self._pool.evicted
        if evicted:
            assert self._log is not None
            self._log.removed(evicted)
            evicted.clear()

    # The pool.

    @property
    def usable_blocks(self) -> int | None:
        """Blocks of the pool without the null block, None if it never runs out."""
        return None if self.num_blocks is None else self.num_blocks - 1

    @property
    def free_block_ids(self) -> tuple[int, ...]:
        """The free queue, the next block to be taken first. Those that have a key are at its end.

        Raises:
            UsageError: the pool never runs out, so the list would not end.
        """
        if self.num_blocks is None:
            raise UsageError("free_block_ids of a pool that never runs out: make the cache with num_blocks=…")
        return tuple(self._pool.in_order())

    @property
    def num_free_blocks(self) -> int | None:
        """Blocks in the free queue, None if the pool never runs out."""
        return None if self.num_blocks is None else self._pool.num_free

    def ref_count(self, block_id: int) -> int:
        """Requests that hold a block.

        Raises:
            UsageError: the pool has no such block.
        """
        check_size("block_id", block_id, 0)
        if self.num_blocks is not None and block_id >= self.num_blocks:
            raise UsageError(f"block_id={block_id}: the pool has blocks 0 to {self.num_blocks - 1}")
        if self._alone is not None:
            return int(block_id in self._alone.block_ids)
        return self._pool.holders(block_id)

    def reset(self) -> bool:
        """Forget every key; the order of the queue stays. False, and nothing done, while a request holds blocks."""
        if self._running:
            return False
        self._pool.clear()
        if self._log is not None:
            self._log.cleared()
        return True

    def take_events(self) -> list[KVEvent]:
        """What a server would have published since the last call; needs `events=True`.

        Raises:
            UsageError: the cache keeps no events.
        """
        if self._log is None:
            raise UsageError("take_events() of a cache that keeps none: make it with events=True")
        return self._log.take()
