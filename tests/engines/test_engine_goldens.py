"""Our engines against what the real ones did, step by step (tests/support/engine_goldens.py wrote it down)."""

from __future__ import annotations

from typing import Any

import pytest
from engine_drive import first_difference, run_ours
from engine_goldens import GOLDENS, read_golden

Step = dict[str, Any]


@pytest.mark.parametrize("name", GOLDENS)
def test_ours_is_what_the_real_engine_did(name: str) -> None:
    steps, real = read_golden(name)
    assert first_difference(steps, real, list(run_ours(steps))) is None


@pytest.mark.parametrize(
    ("name", "change"),
    [
        # The rule of servers before the free-order change.
        ("vllm_units", {"unhashed_first": False}),
        ("vllm_traffic", {"unhashed_first": False}),
        ("vllm_traffic", {"watermark": 0.5}),
        ("vllm_traffic", {"eagle": True}),
        # Another algorithm than the one that made the digests.
        ("vllm_events", {"hash": "canonical"}),
        ("vllm_events", {"none_hash_seed": "0"}),
        ("sglang_traffic", {"policy": "mru"}),
        ("sglang_traffic", {"bigram": True}),
    ],
)
def test_another_rule_is_noticed(name: str, change: Step) -> None:
    steps, real = read_golden(name)
    changed = [{**step, **change} if "engine" in step else step for step in steps]
    assert first_difference(steps, real, list(run_ours(changed))) is not None


@pytest.mark.parametrize("name", ["vllm_traffic", "sglang_traffic"])
def test_traffic_has_what_engines_differ_in(name: str) -> None:
    steps, real = read_golden(name)
    seen = {
        "found": sum(outcome.get("hit", 0) > 0 for outcome in real),
        "refused": sum(outcome.get("refused", False) for outcome in real),
        "grown": sum("append" in step and outcome.get("ok", False) for step, outcome in zip(steps, real, strict=True)),
        "no room": sum(
            "append" in step and outcome.get("ok") is False for step, outcome in zip(steps, real, strict=True)
        ),
        "may not read": sum(step.get("read") is False for step in steps),
        "salted": sum("salt" in step for step in steps),
    }
    assert {what: count for what, count in seen.items() if count < 2} == {}
    if name == "vllm_traffic":
        resumed = [
            outcome for step, outcome in zip(steps, real, strict=True) if "resume" in step and "blocks" in outcome
        ]
        assert len(resumed) > 2


# The numbers that vLLM's own unit tests expect, worked out from the rules; blocks of 16 tokens, blocks 1 to 10 usable.
def test_units_have_the_numbers_of_upstream_tests() -> None:
    steps, real = read_golden("vllm_units")
    starts = [at for at, step in enumerate(steps) if "engine" in step]
    units = {steps[at]["unit"]: real[at:end] for at, end in zip(starts, [*starts[1:], len(steps)], strict=True)}
    prefill = units["prefill"]
    # 55 tokens: blocks 1 to 3 full, 4 holds 7 tokens. Then 53 tokens find 3 * 16 = 48 and take block 5.
    assert [outcome.get("hit") for outcome in prefill[1:]] == [0, 48, None, None, 48, None, 0]
    # Tails 4 and 5 have no key: to the front, the last freed first. 1 to 3 are shared, go last, tail first.
    assert prefill[4]["free"] == [5, 4, 6, 7, 8, 9, 10, 3, 2, 1]
    # Ten blocks for 160 new tokens, in just that order.
    assert prefill[7]["blocks"] == [5, 4, 6, 7, 8, 9, 10, 3, 2, 1]
    evict = units["evict"]
    # 87 tokens: blocks 1 to 5 full, 6 not. 48 tokens: blocks 7 to 9, all full.
    assert evict[3]["free"] == [6, 10, 5, 4, 3, 2, 1]
    assert evict[4]["free"] == [6, 10, 5, 4, 3, 2, 1, 9, 8, 7]
    # 33 tokens find 2 blocks and take one from the front: 10 - 3 = 7 stay free.
    assert (evict[5]["hit"], evict[5]["blocks"], len(evict[5]["free"])) == (32, [1, 2, 6], 7)
    # 16 of 32 tokens found in the only pool of 2 blocks: the found one stays, the other is taken.
    assert units["found blocks are not taken for new ones"][-1] == {"hit": 16, "blocks": [1, 2], "free": []}
    # 144 tokens need 9 blocks; 6 are found (96 tokens), 3 of these are free: 3 + 3 > 5.
    short = units["too few blocks although some are found"][-1]
    assert (short["hit"], short["refused"], len(short["free"])) == (96, True, 5)
    assert [outcome["hit"] for outcome in units["salts"] if "hit" in outcome] == [0, 48, 0]
    assert [outcome["ok"] for outcome in units["reset"] if "ok" in outcome and "blocks" not in outcome] == [
        False, True, True, True,
    ]  # fmt: skip
