"""vLLM's cache against a slow model of the same rules, over random traffic."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_vllm import NaiveVllm
from tries import tries

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.engines.vllm.manager import VllmCache

# Few values and short prompts, so that prefixes, duplicates and refusals are common.
OPTIONS = st.fixed_dictionaries(
    {
        "block_size": st.sampled_from([1, 1, 2, 3, 4, 8]),
        "num_blocks": st.integers(2, 14),
        "caching": st.sampled_from([True] * 7 + [False]),
        "unhashed_first": st.sampled_from([True, True, False]),
        "watermark": st.sampled_from([0.0, 0.0, 0.3]),
        "scheduler_reserve_full_isl": st.booleans(),
        "eagle": st.sampled_from([False] * 5 + [True]),
    }
)
STEP = st.tuples(
    st.sampled_from(
        ["request"] * 6 + ["append"] * 4 + ["free"] * 5 + ["preempt", "resume", "resume", "prefill", "reset"]
    ),
    # Which prompt or request, how many tokens, and the rarer choices.
    st.integers(0, 30),
    st.integers(0, 12),
    st.integers(0, 11),
)


class Pair:
    """The same steps in both, compared after each."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.fast = PrefixCache("vllm", **options)
        assert isinstance(self.fast, VllmCache)
        others = {name: value for name, value in options.items() if name != "scheduler_reserve_full_isl"}
        self.slow = NaiveVllm(**others, reserve=options["scheduler_reserve_full_isl"])
        self.pairs: list[tuple[Any, Any]] = []
        self.texts: list[list[int]] = [[]]
        self.usable = options["num_blocks"] - 1

    def request(self, which: int, length: int, choice: int) -> None:
        # A text that was there before, cut somewhere, and something new behind it.
        text = self.texts[which % len(self.texts)]
        tokens = text[: len(text) - choice % 3] + [(which + i) % 3 for i in range(length)] or [7]
        more: dict[str, Any] = {"salt": [None, None, None, "a", "b", ""][choice % 6], "read": choice % 7 != 6}
        more["lora"] = [None, None, None, ("x", "/x"), ("x", "/y")][which % 5]
        if choice == 5:
            more["mm"] = [("image", len(tokens) - 1 - length // 2, 1), ("other", 0, max(1, (len(tokens) - 1) // 3))][
                : 1 + (len(tokens) > 4)
            ]
            more["mm"] = [item for item in more["mm"] if item[1] + item[2] <= len(tokens) and item[1] >= 0]
            ends = sorted(more["mm"], key=lambda item: item[1])
            if len(ends) == 2 and ends[0][1] + ends[0][2] > ends[1][1]:
                more["mm"] = ends[:1]
        if choice in (3, 8):
            more["prefill"] = 1 + which % 4
        free = self.state()
        fast, slow = self.fast.request(tokens, **more), self.slow.request(tokens, **more)
        assert fast.admitted == (slow.state != "refused")
        assert fast.cached_tokens == slow.cached_tokens < len(tokens)
        assert self.fast.queries == self.slow.queries
        assert self.fast.hits == self.slow.hits
        if fast.admitted:
            self.pairs.append((fast, slow))
            self.texts.append(slow.tokens)
        else:
            assert fast.refused
            assert self.state() == free

    def state(self) -> Any:
        refs = [self.fast.ref_count(block) for block in range(self.usable + 1)]
        return self.fast.free_block_ids, refs, self.fast.num_free_blocks

    def step(self, what: str, which: int, length: int, choice: int) -> None:
        if what == "request":
            self.request(which, length, choice)
        elif what == "reset":
            assert self.fast.reset() == self.slow.reset()
        elif self.pairs:
            at = which % len(self.pairs)
            fast, slow = self.pairs[at]
            state = slow.state
            if what == "free":
                fast.free()
                self.slow.free(slow)
                del self.pairs[at]
            elif state == "preempted":
                if what == "resume":
                    prefill = 1 + length if choice < 3 else None
                    done = self.slow.resume(slow, prefill)
                    slow.pending = False
                    assert fast.resume(prefill) == done
                    assert self.fast.preempted_hits == self.slow.preempted_hits
            elif what == "preempt":
                fast.preempt()
                self.slow.preempt(slow)
                slow.pending = False
            elif what == "prefill" or slow.computed < len(slow.tokens) - getattr(slow, "pending", False):
                left = len(slow.tokens) - slow.computed
                if left > getattr(slow, "pending", False):
                    tokens = min(left, 1 + choice)
                    assert fast.prefill(1 + choice) == self.slow.step(slow, tokens)
            elif what == "append":
                sampled = [(which + i) % 3 for i in range(length)]
                done = self.slow.append(slow, sampled)
                assert fast.append(sampled) == done
                if sampled and done:
                    slow.pending = True

    def check(self) -> None:
        fast, slow = self.fast, self.slow
        assert fast.free_block_ids == tuple(slow.queue)
        assert fast.num_free_blocks == len(slow.queue)
        live = {block for _, request in self.pairs for block in request.blocks}
        # Nothing is lost and nothing is there twice.
        assert sorted([*fast.free_block_ids, *live]) == list(range(1, self.usable + 1))
        for block in range(1, self.usable + 1):
            assert fast.ref_count(block) == slow.refs[block]
        for one, other in self.pairs:
            assert list(one.block_ids) == other.blocks
            assert one.num_computed_tokens == other.computed
            assert one.cached_tokens == other.cached_tokens
            assert one.token_ids == other.tokens
        kept = fast._pool.sizes()
        assert kept["keys"] <= 3 * self.usable
        assert kept["queue"] <= 4 * self.usable + 70


@pytest.mark.parametrize("seed", range(6))
def test_equal_to_the_slow_model_over_long_runs(seed: int) -> None:
    """Long enough for duplicates whose first block was evicted, and compared now and then only."""
    random = Random(seed)
    pair = Pair(
        {
            "block_size": random.choice([1, 2, 4]),
            "num_blocks": random.randint(8, 30),
            "caching": True,
            "unhashed_first": seed % 3 > 0,
            "watermark": 0.0,
            "scheduler_reserve_full_isl": True,
            "eagle": seed == 5,
        }
    )
    kinds = ["request"] * 6 + ["append"] * 3 + ["free"] * 6 + ["preempt", "resume", "resume"]
    for at in range(600):
        pair.step(random.choice(kinds), random.randint(0, 30), random.randint(0, 12), random.randint(0, 11))
        if at % 20 == 0:
            pair.check()


@settings(deadline=None, max_examples=tries(200))
@given(OPTIONS, st.lists(STEP, max_size=60))
def test_equal_to_the_slow_model_after_every_step(options: dict[str, Any], steps: list[Any]) -> None:
    pair = Pair(options)
    for step in steps:
        pair.step(*step)
        pair.check()
