"""How far reused and recomputed logits may lie apart: the same sums in another order round otherwise.

Largest difference of any logit, measured on SmolLM2-135M-Instruct on a CPU (torch 2.13, transformers 5.24, 2026-11;
prefix of 800 tokens, questions of 10, 8 greedy tokens each): 6.4e-5 in float32 over 20 questions, 0.12 in float16 and
1.2 in bfloat16 over 3. The bounds leave room for other prompts and machines.
"""

from __future__ import annotations

from pytest_cachesafe.usage import UsageError

__all__ = ["DTYPES", "tolerance"]

# dtype: bound.
_BOUNDS = {"float32": 1e-3, "bfloat16": 4.0, "float16": 0.5}
DTYPES = tuple(_BOUNDS)


def tolerance(dtype: str, cache: str) -> float | None:
    """Bound on the largest logit difference; None for a quantized cache, which is lossy by intent.

    Raises:
        UsageError: an unknown dtype.
    """
    if dtype not in _BOUNDS:
        raise UsageError(f"dtype={dtype!r}: known are {', '.join(DTYPES)}")
    return None if cache == "quantized" else _BOUNDS[dtype]
