"""`PrefixCache("lmcache", …)`: vLLM with LMCache behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, ClassVar

from pytest_cachesafe.engines.cache import PrefixCache, check_flag, check_size
from pytest_cachesafe.engines.lmcache.store import POLICIES, ChunkStore
from pytest_cachesafe.engines.request import Request
from pytest_cachesafe.engines.token_ids import WIDTH, pack
from pytest_cachesafe.engines.vllm.manager import VllmCache
from pytest_cachesafe.engines.vllm.request import VllmRequest
from pytest_cachesafe.usage import UsageError

__all__ = ["LMCacheCache", "LMCacheRequest"]

Items = tuple[tuple[str, int, int], ...]


class LMCacheCache(PrefixCache):
    """vLLM whose requests also look into LMCache's chunks, and store there what they computed.

    Rules: LMCache 0.5.6, integration/vllm/vllm_v1_adapter.py, v1/token_database.py and v1/cache_engine.py, 2026-11.
    Chunks are chained like blocks; the leading ones that are stored count, as far as they reach beyond what vLLM found
    itself. A prompt that is stored as a whole leaves its last token to compute. The prompt's chunks are stored after
    its prefill.

    Salt and adapter are in vLLM's keys, not in LMCache's: requests that vLLM keeps apart find each other's chunks here.
    `foreign_tokens` of a request tells how many.

    Not simulated: tiers beside CPU memory (disk, remote), asynchronous loading, `max_tokens_per_load`.

    Args:
        chunk_size: tokens per chunk.
        capacity: tokens that LMCache's memory holds; None: it never runs out.
        cache_policy: `lru` (default), `lfu`, `fifo` or `mru`.
        save_unfull_chunk: keep the end of a prompt that fills no chunk; only a prompt that ends there finds it.
        save_decode_cache: store chunks of replies, too.
        min_retrieve_tokens: fewer tokens than this are computed rather than loaded.
        connector: `v1` (LMCacheConnectorV1), or `mp` (LMCacheMPConnector), whose keys hold the salt; the eviction of
            its server is not simulated.
        vllm_options: those of `VllmCache` (block_size, num_blocks, …).

    Raises:
        UsageError: a size that is no positive whole number, an unknown policy or connector, a capacity below a chunk.
    """

    options = (
        "chunk_size",
        "capacity",
        "cache_policy",
        "save_unfull_chunk",
        "save_decode_cache",
        "min_retrieve_tokens",
        "connector",
        *VllmCache.options,
    )
    flags = ("save_unfull_chunk", "save_decode_cache", *VllmCache.flags)
    servers_names: ClassVar[Mapping[str, str]] = VllmCache.servers_names
    bounds = ("capacity", *VllmCache.bounds)
    label = "LMCache"

    def __init__(
        self,
        engine: str = "lmcache",
        *,
        chunk_size: int = 256,
        capacity: int | None = None,
        cache_policy: str = "lru",
        save_unfull_chunk: bool = False,
        save_decode_cache: bool = False,
        min_retrieve_tokens: int = 0,
        connector: str = "v1",
        **vllm_options: Any,
    ) -> None:
        super().__init__(engine)
        self.chunk_size = check_size("chunk_size", chunk_size)
        self.capacity = None if capacity is None else check_size("capacity", capacity, self.chunk_size)
        policy = str(cache_policy).lower()
        if policy not in POLICIES:
            raise UsageError(f"cache_policy={cache_policy!r}: one of {', '.join(POLICIES)}")
        self.min_retrieve_tokens = check_size("min_retrieve_tokens", min_retrieve_tokens, 0)
        if connector not in ("v1", "mp"):
            raise UsageError(f"connector={connector!r}: one of v1, mp")
        if connector == "mp" and (capacity is not None or save_unfull_chunk or min_retrieve_tokens):
            raise UsageError(
                "connector='mp' goes without capacity, save_unfull_chunk and min_retrieve_tokens: its server evicts by "
                "rules of its own, which are not simulated"
            )
        self.connector = connector
        self.cache_policy = policy
        self.save_unfull_chunk = check_flag("save_unfull_chunk", save_unfull_chunk)
        self.save_decode_cache = check_flag("save_decode_cache", save_decode_cache)
        # The engine in front; its blocks can be looked at there.
        self.vllm = VllmCache(**vllm_options)
        self.limits = self.vllm.limits
        # Tokens that are reused together: what vLLM does not find is found in chunks.
        self.unit = self.vllm.unit
        self.store = ChunkStore(self.capacity, policy)

    def request(
        self,
        token_ids: Sequence[int],
        salt: str | None = None,
        lora: str | tuple[str, str] | None = None,
        read: bool = True,
        *,
        tags: Mapping[str, str] | None = None,
        mm: Sequence[tuple[str, int, int]] = (),
        prefill: int | None = None,
        **more: Any,
    ) -> LMCacheRequest:
        """As `PrefixCache.request`; `cached_tokens` counts what vLLM found and what LMCache adds.

        Args:
            token_ids: the whole prompt.
            salt: cache salt, for vLLM and for `connector="mp"`.
            lora: name of the adapter, or (name, path), for vLLM.
            read: False: nothing is taken from the caches.
            tags: `lmcache.tag.*` of the request: those with different ones share no chunks.
            mm: multimodal items as (hash of the item, offset, length), in tokens of the prompt.
            prefill: tokens of the first chunk of a prefill in chunks; None: the whole prompt is computed at once.
        """
        if more:
            raise UsageError(f"LMCache requests have no {next(iter(more))!r}; known: tags, mm, prefill")
        data = pack(token_ids)
        items = tuple(mm)
        if items:
            inner = self.vllm.request(token_ids, salt, lora, read, mm=items, prefill=prefill)
        else:
            inner = self.vllm.request(token_ids, salt, lora, read, prefill=prefill)
        made = LMCacheRequest(self, inner, data, items, self._root(salt, tags), (salt or None, lora))
        made._look_up(read)
        if inner.admitted:
            made.admitted = True
            made._save()
        return made

    def reset(self) -> bool:
        """Forget all blocks and chunks; False, and nothing done, while vLLM refuses (requests are live)."""
        if not self.vllm.reset():
            return False
        self.store = ChunkStore(self.capacity, self.cache_policy)
        return True

    @property
    def cached_token_count(self) -> int:
        """Tokens in LMCache's chunks."""
        return self.store.tokens

    def _root(self, salt: str | None, tags: Mapping[str, str] | None) -> bytes:
        """What all keys of a request are chained to."""
        parts = [] if tags is None else sorted((str(name), str(value)) for name, value in tags.items())
        return repr((salt or None if self.connector == "mp" else None, parts)).encode()


