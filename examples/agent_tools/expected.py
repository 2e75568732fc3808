"""What this project knows about its template and has decided to live with."""

from __future__ import annotations

from pytest_cachesafe import Accept

REASONING = Accept(
    cause="reasoning_dropped",
    template="Qwen3",
    max_lost_tokens=1500,
    reason="Qwen3 leaves out the reasoning of a run once the user writes again: one run lost per question",
)
