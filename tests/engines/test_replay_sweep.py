"""Several caches in one read: each as if it had been run alone; what follows in words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe import UsageError, replay
from pytest_cachesafe.engines.replay.sweep import parse_sweeps

Prompts = st.lists(
    st.builds(
        lambda ids, salt: {"prompt_token_ids": ids, "salt": salt},
        st.lists(st.integers(0, 1), min_size=1, max_size=30),
        st.sampled_from([None, "a"]),
    ),
    min_size=1,
    max_size=25,
)


@settings(deadline=None)
@given(Prompts, st.integers(1, 3))
def test_every_cache_is_as_if_alone(prompts: list[dict[str, Any]], live: int) -> None:
    sweep = {"blocks": [12, 40, "unlimited"], "block_size": [2, 4], "salt": ["none"]}
    report = replay(prompts, block_size=2, num_blocks=40, live=live, sweep=sweep)
    assert len(report.sweep) == 3 * 2 * 2
    unsalted = [{**one, "salt": None} for one in prompts]
    for point in report.sweep:
        alone = replay(
            prompts if point.salts else unsalted,
            block_size=point.block_size,
            num_blocks=point.num_blocks,
            live=live,
            strict=False,
        )
        assert (point.totals, point.too_large) == (alone.totals, alone.skipped)


def test_a_prompt_that_only_some_hold() -> None:
    report = replay([[1] * 40, [2] * 4], block_size=4, num_blocks=20, sweep={"blocks": [3, 20]})
    assert [(point.num_blocks, point.totals.requests, point.too_large) for point in report.sweep] == [
        (3, 1, 1),
        (20, 2, 0),
    ]
    assert "too large" in report.text()


def test_block_sizes_keep_the_pool_in_tokens() -> None:
    # Usable are 16 blocks of 16 tokens; with blocks of 32 that is 8, with 64 it is 4, each with the null block.
    report = replay([[1] * 40], block_size=16, num_blocks=17, sweep={"block_size": [16, 32, 64]})
    assert [(point.block_size, point.num_blocks) for point in report.sweep] == [(16, 17), (32, 9), (64, 5)]


def test_advice_on_the_pool() -> None:
    a, b, c = (list(range(start, start + 9)) for start in (0, 100, 200))
    log = [a, b, c] * 4
    # Each prompt takes 3 blocks of 4: with 3 usable blocks nothing is left of the one before. Nine hold all: 9 prompts
    # find 8 tokens each.
    report = replay(log, block_size=4, num_blocks=4, sweep={"blocks": [4, 10, 20, 40]})
    assert [point.totals.cached_tokens for point in report.sweep] == [0, 72, 72, 72]
    assert "from 10 blocks on nothing more is gained (66.7% reused)" in report.advice
    short = replay(log, block_size=4, num_blocks=4, sweep={"blocks": [4, "unlimited"]})
    assert "without a limit 66.7% would be reused" in short.advice[0]
    growing = replay(log, block_size=4, num_blocks=4, sweep={"blocks": [4, 7]})
    assert growing.advice[0].startswith("the largest pool of the sweep reuses most")
    # A pool that does not take every prompt is not the one that is enough.
    mixed = replay([*log, list(range(1000, 1040))], block_size=4, num_blocks=40, sweep={"blocks": [10, 20, 40]})
    assert [point.too_large for point in mixed.sweep] == [1, 0, 0]
    assert mixed.advice[0].startswith("from 20 blocks on nothing more is gained")
    alone = replay(log, block_size=4, num_blocks=4)
    assert any("72 tokens (66.7%) had been computed before and were gone" in words for words in alone.advice)


def test_advice_on_block_size_and_salt() -> None:
    ids = list(range(40))
    log = [{"prompt_token_ids": ids, "salt": salt} for salt in ("a", "b", "b")]
    report = replay(log, block_size=32, sweep={"salt": ["none"]})
    # With salts the third finds the second: 32 tokens; without, two prompts find the first: 64.
    assert report.cached_tokens == 32
    assert any(words.startswith("salts cost 32 reused tokens (26.7%)") for words in report.advice)
    sizes = replay([ids, ids], block_size=32, sweep={"block_size": [8, 16, 32]})
    # 39 tokens may be found: 32 with blocks of 8, of 16 and of 32.
    assert "no other block size of the sweep reuses more than 32" in sizes.advice
    finer = replay([ids, ids], block_size=64, sweep={"block_size": [8, 64]})
    assert "block size 8 would reuse 32 tokens more (40.0%)" in finer.advice


def test_turn_it_off_on_unique_traffic_alone() -> None:
    unique = replay([[i * 50 + j for j in range(50)] for i in range(200)])
    assert "can be turned off (estimate:" in unique.advice[-1]
    shared = replay([[*range(32), 1000 + i] for i in range(200)])
    assert shared.advice == []
    few = replay([[i * 50 + j for j in range(50)] for i in range(20)])
    assert few.advice == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("blocks", "AXIS=V1,V2"),
        ("block=1", "did you mean 'block"),
        ("blocks=many", "'many' is no whole number"),
        ("blocks=-5", "'-5' is no whole number"),
        ("colour=red", "known: blocks, block_size, salt"),
    ],
)
def test_sweeps_that_are_none(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_sweeps([text])


@pytest.mark.parametrize(
    ("sweep", "says"),
    [
        ({"blocks": [0]}, "blocks=0"),
        ({"blocks": [1]}, "num_blocks=1"),
        ({"blocks": [2.5]}, "blocks=2.5"),
        ({"block_size": [True]}, "block_size=True"),
        ({"blocks": []}, "at least one"),
        ({"blocks": 5}, "a list of values"),
        ({"salt": ["maybe"]}, "'maybe'"),
        ({"pool": [1]}, "no axis 'pool'"),
        ({"blocks": list(range(2, 100))}, "at most 64"),
    ],
)
def test_sweeps_that_cannot_be(sweep: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        replay([[1, 2, 3]], sweep=sweep)
