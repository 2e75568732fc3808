"""Keys moved to other positions: rotary embedding turns a key by an angle that grows with its position, and turns add
up, so a key computed at position p and turned by d more is that of position p + d."""

from __future__ import annotations

from typing import Any

from pytest_cachesafe.kv.forward import Forward
from pytest_cachesafe.usage import UsageError

__all__ = ["Rotary"]

# A key's largest change in the trial; keys are of the order of 1 to 10.
_SAME = 1e-2


class Rotary:
    """The rotary embedding of a Llama-like model: the two halves of a head turn as pairs.

    Raises:
        UsageError: the model has none, or one that cannot be shifted (frequencies that depend on the length, scaled
            amplitude, interleaved or partial rotation): tried out with a few tokens, not guessed.
    """

    def __init__(self, forward: Forward, trial_ids: list[int]) -> None:
        model = forward.model
        decoder = model.get_decoder() if hasattr(model, "get_decoder") else model
        self.module: Any = getattr(decoder, "rotary_emb", None)
        if self.module is None or float(getattr(self.module, "attention_scaling", 1.0)) != 1.0:
            raise UsageError(f"{type(model).__name__}: its keys cannot be moved (no plain rotary embedding)")
        self._try(forward, trial_ids)

    def move(self, keys: Any, by: int) -> Any:
        """Keys (batch, heads, tokens, head size) turned by `by` positions more."""
        import torch

        at = torch.tensor([[by]], device=keys.device)
        # In float32 throughout: rounding an angle moves a key.
        cos, sin = (part.float()[:, None] for part in self.module(keys.float(), at))
        half = keys.shape[-1] // 2
        turned = torch.cat([-keys[..., half:], keys[..., :half]], dim=-1)
        return (keys.float() * cos + turned.float() * sin).to(keys.dtype)

    def _try(self, forward: Forward, ids: list[int]) -> None:
        import transformers

        at: Any
        there: Any
        at, there = (transformers.DynamicCache(config=forward.model.config) for _ in range(2))
        shift = min(1000, getattr(forward.model.config.get_text_config(), "max_position_embeddings", 2000) // 2)
        forward(ids, at)
        forward(ids, there, positions=range(shift, shift + len(ids)))
        last, wanted = at.layers[-1].keys, there.layers[-1].keys
        bound = _SAME if last.dtype.itemsize == 4 else 0.5
        try:
            off = float((self.move(last, shift) - wanted).float().abs().max())
        except RuntimeError:
            off = float("inf")
        if not off <= bound:
            raise UsageError(
                f"{type(forward.model).__name__}: its keys cannot be moved (turned by {shift} positions they are"
                f" {off:.2g} off)"
            )
