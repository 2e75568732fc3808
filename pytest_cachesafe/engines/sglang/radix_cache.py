"""`PrefixCache("sglang", …)`: requests in SGLang's radix cache."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pytest_cachesafe.engines.cache import PrefixCache, check_flag, check_names, check_size
from pytest_cachesafe.engines.request import Request
from pytest_cachesafe.engines.sglang.eviction import POLICIES
from pytest_cachesafe.engines.sglang.radix_tree import Namespace, Node, RadixTree
from pytest_cachesafe.engines.token_ids import WIDTH, pack, unpack
from pytest_cachesafe.usage import UsageError

__all__ = ["SglangCache", "SglangRequest"]

_LIMITS = {
    "hybrid": "SGLang keeps recurrent state only where a cached prompt or reply ends; not simulated, so nothing counts "
    "as reused and the real number may be higher",
    "recurrent": "SGLang keeps recurrent state only where a cached prompt or reply ends; not simulated, so nothing "
    "counts as reused and the real number may be higher",
}


class SglangCache(PrefixCache):
    """SGLang's radix cache, one request per scheduling step.

    Rules: SGLang 0.5.23, srt/mem_cache/radix_cache.py and allocation.py, srt/managers/schedule_batch.py, 2026-11. Any
    prefix is found again, cut to whole pages and to one token less than the prompt. The prompt is held after its
    prefill, prompt and reply (but for the last sampled token) when the request ends.

    Not simulated: what the scheduler sets aside for tokens still to come, requests of one batch that cannot see each
    other, host and storage tiers, sliding windows.

    Args:
        page_size: tokens per page (SGLang's default is 1).
        capacity: tokens in the KV pool, cut to whole pages; None: it never runs out.
        policy: `lru` (default), `lfu`, `slru`, `priority`, `fifo`, `filo` or `mru`.
        strip_thinking: prompts only are kept, as with `--strip-thinking-cache` if every reply contains reasoning.
        bigram: keys are pairs of tokens, as with EAGLE drafting; n tokens are n - 1 units.
        model_type: `attention`, or `hybrid` / `recurrent`, for which `limits` says what is not simulated.

    Raises:
        UsageError: a size that is no positive whole number, less capacity than a page, an unknown policy or type.
    """

    options = ("page_size", "capacity", "policy", "strip_thinking", "bigram", "model_type")
    flags = ("strip_thinking", "bigram")
    servers_names: ClassVar[Mapping[str, str]] = {
        "max_total_tokens": "capacity",
        "radix_eviction_policy": "policy",
        "strip_thinking_cache": "strip_thinking",
    }
    bounds = ("capacity",)
    label = "SGLang"

    def __init__(
        self,
        engine: str = "sglang",
        *,
        page_size: int = 1,
        capacity: int | None = None,
        policy: str = "lru",
        strip_thinking: bool = False,
        bigram: bool = False,
        model_type: str = "attention",
    ) -> None:
        super().__init__(engine)
        self.page_size = self.unit = check_size("page_size", page_size)
        if capacity is not None:
            capacity = check_size("capacity", capacity, self.page_size) // self.page_size * self.page_size
        self.capacity = capacity
        if policy not in POLICIES:
            raise UsageError(f"policy={policy!r}: one of {', '.join(POLICIES)}")
        if model_type not in ("attention", *_LIMITS):
            raise UsageError(f"model_type={model_type!r}: one of attention, {', '.join(_LIMITS)}")
        self.policy = policy
        self.strip_thinking = check_flag("strip_thinking", strip_thinking)
        self.bigram = check_flag("bigram", bigram)
        self.model_type = model_type
        self.limits = _LIMITS.get(model_type)
        self._clear()

    def _clear(self) -> None:
        self._tree = RadixTree(self.page_size, WIDTH * (2 if self.bigram else 1), self.policy)
        # Tokens of the pool that live requests hold outside the tree, whole pages.
        self._private = 0
        self._live = 0

    def request(
        self,
        token_ids: Sequence[int],
        salt: str | None = None,
        lora: str | tuple[str, str] | None = None,
        read: bool = True,
        *,
        extra_key: str | None = None,
        logprob_start: int | None = None,
        priority: int = 0,
        **more: Any,
    ) -> SglangRequest:
        """As `PrefixCache.request`.

        A request that is refused holds nothing; as in the engine, its look-up has made what it found recent.

        Args:
            token_ids: the whole prompt.
            salt: cache salt.
            lora: name of the adapter, or (name, path).
            read: False: nothing is found (as with overridden positional embeddings); it still writes.
            extra_key: a namespace of its own beside salt and adapter.
            logprob_start: prompt logprobs are wanted from this token on, so nothing behind it may come from the cache.
            priority: of the request, for `policy="priority"`.
        """
        if more:
            raise UsageError(f"SGLang requests have no {next(iter(more))!r}; known: extra_key, logprob_start, priority")
        made = self._new_request(token_ids, salt, lora, extra_key, priority)
        may_read = len(made.token_ids) - 1
        if logprob_start is not None:
            may_read = min(may_read, check_size("logprob_start", logprob_start, 0))
        made._admit(may_read if read and self.limits is None else 0)
        return made

    def lookup(
        self,
        token_ids: Sequence[int],
        salt: str | None = None,
        lora: str | tuple[str, str] | None = None,
        *,
        extra_key: str | None = None,
    ) -> int:
        """Tokens that a request would find now. Changes nothing; arguments as those of `request`."""
        made = self._new_request(token_ids, salt, lora, extra_key, 0)
        if self.limits is not None:
            return 0
        return self._tree.held(made._namespace, made._key(len(made.token_ids) - 1))

    def _new_request(
        self, token_ids: Sequence[int], salt: str | None, lora: Any, extra_key: str | None, priority: int
    ) -> SglangRequest:
        data = pack(token_ids)
        if not data:
            raise UsageError("token_ids is empty: a prompt has at least one token")
        pair = check_names(salt, lora)
        # Without a path it is None in the tree.
        adapter = (None, None) if pair is None else (pair[0], None) if isinstance(lora, str) else pair
        if extra_key is not None and not isinstance(extra_key, str):
            raise UsageError(f"extra_key={extra_key!r}: text, or None")
        return SglangRequest(self, token_ids, data, (extra_key, salt or None, *adapter), priority)

    def reset(self) -> bool:
        """Forget everything; False, and nothing done, while requests are live."""
        if self._live:
            return False
        self._clear()
        return True

    def evict(self, tokens: int) -> int:
        """Evict whole unlocked leaves until at least `tokens` tokens are gone; returns how many are."""
        return self._tree.evict(check_size("tokens", tokens, 0))

    @property
    def cached_token_count(self) -> int:
        """Tokens in the tree."""
        return self._tree.evictable + self._tree.protected

    @property
    def evictable_tokens(self) -> int:
        """Tokens in the tree that no live request needs."""
        return self._tree.evictable

    @property
    def protected_tokens(self) -> int:
        """Tokens in the tree that live requests need."""
        return self._tree.protected

    @property
    def free_tokens(self) -> int | None:
        """Tokens of the pool that nobody holds, None without a capacity."""
        return None if self.capacity is None else self.capacity - self.cached_token_count - self._private

    def paths(self) -> list[tuple[Namespace, tuple[tuple[int, ...], ...]]]:
        """The tree: for every leaf its namespace (extra key, salt, adapter, its path) and the ids of each node to it.

        In bigram mode a node's ids overlap the next one's by one.
        """
        step = self._tree.width // WIDTH
        found = []
        for namespace, keys in self._tree.leaves():
            ids = (unpack(key) for key in keys)
            found.append((namespace, tuple(i if step == 1 else (*i[::2], i[-1]) for i in ids)))
        return sorted(found, key=lambda item: ([str(part) for part in item[0]], item[1]))

    def _units(self, tokens: int) -> int:
        """Units of whole pages that `tokens` tokens make."""
        units = max(tokens - 1, 0) if self.bigram else tokens
        return units // self.page_size * self.page_size

    def _pages(self, tokens: int) -> int:
        """Tokens of the pool that `tokens` tokens take."""
        return -(-tokens // self.page_size) * self.page_size

    def _make_room(self, wanted: int) -> None:
        """Evict if fewer than `wanted` tokens of the pool are free."""
        free = self.free_tokens
        if free is not None and free < wanted:
            self._tree.evict(wanted - free)


class SglangRequest(Request):
    """A request of a `SglangCache`. `block_ids` stays (): any prefix is shared, and pages move when it is."""

    __slots__ = (
        "_cache",
        "_counted",
        "_data",
        "_namespace",
        "_node",
        "_priority",
        "_prompt",
        "_protected",
        "_shortage",
    )

    def __init__(
        self, cache: SglangCache, token_ids: Sequence[int], data: bytes, namespace: Namespace, priority: int
    ) -> None:
        super().__init__(token_ids)
        self._cache = cache
        self._data = data
        self._namespace = namespace
        self._priority = priority
        self._prompt = len(self.token_ids)
        # Where its tokens in the tree end, and how many they are.
        self._node: Node | None = None
        self._protected = 0
        # Tokens that its insertions have counted hits for.
        self._counted = 0
        # Tokens of the pool needed, and tokens to be had, at the latest refusal.
        self._shortage: tuple[int, int] | None = None

    @property
    def refused(self) -> str | None:
        """Why the latest call that needed room got none, in words; None if it got it."""
        if self._shortage is None:
            return None
        needed, available = self._shortage
        return f"{len(self.token_ids)} tokens need room for {needed}, {available} of {self._cache.capacity} can be had"

    def append(self, sampled_ids: Sequence[int]) -> bool:
        """As `Request.append`. Room is taken token by token, as decoding does, so that it evicts as much."""
        if not self._data or not self.admitted:
            raise UsageError(f"append() of a request that was {'freed' if self.admitted else 'refused'}")
        data = pack(sampled_ids, "sampled_ids")
        cache = self._cache
        before = self._computed
        after = max(before, len(self.token_ids) + len(data) // WIDTH - 1)
        need = cache._pages(after) - cache._pages(before)
        free = cache.free_tokens
        if free is not None:
            if need > free + cache.evictable_tokens:
                self._shortage = need, free + cache.evictable_tokens
                return False
            self._decode(before, after)
        else:
            cache._private += need
        self._shortage = None
        self.token_ids.extend(sampled_ids)
        self._data += data
        return True

    def free(self) -> None:
        """As `Request.free`. Harmless if it holds nothing, also when repeated."""
        if not self._data or not self.admitted:
            return
        cache = self._cache
        computed = self._computed
        # Reasoning and answer are dropped together: there is no mark between them in the tree.
        kept = self._prompt if cache.strip_thinking else computed
        held = cache._pages(computed)
        self._hold(kept, split=True)
        cache._private -= held - self._protected
        cache._tree.unlock(self._node)
        cache._live -= 1
        self._node = None
        self._data = b""

    @property
    def _computed(self) -> int:
        """Tokens that have KV: the prompt and all but the last of what was sampled."""
        return max(self._prompt, len(self.token_ids) - 1)

    def _key(self, tokens: int) -> bytes:
        """The first `tokens` tokens as a key of whole pages."""
        cache = self._cache
        units = cache._units(tokens)
        if not cache.bigram:
            return self._data[: units * WIDTH]
        ids = array("i", self._data[: (units + 1) * WIDTH if units else 0])
        pairs = array("i", bytes(2 * WIDTH * units))
        pairs[::2], pairs[1::2] = ids[:-1], ids[1:]
        return pairs.tobytes()

    def _admit(self, may_read: int) -> None:
        cache, tree = self._cache, self._cache._tree
        hit, node = tree.match(self._namespace, self._key(may_read))
        self.cached_tokens = hit
        tree.lock(node)
        need = cache._pages(self._prompt) - hit
        free = cache.free_tokens
        if free is not None:
            if need > free + tree.evictable:
                self._shortage = need, free + tree.evictable
                tree.unlock(node)
                return
            # With pages the engine asks for one more than the prompt may need.
            cache._make_room(self._prompt - hit + (cache.page_size if cache.page_size > 1 else 0))
        self.admitted = True
        cache._live += 1
        cache._private += need
        self._node, self._protected = node, hit
        self._hold(self._prompt)

    def _hold(self, tokens: int, split: bool = False) -> None:
        """Put the first `tokens` tokens into the tree, which then owns them; what it held before is given back."""
        cache, tree = self._cache, self._cache._tree
        key = self._key(tokens)
        units = len(key) // tree.width
        tree.insert(self._namespace, key, self._priority, self._counted)
        self._counted = max(self._counted, units)
        if split:
            # The prompt ends a node, so that the reply can go without it.
            prompt = self._key(self._prompt)
            if 0 < len(prompt) < len(key):
                length = len(prompt) // tree.width
                tree.insert(self._namespace, prompt, self._priority + 1, length)
        cache._private -= units - self._protected
        _, node = tree.match(self._namespace, key)
        tree.unlock(self._node)
        tree.lock(node)
        self._node, self._protected = node, units

    def _decode(self, before: int, after: int) -> None:
        """Take the room for tokens `before` to `after`; every step asks for a page, whether or not it needs one."""
        cache, page = self._cache, self._cache.page_size
        while before < after:
            if before % page == 0:
                # The engine first checks that the page is there, then allocates.
                cache._make_room(page)
                cache._private += page
                before += 1
                continue
            cache._make_room(page)
            before = min(after, -(-before // page) * page)
