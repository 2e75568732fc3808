"""Greedy decoding behind a cache, and the same tokens looked at without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_cachesafe.kv.forward import Forward

__all__ = ["Decoded", "compare_logits", "decode", "text_gap"]


@dataclass(slots=True)
class Decoded:
    """Tokens in the order chosen, the logits (one row a token) they were chosen by, and seconds of decoding alone."""

    token_ids: list[int] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    seconds: float = 0.0


def decode(
    forward: Forward, logits: Any, cache: Any, number: int, ends: frozenset[int], forced: Sequence[int] | None = None
) -> Decoded:
    """Up to `number` tokens behind `cache`, the first by the prompt's last `logits`.

    Each is computed when the next one is asked for, so that the last has no KV, as in an engine. `forced` are tokens
    to take instead of the model's choice, one a step.
    """
    found = Decoded()
    row = logits[-1]
    wanted = number if forced is None else len(forced)
    for step in range(wanted):
        token = int(row.argmax()) if forced is None else forced[step]
        found.token_ids.append(token)
        found.rows.append(row)
        if step + 1 == wanted or (forced is None and token in ends):
            break
        done = forward([token], cache)
        found.seconds += done.seconds
        row = done.logits[-1]
    return found


def text_gap(token_ids: Sequence[int], rows: Sequence[Any]) -> float:
    """How far a token lies below the best one where it first is not the choice of its row of logits; 0 if it always is.

    Two rows that differ by d at most can choose differently where this is 2 d or less: a near tie.
    """
    for token, row in zip(token_ids, rows, strict=True):
        best = int(row.argmax())
        if token != best:
            return float(row[best] - row[token])
    return 0.0


def compare_logits(ours: Sequence[Any], theirs: Sequence[Any]) -> float:
    """Largest absolute difference of any logit, row by row; infinite where one is no number, in either."""
    # Where both are minus infinity (a token that the model never gives) they agree; their difference is no number.
    found = [
        float((one - other).masked_fill(one == other, 0).abs().max()) for one, other in zip(ours, theirs, strict=True)
    ]
    return max(off if off == off else float("inf") for off in found)
