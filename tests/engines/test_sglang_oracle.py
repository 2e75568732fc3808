"""Our SGLang against SGLang's own radix cache and pools, on random traffic: hits, tokens held and evicted, the tree."""

from __future__ import annotations

from typing import Any

import pytest
from engine_drive import EngineAbsent, first_difference, run_ours, run_real
from engine_goldens import GOLDENS, read_golden
from engine_traffic import sglang_traffic
from fetch_engines import why_not

pytestmark = pytest.mark.oracle

Step = dict[str, Any]


def _real(steps: list[Step]) -> list[Step]:
    if reason := why_not("sglang"):
        pytest.skip(reason)
    try:
        return run_real("sglang", steps)
    except EngineAbsent as absent:
        pytest.skip(f"SGLang's code is here, but cannot be imported: {absent}")


# 4 * 5,250 = 21,000 requests.
@pytest.mark.parametrize("seed", range(100, 104))
def test_no_difference(seed: int) -> None:
    steps = list(sglang_traffic(seed, 5250))
    real = _real(steps)
    assert first_difference(steps, real, list(run_ours(steps))) is None
    # The traffic was worth it: a good part finds something, some is refused, something is evicted on demand.
    sent = sum("request" in step for step in steps)
    assert sent >= 5250
    assert sum(outcome.get("hit", 0) > 0 for outcome in real) > sent / 4
    assert sum(outcome.get("refused", False) for outcome in real) > sent / 20
    assert sum(outcome.get("evicted", 0) > 0 for outcome in real) > 200


@pytest.mark.parametrize("name", [name for name, (engine, *_) in GOLDENS.items() if engine == "sglang"])
def test_goldens_are_what_it_does(name: str) -> None:
    steps, kept = read_golden(name)
    assert first_difference(steps, _real(steps), kept) is None
