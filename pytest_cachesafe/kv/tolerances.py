"""How far reused and recomputed logits may lie apart: the same sums in another order round otherwise.

Largest difference of any logit, measured on SmolLM2-135M-Instruct (logits of about -10 to 30) on a CPU with torch 2.13
and transformers 5.24, 2026-11; the bounds leave room for other machines.
"""

from __future__ import annotations

from pytest_cachesafe.usage import UsageError

__all__ = ["DTYPES", "tolerance"]

# dtype: bound.
_BOUNDS = {"float32": 1e-3, "bfloat16": 1.0, "float16": 0.25}
DTYPES = tuple(_BOUNDS)


def tolerance(dtype: str, cache: str) -> float | None:
    """Bound on the largest logit difference; None for a quantized cache, which is lossy by intent.

    Raises:
        UsageError: an unknown dtype.
    """
    if dtype not in _BOUNDS:
        raise UsageError(f"dtype={dtype!r}: known are {', '.join(DTYPES)}")
    return None if cache == "quantized" else _BOUNDS[dtype]
