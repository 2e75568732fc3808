"""Our vLLM against vLLM's own cache manager, on random traffic: hits, blocks, the whole free queue, digests, events."""

from __future__ import annotations

from typing import Any

import pytest
from engine_drive import EngineAbsent, first_difference, run_ours, run_real
from engine_goldens import GOLDENS, read_golden
from engine_traffic import vllm_traffic
from fetch_engines import why_not

pytestmark = pytest.mark.oracle

Step = dict[str, Any]


def _real(steps: list[Step]) -> list[Step]:
    if reason := why_not("vllm"):
        pytest.skip(reason)
    try:
        return run_real("vllm", steps)
    except EngineAbsent as absent:
        pytest.skip(f"vLLM's code is here, but cannot be imported: {absent}")


# 4 * 5,250 = 21,000 requests, then some with everything that can be published.
@pytest.mark.parametrize(
    ("seed", "requests", "options"),
    [
        *((seed, 5250, {}) for seed in range(100, 104)),
        (200, 1500, {"hash": "sha256_cbor", "events": True}),
        (201, 500, {"hash": "sha256_cbor", "none_hash_seed": "7", "events": True, "int_block_hashes": False}),
        (202, 500, {"hash": "sha256", "events": True}),
        (203, 500, {"hash": "xxhash_cbor", "none_hash_seed": "7"}),
    ],
)
def test_no_difference(seed: int, requests: int, options: Step) -> None:
    steps = list(vllm_traffic(seed, requests, **options))
    real = _real(steps)
    assert first_difference(steps, real, list(run_ours(steps))) is None
    # The traffic was worth it: a good part finds something, a good part is refused.
    sent = sum("request" in step for step in steps)
    assert sent >= requests
    assert sum(outcome.get("hit", 0) > 0 for outcome in real) > sent / 3
    assert sum(outcome.get("refused", False) for outcome in real) > sent / 20


@pytest.mark.parametrize("name", [name for name, (engine, *_) in GOLDENS.items() if engine == "vllm"])
def test_goldens_are_what_it_does(name: str) -> None:
    steps, kept = read_golden(name)
    assert first_difference(steps, _real(steps), kept) is None
