"""Token ids through the model, counted where they enter it: what was computed is observed, not worked out."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe.kv.caches import length, room
from pytest_cachesafe.usage import UsageError

__all__ = ["Forward", "Pass", "cache_keyword"]

_ASKED = re.compile(r"tried to allocate ([\d.]+) ?(bytes|[KMGT]i?B)", re.IGNORECASE)
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def cache_keyword(model: Any) -> str:
    """What `model.forward` calls the cache: `cache` in transformers 5.24, which warns of the older `past_key_values`.

    Raises:
        UsageError: it takes none.
    """
    parameters = inspect.signature(model.forward).parameters
    for name in ("cache", "past_key_values"):
        if name in parameters:
            return name
    raise UsageError(f"{type(model).__name__} takes no KV cache: give a decoder-only causal language model")


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass gave: float32 logits of the last positions (one row each), seconds, tokens that went in."""

    logits: Any
    seconds: float
    tokens: int


class Forward:
    """Runs a model of batch size 1 without gradients and counts the tokens that go through it."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.keyword = cache_keyword(model)
        # All tokens so far, of every caller.
        self.tokens = 0
        self._keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
        model.get_input_embeddings().register_forward_pre_hook(self._count)

    def _count(self, _module: Any, inputs: tuple[Any, ...]) -> None:
        self.tokens += int(inputs[0].numel())

    def __call__(
        self,
        ids: Sequence[int],
        cache: Any = None,
        *,
        keep: int = 1,
        positions: Sequence[int] | None = None,
        mask: Any = None,
    ) -> Pass:
        """One pass over `ids`, behind what `cache` holds; without one nothing is kept.

        Args:
            ids: at least one.
            cache: a transformers cache, extended in place.
            keep: of how many positions, counted from the end, logits are wanted.
            positions: of `ids` in the sequence; by default those behind the cache.
            mask: additive attention mask (1, 1, ids, keys); by default the causal one.

        Raises:
            UsageError: out of memory (says how much was asked for, where torch does).
        """
        import torch

        before = self.tokens
        inputs: dict[str, Any] = {"use_cache": cache is not None}
        if cache is not None:
            inputs[self.keyword] = cache
        if self._keeps:
            inputs["logits_to_keep"] = keep
        if mask is not None:
            inputs["attention_mask"] = mask
        device = self.model.device
        inputs["input_ids"] = torch.tensor([list(ids)], device=device)
        if positions is not None:
            inputs["position_ids"] = torch.tensor([list(positions)], device=device)
        _wait(device)
        started = time.perf_counter()
        try:
            with torch.inference_mode():
                logits = self.model(**inputs).logits[0, -keep:]
        except (MemoryError, RuntimeError) as error:
            if not _out_of_memory(error):
                raise
            raise _too_little(error, len(ids), cache) from error
        _wait(device)
        seconds = time.perf_counter() - started
        return Pass(logits.float().cpu(), seconds, self.tokens - before)


def _wait(device: Any) -> None:
    """Work on a GPU is queued; a clock read before it is done measures nothing."""
    if device.type != "cpu":
        import torch

        torch.accelerator.synchronize(device)


def _too_little(error: BaseException, tokens: int, cache: Any) -> UsageError:
    asked = _ASKED.search(str(error))
    amount = (
        f": {float(asked[1]) * _UNITS[asked[2][0].lower()] / (1 << 30):.2f} GiB more were asked for" if asked else ""
    )
    held = 0 if cache is None else length(cache)
    size = None if cache is None else room(cache)
    if size is not None and not held:
        # It takes all of its room at its first token.
        where, advice = f" into a static cache with room for {size}", "give it less room, or a shorter prompt"
    else:
        where, advice = f" behind {held} in the cache" if held else "", "give a shorter prompt"
    return UsageError(
        f"out of memory at a pass over {tokens} {'token' if tokens == 1 else 'tokens'}{where}{amount}; {advice}"
    )


def _out_of_memory(error: BaseException) -> bool:
    words = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in words or "can't allocate memory" in words
