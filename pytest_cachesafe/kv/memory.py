"""Bytes that keys and values take: from the model's configuration, and from the tensors of a cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_cachesafe.usage import UsageError

__all__ = ["bytes_per_token", "measured_bytes", "other_kinds", "shape_of", "tensors"]

_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


def other_kinds(config: Any) -> list[str]:
    """What other than keys and values of all tokens some layers keep; empty for full attention throughout."""
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    kinds = getattr(config, "layer_types", None)
    other = sorted({kind for kind in kinds or () if kind != "full_attention"})
    if kinds is None and getattr(config, "sliding_window", None):
        other.append("sliding_attention")
    return other


def shape_of(config: Any) -> tuple[int, int, int]:
    """Layers, KV heads and head size of a model.

    Raises:
        UsageError: the configuration does not say, or some layers keep something else than keys and values of all
            tokens (sliding window, recurrent state, latent attention): bytes per token are then no constant of it.
    """
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    other = other_kinds(config)
    if getattr(config, "kv_lora_rank", None):
        other.append("latent attention")
    if other:
        raise UsageError(f"{config.model_type}: KV bytes per token are not constant with layers of kind {other[0]}")
    layers, heads = getattr(config, "num_hidden_layers", None), getattr(config, "num_attention_heads", None)
    if not layers or not heads:
        raise UsageError(f"{config.model_type}: the configuration names no layers or attention heads")
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    return int(layers), int(kv_heads), int(size)


def bytes_per_token(config: Any, dtype: str) -> int:
    """Layers x KV heads x head size x 2 (key and value) x bytes of a number; bytes.

    Raises:
        UsageError: see `shape_of`.
    """
    layers, heads, size = shape_of(config)
    return layers * heads * size * 2 * _BYTES[dtype]


def measured_bytes(cache: Any) -> int:
    """Bytes of memory behind a cache's tensors, scales and zero points included; one buffer counts once."""
    return sum(
        storage.nbytes()
        for storage in {t.untyped_storage().data_ptr(): t.untyped_storage() for t in tensors(cache)}.values()
    )


def tensors(cache: Any) -> Iterator[Any]:
    """The plain tensors in which a cache keeps keys and values, layer by layer."""
    for layer in cache.layers:
        for name in ("keys", "values", "_quantized_keys", "_quantized_values", "conv_states", "recurrent_states"):
            value = getattr(layer, name, None)
            # A layer may have several states.
            for one in value.values() if isinstance(value, dict) else (value,):
                if one is not None:
                    yield from _plain(one)


def _plain(tensor: Any) -> Iterator[Any]:
    import torch

    # Quantized tensors wrap others and name them.
    if type(tensor) is not torch.Tensor and hasattr(tensor, "__tensor_flatten__"):
        for name in tensor.__tensor_flatten__()[0]:
            yield from _plain(getattr(tensor, name))
    elif tensor.numel():
        yield tensor