class LMCacheRequest(Request):
    """A request of an `LMCacheCache`. `block_ids` are vLLM's."""

    __slots__ = (
        "_cache",
        "_data",
        "_items",
        "_keys",
        "_owner",
        "_prompt",
        "_root",
        "_saved",
        "_stored",
        "engine_request",
        "engine_tokens",
        "external_tokens",
        "foreign_tokens",
    )

    def __init__(
        self, cache: LMCacheCache, inner: VllmRequest, data: bytes, items: Items, root: bytes, owner: object
    ) -> None:
        # Shared with vLLM's request, which it grows with.
        self.token_ids = inner.token_ids
        self.admitted = False
        self.block_ids = inner.block_ids
        self.engine_request = inner
        # Prompt tokens that vLLM found itself, and those that LMCache adds.
        self.engine_tokens = inner.cached_tokens
        self.external_tokens = 0
        self.cached_tokens = self.engine_tokens
        # Those of the added ones that a request of another salt or adapter has stored: with another adapter their KV
        # is wrong, with another salt it was meant to be private.
        self.foreign_tokens = 0
        self._cache = cache
        self._data = data
        self._items = items
        self._root = root
        self._owner = owner
        self._prompt = len(self.token_ids)
        # Keys of the whole chunks so far.
        self._keys: list[bytes] = []
        # Tokens that are in LMCache, as the connector keeps count.
        self._saved = 0

    def append(self, sampled_ids: Sequence[int]) -> bool:
        """As `Request.append`; vLLM's blocks decide whether there is room."""
        data = pack(sampled_ids, "sampled_ids")
        if not self.engine_request.append(sampled_ids):
            return False
        self._data += data
        self._follow()
        return True

    def prefill(self, tokens: int | None = None) -> bool:
        """The next chunk of a prefill in chunks, as `VllmRequest.prefill`."""
        if not self.engine_request.prefill(tokens):
            return False
        self._follow()
        return True

    def free(self) -> None:
        """As `Request.free`. Harmless if it holds nothing, also when repeated."""
        self.engine_request.free()

    @property
    def refused(self) -> str | None:
        """Why the latest call that needed blocks got none, in words; None if it got them."""
        return self.engine_request.refused

    def _follow(self) -> None:
        self.block_ids = self.engine_request.block_ids
        self._save()

    def _look_up(self, read: bool) -> None:
        cache = self._cache
        if cache.limits is not None:
            return
        keys, ends = self._cut(self._prompt, cache.save_unfull_chunk)
        chunks = cache.store.found(keys)
        cache.store.touch(keys[: len(chunks)])
        hit = ends[len(chunks) - 1] if chunks else 0
        # The connector counts its hit as saved, whether or not it is loaded.
        self._saved = hit
        more = hit - self.engine_tokens - (hit == self._prompt)
        if not read or more <= 0 or more < cache.min_retrieve_tokens:
            return
        self.external_tokens = more
        self.cached_tokens += more
        last = self.cached_tokens
        self.foreign_tokens = sum(
            min(end, last) - max(end - chunk.tokens, self.engine_tokens)
            for chunk, end in zip(chunks, ends, strict=False)
            if chunk.owner != self._owner and end > self.engine_tokens
        )

    def _save(self) -> None:
        """Store what is computed and not stored yet; after each step of prefill or, if wanted, decoding."""
        cache, size = self._cache, self._cache.chunk_size
        if cache.limits is not None:
            return
        computed = self.engine_request.num_computed_tokens
        # Prompt and what was found by vLLM or loaded count as computed.
        computed = max(computed, min(self.cached_tokens, self._prompt))
        if computed > self._prompt:
            if not cache.save_decode_cache:
                return
            # Decoding saves when a chunk is full, whole ones only.
            while (end := (self._saved // size + 1) * size) <= computed:
                self._store(end, False)
            return
        if self._saved and computed < (self._saved // size + 1) * size:
            return
        unfull = cache.save_unfull_chunk and computed == self._prompt
        self._store(computed if unfull else computed // size * size, unfull)

    def _store(self, end: int, unfull: bool) -> None:
        """Store chunks up to token `end`, from the chunk on that the saved ones end in."""
        size = self._cache.chunk_size
        first = self._saved // size
        if self._saved != end:
            keys, ends = self._cut(end, unfull)
            sizes = [stop - index * size for index, stop in enumerate(ends)]
            self._cache.store.put(keys[first:], sizes[first:], self._owner)
        self._saved = end

    def _cut(self, end: int, unfull: bool) -> tuple[list[bytes], list[int]]:
        """Keys of the chunks of the first `end` tokens, and where each ends."""
        size = self._cache.chunk_size
        whole = end // size
        for index in range(len(self._keys), whole):
            self._keys.append(self._key(index * size, (index + 1) * size))
        keys, ends = self._keys[:whole], [size * (index + 1) for index in range(whole)]
        if unfull and end % size:
            keys.append(self._key(whole * size, end))
            ends.append(end)
        return keys, ends

    def _key(self, start: int, end: int) -> bytes:
        """Key of the chunk from token `start` to `end`, given those before it.

        The real hash does not matter, only what goes in; multimodal placeholders count as their item's content.
        """
        size = self._cache.chunk_size
        digest = sha256(self._keys[start // size - 1] if start else self._root)
        digest.update(self._data[start * WIDTH : end * WIDTH])
        for name, offset, length in self._items:
            if offset < end and offset + length > start:
                digest.update(repr((name, offset - start, length)).encode())
        return digest.digest()
