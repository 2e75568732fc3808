"""What of real prompts vLLM's cache finds again, and what long logs cost."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.engines.vllm.manager import VllmCache
from pytest_cachesafe.models import load_tokenizer


@pytest.fixture(scope="module")
def encode(smollm2_tokenizer_dir: Path) -> Any:
    backend = load_tokenizer(str(smollm2_tokenizer_dir)).backend
    return lambda text: backend.encode(text, add_special_tokens=False).ids


def common(one: list[int], other: list[int]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def reused(first: list[int], second: list[int], **options: Any) -> int:
    cache = PrefixCache("vllm", **options)
    cache.request(first).free()
    return cache.request(second).cached_tokens


def test_prompts_shorter_than_a_block_share_nothing(encode: Any) -> None:
    # eng-02: 10 tokens each, 8 of them the same.
    first = encode("Answer briefly. Be polite. What is DNS?")
    second = encode("Answer briefly. Be polite. What is TCP?")
    assert (len(first), len(second), common(first, second)) == (10, 10, 8)
    assert reused(first, second, block_size=16) == 0
    # With blocks of 4, two whole ones: 8 tokens.
    assert reused(first, second, block_size=4) == 8


def test_a_warm_up_under_another_salt_warms_nothing(encode: Any) -> None:
    # eng-06: equal ids, other salt.
    ids = encode("You are a helpful agent. " * 20)
    cache = PrefixCache("vllm")
    cache.request(ids, salt="raw-context").free()
    assert cache.request(ids, salt="prepared-context").cached_tokens == 0
    assert cache.request(ids, salt="raw-context").cached_tokens == (len(ids) - 1) // 16 * 16 > 0


def test_chunks_in_another_order_are_lost(encode: Any) -> None:
    # eng-08: 66 tokens each, the first 5 the same.
    parts = [f"chunk {n}: some policy text about topic {n} and its limits." for n in range(1, 5)]
    first = encode("\n".join(["Rules.", *parts]))
    second = encode("\n".join(["Rules.", parts[1], parts[0], *parts[2:]]))
    assert (len(first), len(second), common(first, second)) == (66, 66, 5)
    assert reused(first, second, block_size=16) == 0
    # In one order always: (66 - 1) // 16 = 4 blocks.
    assert reused(first, first, block_size=16) == 64


TOKENS = st.lists(st.integers(0, 1), min_size=1, max_size=40)


@settings(deadline=None)
@given(st.lists(TOKENS, min_size=1, max_size=12), st.integers(1, 5))
def test_without_eviction_every_whole_block_seen_before_is_found(prompts: list[list[int]], block_size: int) -> None:
    cache = PrefixCache("vllm", block_size=block_size)
    for at, prompt in enumerate(prompts):
        # Shared full blocks with the likest prompt before, cut so that a token is left.
        best = max((common(prompt, other) for other in prompts[:at]), default=0)
        expected = min(best, len(prompt) - 1) // block_size * block_size
        request = cache.request(prompt)
        assert request.cached_tokens == expected
        if at % 2:
            request.free()


@settings(deadline=None)
@given(st.lists(TOKENS, min_size=1, max_size=12), TOKENS)
def test_looking_up_changes_nothing(prompts: list[list[int]], wanted: list[int]) -> None:
    asked, silent = (PrefixCache("vllm", block_size=2, num_blocks=30) for _ in range(2))
    assert isinstance(asked, VllmCache)
    assert isinstance(silent, VllmCache)
    for prompt in prompts:
        found = asked.lookup(wanted)
        assert found == asked.lookup(wanted) < len(wanted)
        for cache in (asked, silent):
            cache.request(prompt).free()
        assert asked.free_block_ids == silent.free_block_ids
    assert (asked.queries, asked.hits) == (silent.queries, silent.hits)
    found = asked.lookup(wanted)
    request = asked.request(wanted)
    assert request.cached_tokens == found


@pytest.mark.parametrize("kind", ["all new", "last block again", "all found"])
def test_memory_is_bounded_by_the_pool_not_by_the_log(kind: str) -> None:
    cache = PrefixCache("vllm", block_size=4, num_blocks=151)

    def serve(start: int, count: int) -> None:
        for n in range(start, start + count):
            # 30 whole blocks, of which the last one is always computed again; or 29 of them and 2 tokens.
            tokens = [n if kind == "all new" else 0, *range(119)]
            request = cache.request(tokens[:118] if kind == "all found" else tokens)
            request.append([1])
            request.free()

    serve(0, 300)
    tracemalloc.start()
    try:
        serve(300, 200)
        before = tracemalloc.get_traced_memory()[0]
        serve(500, 1000)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    # 1,000 requests of 30 blocks: one word each would be 240 kB.
    assert after - before < 40_000


def test_a_pool_without_end_grows_with_what_is_new_only() -> None:
    cache = PrefixCache("vllm", block_size=4)
    # 30 blocks: of tuples of up to 20 items the interpreter itself keeps some thousands.
    tracemalloc.start()
    try:
        for _ in range(200):
            cache.request(list(range(122))).free()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(2000):
            cache.request(list(range(122))).free()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 20_000
