"""transformers' dynamic, static and quantized caches: made, copied, cropped, and refused before anything runs."""

from __future__ import annotations

import copy as copying
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal, get_args

from pytest_cachesafe.kv.memory import other_kinds, shape_of, tensors
from pytest_cachesafe.models.errors import need
from pytest_cachesafe.usage import UsageError

__all__ = ["CacheKind", "CacheMaker", "copy", "crop", "fingerprint", "length", "recurrent", "room", "why_not_cropped"]

CacheKind = Literal["dynamic", "static", "quantized"]
KINDS: tuple[str, ...] = get_args(CacheKind)
_QUANTIZED = {"nbits": 4, "axis_key": 0, "axis_value": 0, "q_group_size": 64, "residual_length": 128}


@dataclass(frozen=True)
class CacheMaker:
    """Makes empty caches of one kind for one model.

    `quantized`: options of transformers' QuantizedCache with optimum-quanto (`nbits` 2 or 4, `q_group_size`,
    `axis_key`, `axis_value`, `residual_length`), only for that kind.

    Raises:
        UsageError: an unknown kind or option, optimum-quanto missing, a size that the quantizer refuses.
    """

    kind: str
    config: Any
    quantized: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"cache={self.kind!r}: known are {', '.join(KINDS)}")
        if self.kind == "quantized":
            _check_quantized(self.config, self.quantized)
        elif self.quantized:
            raise UsageError(f"quantized={dict(self.quantized)} is for cache='quantized', not {self.kind!r}")

    def make(self, capacity: int) -> Any:
        """An empty cache with room for `capacity` tokens (only a static one has a bound)."""
        import transformers

        if self.kind == "static":
            return transformers.StaticCache(config=self.config, max_cache_len=capacity)
        if self.kind == "quantized":
            return transformers.QuantizedCache("quanto", self.config, **{**_QUANTIZED, **self.quantized})
        return transformers.DynamicCache(config=self.config)

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Around passes with such a cache: nothing is compiled for it."""
        if self.kind != "quantized":
            yield
            return
        from optimum.quanto.library.extensions.cpp import ext

        # Built at its first call, which takes minutes and a compiler. Same numbers either way.
        if ext._lib is not None:
            yield
            return
        ext._lib = _Unpacker()
        try:
            yield
        finally:
            ext._lib = None


class _Unpacker:
    """Stands for optimum-quanto's compiled library (0.2.7, library/unpack.py): numbers of 2 or 4 bits out of bytes."""

    def unpack(self, packed: Any, bits: int) -> Any:
        """All first numbers, then all second ones, and so on; the lowest bits of a byte are its first number."""
        import torch

        return torch.cat([(packed >> shift) & (2**bits - 1) for shift in range(0, 8, bits)]).to(torch.uint8)


def _check_quantized(config: Any, given: Mapping[str, Any]) -> None:
    unknown = [name for name in given if name not in _QUANTIZED]
    if unknown:
        raise UsageError(f"quantized cache has no option {unknown[0]!r}; known: {', '.join(_QUANTIZED)}")
    options = {**_QUANTIZED, **given}
    if options["nbits"] not in (2, 4):
        raise UsageError(f"nbits={options['nbits']!r}: optimum-quanto stores keys and values in 2 or 4 bits")
    for name in ("q_group_size", "residual_length"):
        value = options[name]
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise UsageError(f"{name}={value!r}: a whole number, at least 1")
    if other := other_kinds(config):
        raise UsageError(f"cache='quantized' is for keys and values of all tokens, not for layers of kind {other[0]}")
    _, heads, size = shape_of(config)
    for name in ("axis_key", "axis_value"):
        if options[name] not in (0, -1):
            raise UsageError(f"{name}={options[name]!r}: 0 or -1")
        # optimum-quanto 0.2.7, tensor/grouped.py: the group must divide the elements of a tensor over its axis. Over
        # axis 0 these are KV heads x tokens x head size, over -1 KV heads x tokens; tokens may be any number.
        row, words = (
            (heads * size, f"{heads} KV heads x head size {size}") if options[name] == 0 else (heads, "KV heads")
        )
        if row % options["q_group_size"]:
            fits = [n for n in (128, 64, 32, 16, 8, 4, 2, 1) if row % n == 0]
            raise UsageError(
                f"q_group_size={options['q_group_size']} does not divide {row} ({words}, {name}={options[name]}):"
                f" prompts of most lengths would be refused; take q_group_size={fits[0]}"
            )
    need("optimum.quanto", "quantized", "a quantized cache")


def length(cache: Any) -> int:
    """Tokens whose keys and values it holds."""
    return int(cache.get_seq_length())


def room(cache: Any) -> int | None:
    """For how many tokens a static cache has room; None for one that grows."""
    return max((size for layer in cache.layers if (size := getattr(layer, "max_cache_len", None))), default=None)


def recurrent(cache: Any) -> bool:
    """Whether some layer keeps a state that every token goes into, which no cut takes out again."""
    return any(hasattr(layer, "is_conv_states_initialized") for layer in cache.layers)


def copy(cache: Any) -> Any:
    """A private copy: nothing that is done with it shows in the other."""
    if any(hasattr(layer, "_quantized_keys") for layer in cache.layers):
        # Cloned, packed tensors come out unpacked. Such layers never write into a tensor: they take a new one.
        private = copying.copy(cache)
        private.layers = [copying.copy(layer) for layer in cache.layers]
        return private
    return copying.deepcopy(cache)


def crop(cache: Any, to: int) -> bool:
    """Cut back to the first `to` tokens; False, and nothing done, where the cache cannot forget its end."""
    surplus = length(cache) - to
    if surplus == 0:
        return True
    croppable = getattr(cache, "is_croppable", None)
    if croppable is None:
        # transformers before 5.24: what cannot be cropped has no method, or keeps packed tensors that it would forget.
        croppable = all(hasattr(layer, "crop") and not hasattr(layer, "_quantize") for layer in cache.layers)
    # Recurrent states: left as they are before 5.24, and taken back since then only where their past was recorded.
    croppable = croppable and not recurrent(cache)
    # Asked of all layers first: a crop that fails on the way leaves layers of different lengths.
    windows = [getattr(layer, "sliding_window", None) for layer in cache.layers if getattr(layer, "is_sliding", False)]
    if not croppable or any(window is None or length(cache) >= window for window in windows):
        return False
    # Negative: as many tokens off the end. A positive number meant the length to keep and is refused since 5.24.
    cache.crop(-surplus)
    return True


def why_not_cropped(cache: Any, name: str) -> str:
    """Why `crop` gave False, in words."""
    if room(cache) is not None and not all(hasattr(layer, "crop") for layer in cache.layers):
        from importlib.metadata import version

        return f"transformers {version('transformers')} cannot cut back a static cache (5.24 can)"
    return f"the cache of {name} cannot be cut back"


def fingerprint(cache: Any, tokens: int) -> str:
    """SHA-256 over the keys and values of the first `tokens` tokens: whether somebody wrote into them.

    Of packed tensors, which hold no single token, all is taken.
    """
    import torch

    digest = sha256()
    for tensor in tensors(cache):
        # Batch, KV heads, tokens, head size.
        part = tensor[:, :, :tokens] if tensor.dim() == 4 and tensor.dtype.is_floating_point else tensor
        digest.update(part.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
