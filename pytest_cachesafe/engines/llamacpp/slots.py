"""`PrefixCache("llamacpp", …)`: requests in the slots of llama.cpp's server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pytest_cachesafe.engines.cache import PrefixCache, check_flag, check_names, check_size
from pytest_cachesafe.engines.llamacpp.ram_cache import RamCache, share
from pytest_cachesafe.engines.llamacpp.shifting import shifted
from pytest_cachesafe.engines.request import Request
from pytest_cachesafe.engines.token_ids import WIDTH, common_prefix, pack
from pytest_cachesafe.usage import UsageError

__all__ = ["LlamaCppCache", "LlamaCppRequest"]

_MIB = 1024 * 1024
# `--cache-ram` where it is not given, in MiB.
_CACHE_RAM = 8192
# Bytes of KV per token of an 8B model with grouped queries in 16 bits: 32 layers, 8 heads of 128, keys and values.
_BYTES_PER_TOKEN = 32 * 8 * 128 * 2 * 2


class _Slot:
    """One sequence of the server."""

    __slots__ = ("busy", "data", "index", "lora", "used")

    def __init__(self, index: int) -> None:
        self.index = index
        # Packed tokens that have KV: the last prompt and its reply.
        self.data = b""
        self.busy = False
        # When it was released; it orders slots, so steps are as good as the server's clock.
        self.used = -1
        self.lora: str | tuple[str, str] | None = None


class LlamaCppCache(PrefixCache):
    """The slots of llama.cpp's server and its prompt cache in RAM.

    Rules: ggml-org/llama.cpp, tools/server/server-context.cpp and server-task.cpp, read 2026-11. A slot keeps the
    tokens of its last prompt and reply; a request goes to the idle slot whose tokens share the longest prefix with it,
    if that is more than `similarity` of the prompt, else to the one that was released longest ago. Any length of prefix
    is reused, but only by that one slot. A prompt that is held as a whole leaves its last token to compute.

    The server knows no cache salt, so requests with different ones share; one that names an adapter clears a slot that
    had another one, but one without does not, and states in RAM are not told apart.

    A `recurrent` or `hybrid` model cannot go back: a prompt that extends what the slot holds reuses all of it, any
    other one nothing. That is the server with `--ctx-checkpoints 0`; with checkpoints the real number may be higher.

    Not simulated: context shift, a shared pool of KV cells that is too small, slots that are saved to files, drafting.

    Args:
        slots: `--parallel`; None: the server's choice, which is 4 with unified KV.
        similarity: `--slot-prompt-similarity`; 0: slots are taken by age alone.
        cache_prompt: False as with `--no-cache-prompt`.
        cache_ram: `--cache-ram` in MiB; 0: off, -1: no limit but that of `n_ctx` tokens together; None: the server's
            8,192.
        bytes_per_token: of the KV in RAM, to tell what fits into `cache_ram`, with which it goes; None: 131,072, as an
            8B model with grouped queries has in 16 bits (see `assumed`).
        cache_idle_slots: `--cache-idle-slots`: when a request starts, idle slots are saved to RAM (and cleared, with
            unified KV).
        kv_unified: `--kv-unified`; None: as the server, on if `slots` is left to it.
        cache_reuse: `--cache-reuse`: chunks of at least so many tokens are shifted to where the prompt has them.
        n_ctx: tokens of context of each slot; None: no limit.
        model_type: `attention`, `recurrent` or `hybrid`.

    Raises:
        UsageError: a size that is no whole number in its range, an unknown type of model, `cache_ram` above 0 without
            `bytes_per_token`.
    """

    options = (
        "slots",
        "similarity",
        "cache_prompt",
        "cache_ram",
        "bytes_per_token",
        "cache_idle_slots",
        "kv_unified",
        "cache_reuse",
        "n_ctx",
        "model_type",
    )
    flags = ("cache_prompt", "cache_idle_slots", "kv_unified")
    servers_names: ClassVar[Mapping[str, str]] = {
        "parallel": "slots",
        "np": "slots",
        "slot_prompt_similarity": "similarity",
        "ctx_size": "n_ctx",
    }
    bounds = ("cache_ram", "bytes_per_token")
    label = "llama.cpp"

    def __init__(
        self,
        engine: str = "llamacpp",
        *,
        slots: int | None = None,
        similarity: float = 0.1,
        cache_prompt: bool = True,
        cache_ram: int | None = None,
        bytes_per_token: int | None = None,
        cache_idle_slots: bool = True,
        kv_unified: bool | None = None,
        cache_reuse: int = 0,
        n_ctx: int | None = None,
        model_type: str = "attention",
    ) -> None:
        super().__init__(engine)
        self.slots = 4 if slots is None else check_size("slots", slots)
        if isinstance(similarity, bool) or not isinstance(similarity, (int, float)) or not 0 <= similarity <= 1:
            raise UsageError(f"similarity={similarity!r}: a share of the prompt, from 0 to 1")
        if model_type not in ("attention", "recurrent", "hybrid"):
            raise UsageError(f"model_type={model_type!r}: one of attention, recurrent, hybrid")
        self.similarity = share(similarity, 1)
        self.cache_prompt = check_flag("cache_prompt", cache_prompt)
        self.cache_ram = _CACHE_RAM if cache_ram is None else check_size("cache_ram", cache_ram, -1)
        if bytes_per_token is None:
            if cache_ram is not None and cache_ram > 0:
                raise UsageError(
                    f"cache_ram={cache_ram} says nothing without bytes_per_token, the bytes of KV that a token of the "
                    f"model takes: give both, e.g. bytes_per_token={_BYTES_PER_TOKEN} for an 8B model in 16 bits"
                )
            bytes_per_token = _BYTES_PER_TOKEN
            if cache_ram is None:
                self.assumed = (
                    f"RAM for {_CACHE_RAM * _MIB // _BYTES_PER_TOKEN:,} tokens: {_CACHE_RAM:,} MiB at an 8B model's "
                    f"{_BYTES_PER_TOKEN // 1024} KiB each"
                )
        self.bytes_per_token = check_size("bytes_per_token", bytes_per_token)
        self.kv_unified = slots is None if kv_unified is None else check_flag("kv_unified", kv_unified)
        self.cache_idle_slots = check_flag("cache_idle_slots", cache_idle_slots) and cache_ram != 0
        self.cache_reuse = check_size("cache_reuse", cache_reuse, 0)
        self.n_ctx = None if n_ctx is None else check_size("n_ctx", n_ctx, 2)
        self.model_type = model_type
        self.limits = None if cache_prompt else "cache_prompt is off"
        # See `unbounded`.
        self._endless = False
        self._clear()

    def _clear(self) -> None:
        self._slots = [_Slot(index) for index in range(self.slots)]
        most = None
        if not self._endless:
            most = self.n_ctx if self.cache_ram < 0 else self.cache_ram * _MIB // self.bytes_per_token
        self.ram = RamCache(most) if self.cache_ram else None
        self._now = 0

    def request(
        self,
        token_ids: Sequence[int],
        salt: str | None = None,
        lora: str | tuple[str, str] | None = None,
        read: bool = True,
        *,
        id_slot: int | None = None,
        **more: Any,
    ) -> LlamaCppRequest:
        """As `PrefixCache.request`. It is refused, and would wait, while no slot is idle.

        A prompt that does not fit into `n_ctx` is refused, too, but has been given a slot first.

        Args:
            token_ids: the whole prompt.
            salt: has no effect; the server knows none.
            lora: name of the adapter, or (name, path).
            read: False as with `"cache_prompt": false`: the slot is computed anew.
            id_slot: wants this slot.
        """
        if more:
            raise UsageError(f"llama.cpp requests have no {next(iter(more))!r}; known: id_slot")
        check_names(salt, lora)
        data = _packed(token_ids)
        made = LlamaCppRequest(self, token_ids, data)
        slot, keep = self._choose(data, self._wanted(id_slot))
        if slot is None:
            made.refused = "no slot is idle" if id_slot is None else f"slot {id_slot} is not idle"
            return made
        if self.ram is not None and keep < 0.5:
            self.ram.save(slot.data)
            better = self.ram.better(slot.data, data)
            if better is not None:
                self.ram.take(better)
                slot.data = better
        if lora is not None and lora != slot.lora:
            slot.data = b""
        slot.lora = lora
        slot.busy = True
        self._save_idle()
        if self.n_ctx is not None and len(data) // WIDTH >= self.n_ctx:
            self._release(slot)
            made.refused = f"{len(data) // WIDTH} tokens do not fit into a context of {self.n_ctx}"
            return made
        if read and self.cache_prompt:
            made.cached_tokens = self._reused(slot.data, data)
            if self.model_type != "attention" and not made.cached_tokens:
                made._unusable = common_prefix(slot.data, data) // WIDTH
        made._start(slot)
        return made

    def lookup(
        self,
        token_ids: Sequence[int],
        salt: str | None = None,
        lora: str | tuple[str, str] | None = None,
        *,
        id_slot: int | None = None,
    ) -> int:
        """Tokens that a request would find now. Changes nothing; arguments as those of `request`."""
        data = _packed(token_ids)
        slot, keep = self._choose(data, self._wanted(id_slot))
        if slot is None or not self.cache_prompt or (lora is not None and lora != slot.lora):
            return 0
        held = slot.data
        if self.ram is not None and keep < 0.5:
            # Saving the slot's own state first can only push out others; with a bound, that may decide.
            held = self.ram.after_save(held).better(held, data) or held
        return self._reused(held, data)

    def unbounded(self) -> PrefixCache:
        """As `PrefixCache.unbounded`: RAM never runs out. There are no more slots than before."""
        made = super().unbounded()
        assert isinstance(made, LlamaCppCache)
        made._endless, made.assumed = True, None
        made._clear()
        return made

    @property
    def bounded(self) -> bool:
        """Whether what leaves a slot may be lost."""
        return self.ram is None or self.ram.most_tokens is not None

    def reset(self) -> bool:
        """Forget all slots and states; False, and nothing done, while requests are live."""
        if any(slot.busy for slot in self._slots):
            return False
        self._clear()
        return True

    @property
    def cached_token_count(self) -> int:
        """Tokens in slots and in RAM."""
        return sum(len(slot.data) for slot in self._slots) // WIDTH + (self.ram.tokens if self.ram is not None else 0)

    @property
    def idle_slots(self) -> int:
        """Slots that a request could take now."""
        return sum(not slot.busy for slot in self._slots)

    def _wanted(self, id_slot: int | None) -> _Slot | None:
        return None if id_slot is None else self._slots[check_size("id_slot", id_slot, 0) % self.slots]

    def _choose(self, data: bytes, wanted: _Slot | None) -> tuple[_Slot | None, float]:
        """The slot for a prompt, and the share of its tokens that would stay (0 if it goes by age)."""
        if wanted is not None and wanted.busy:
            return None, 0.0
        idle = [slot for slot in self._slots if not slot.busy] if wanted is None else [wanted]
        chosen, best = wanted, 0.0
        tokens = len(data) // WIDTH
        if self.similarity:
            for slot in idle:
                similarity = share(common_prefix(slot.data, data) // WIDTH, tokens)
                if similarity > best and similarity > self.similarity:
                    chosen, best = slot, similarity
            if chosen is not None:
                # A slot that was asked for and holds nothing is taken as it is.
                held = len(chosen.data) // WIDTH
                return chosen, share(share(best * tokens, 1), held) if held else 1.0
        elif wanted is not None:
            return wanted, 1.0
        oldest = None
        for slot in idle:
            if oldest is None or slot.used <= oldest.used:
                oldest = slot
        return oldest, 0.0

    def _save_idle(self) -> None:
        if not self.cache_idle_slots or self.ram is None:
            return
        for slot in self._slots:
            if not slot.busy and slot.data:
                self.ram.save(slot.data)
                if self.kv_unified:
                    slot.data = b""

    def _reused(self, held: bytes, data: bytes) -> int:
        """Tokens of the prompt that a slot with `held` need not compute."""
        tokens, before = len(data) // WIDTH, len(held) // WIDTH
        found = common_prefix(held, data) // WIDTH
        if self.model_type == "attention":
            if self.cache_reuse:
                found = shifted(held, data, found, self.cache_reuse)
        elif found and before - 1 >= found - (found == tokens):
            # The state is that of the last token held, and there is no way back to an earlier one.
            return 0
        return found - 1 if found == tokens else found

    def _release(self, slot: _Slot) -> None:
        self._now += 1
        slot.used = self._now
        slot.busy = False


class LlamaCppRequest(Request):
    """A request of a `LlamaCppCache`. `slot` is the number of its slot; `block_ids` stays ()."""

    __slots__ = ("_cache", "_data", "_prompt", "_slot", "_unusable", "refused", "slot")

    def __init__(self, cache: LlamaCppCache, token_ids: Sequence[int], data: bytes) -> None:
        super().__init__(token_ids)
        self.slot: int | None = None
        # Why it was refused, in words; None if it was not.
        self.refused: str | None = None
        self._unusable = 0
        self._cache = cache
        self._data = data
        self._prompt = len(self.token_ids)
        self._slot: _Slot | None = None

    @property
    def unusable_tokens(self) -> int:
        """As `Request.unusable_tokens`: of a `recurrent` or `hybrid` model, what the slot held of the prompt."""
        return self._unusable

    def append(self, sampled_ids: Sequence[int]) -> bool:
        """As `Request.append`; False if they do not fit into the slot's context."""
        if self._slot is None:
            raise UsageError(f"append() of a request that was {'freed' if self.admitted else 'refused'}")
        data = pack(sampled_ids, "sampled_ids")
        computed = max(self._prompt, len(self.token_ids) + len(data) // WIDTH - 1)
        if self._cache.n_ctx is not None and computed >= self._cache.n_ctx:
            self.refused = f"{computed} tokens do not fit into a context of {self._cache.n_ctx}"
            return False
        self.token_ids.extend(sampled_ids)
        self._data += data
        self._slot.data = self._data[: computed * WIDTH]
        return True

    def free(self) -> None:
        """As `Request.free`: the slot is idle and keeps the tokens. Harmless if it holds none, also when repeated."""
        if self._slot is not None:
            self._cache._release(self._slot)
            self._slot = None

    def _start(self, slot: _Slot) -> None:
        self.admitted = True
        self.slot = slot.index
        self._slot = slot
        slot.data = self._data


def _packed(token_ids: Sequence[int]) -> bytes:
    data = pack(token_ids)
    if not data:
        raise UsageError("token_ids is empty: a prompt has at least one token")
    return data
