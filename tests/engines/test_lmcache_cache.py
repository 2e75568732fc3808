"""LMCache behind vLLM: which chunks are stored and what they add."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from naive_lmcache import NaiveLMCache
from tries import tries

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.engines.lmcache.chunk_store import LMCacheCache, LMCacheRequest
from pytest_cachesafe.engines.lmcache.store import POLICIES
from pytest_cachesafe.usage import UsageError


def lmcache(**options: object) -> LMCacheCache:
    made = PrefixCache("lmcache", **options)
    assert isinstance(made, LMCacheCache)
    return made


def send(cache: LMCacheCache, ids: list[int], **more: object) -> LMCacheRequest:
    request = cache.request(ids, **more)
    request.free()
    return request


def parts(request: LMCacheRequest) -> tuple[int, int, int]:
    return request.engine_tokens, request.external_tokens, request.cached_tokens


def test_whole_chunks_of_the_prompt_outlive_the_blocks() -> None:
    cache = lmcache()
    send(cache, list(range(600)))
    # 2 chunks of 256; the other 88 tokens are dropped.
    assert cache.cached_token_count == 512
    assert cache.vllm.reset()
    assert parts(send(cache, list(range(600)))) == (0, 512, 512)


def test_only_what_goes_beyond_the_blocks_is_added() -> None:
    cache = lmcache()
    send(cache, list(range(600)))
    # 600 = 37 * 16 + 8: vLLM itself finds 592, more than LMCache's 512.
    assert parts(send(cache, list(range(600)))) == (592, 0, 592)


def test_a_prompt_found_as_a_whole_computes_its_last_token() -> None:
    cache = lmcache()
    send(cache, list(range(512)))
    cache.vllm.reset()
    assert parts(send(cache, list(range(512)))) == (0, 511, 511)
    # vLLM's hit ends 16 tokens before the end; LMCache adds 512 - 496 - 1.
    assert parts(send(cache, list(range(512)))) == (496, 15, 511)


def test_a_prompt_below_a_chunk_is_not_stored() -> None:
    cache = lmcache()
    send(cache, list(range(255)))
    assert cache.cached_token_count == 0
    cache = lmcache(save_unfull_chunk=True)
    send(cache, list(range(255)))
    assert cache.cached_token_count == 255
    cache.vllm.reset()
    assert parts(send(cache, list(range(255)))) == (0, 254, 254)
    # The end of a prompt is found by a prompt that ends there, and by no longer one.
    cache.vllm.reset()
    assert parts(send(cache, list(range(256)))) == (0, 0, 0)


def test_chunks_are_chained() -> None:
    cache = lmcache()
    send(cache, [*range(256), *range(1000, 1256)])
    cache.vllm.reset()
    # The second chunk alone, and after another first one, is not found.
    assert parts(send(cache, list(range(1000, 1300)))) == (0, 0, 0)
    assert parts(send(cache, [*range(1, 257), *range(1000, 1256)])) == (0, 0, 0)


def test_too_little_to_be_worth_loading_is_computed() -> None:
    ids = list(range(300))
    for least, added in ((256, 256), (257, 0)):
        cache = lmcache(min_retrieve_tokens=least)
        send(cache, ids)
        cache.vllm.reset()
        assert send(cache, ids).external_tokens == added


def test_replies_are_stored_if_asked_for() -> None:
    for saves, held in ((False, 256), (True, 512)):
        cache = lmcache(save_decode_cache=saves)
        request = cache.request(list(range(300)))
        # 300 + 213 - 1 = 512 computed: the second chunk is full.
        assert request.append(list(range(213)))
        request.free()
        assert cache.cached_token_count == held


def test_prefill_in_chunks_stores_whole_chunks_as_they_are_computed() -> None:
    cache = lmcache()
    request = cache.request(list(range(600)), prefill=300)
    assert cache.cached_token_count == 256
    assert request.prefill()
    assert cache.cached_token_count == 512


def test_the_oldest_chunks_go_and_a_prefix_outlives_what_follows_it() -> None:
    cache = lmcache(capacity=1024)
    first, second = list(range(768)), list(range(5000, 5256))
    send(cache, first)
    send(cache, second)
    assert cache.cached_token_count == 1024
    # The look-up touches the third chunk of `first` before the second and the first.
    cache.vllm.reset()
    assert send(cache, first).external_tokens == 767
    # One new chunk pushes out the other prompt, the next one the end of the first.
    send(cache, list(range(6000, 6256)))
    cache.vllm.reset()
    assert send(cache, second).external_tokens == 0
    cache.vllm.reset()
    assert send(cache, first).external_tokens == 512


def test_more_than_fits_is_stored_from_the_front() -> None:
    cache = lmcache(capacity=600)
    send(cache, list(range(1024)))
    # 2 chunks of 256 are within 600, a third is not.
    assert cache.cached_token_count == 512
    cache.vllm.reset()
    assert send(cache, list(range(1024))).external_tokens == 512


def test_a_refused_request_stores_nothing() -> None:
    cache = lmcache(num_blocks=11)
    request = send(cache, list(range(300)))
    assert not request.admitted
    assert request.refused is not None
    assert cache.cached_token_count == 0


def test_salts_and_adapters_are_not_in_the_keys() -> None:
    cache = lmcache()
    ids = list(range(512))
    send(cache, ids, salt="a")
    other = send(cache, ids, salt="b")
    # vLLM keeps salts apart, LMCache does not: 512 found, one computed, all of it stored under another salt.
    assert parts(other) == (0, 511, 511)
    assert other.foreign_tokens == 511
    assert send(cache, ids, lora="x").foreign_tokens == 511
    same = send(cache, ids, salt="a")
    assert parts(same) == (496, 15, 511)
    assert same.foreign_tokens == 0


def test_tags_and_the_mp_connector_keep_requests_apart() -> None:
    ids = list(range(512))
    cache = lmcache()
    send(cache, ids, tags={"user": "a"})
    cache.vllm.reset()
    assert send(cache, ids, tags={"user": "b"}).external_tokens == 0
    cache.vllm.reset()
    assert send(cache, ids, tags={"user": "a"}).external_tokens == 511
    cache = lmcache(connector="mp")
    send(cache, ids, salt="a")
    assert send(cache, ids, salt="b").external_tokens == 0
    cache.vllm.reset()
    assert send(cache, ids, salt="a").external_tokens == 511


def test_requests_that_may_not_read_still_write() -> None:
    cache = lmcache()
    ids = list(range(512))
    assert parts(send(cache, ids, read=False)) == (0, 0, 0)
    cache.vllm.reset()
    assert parts(send(cache, ids, read=False)) == (0, 0, 0)
    assert cache.cached_token_count == 512


def test_images_are_part_of_the_keys() -> None:
    cache = lmcache()
    ids = [7] * 600
    send(cache, ids, mm=[("image-1", 300, 100)])
    cache.vllm.reset()
    # The first chunk has no image in it.
    assert send(cache, ids, mm=[("image-2", 300, 100)]).external_tokens == 256
    cache.vllm.reset()
    assert send(cache, ids, mm=[("image-1", 300, 100)]).external_tokens == 512


@pytest.mark.parametrize("kind", ["hybrid", "recurrent"])
def test_hybrid_models_reuse_nothing_and_say_why(kind: str) -> None:
    cache = lmcache(model_type=kind)
    first = list(range(561))
    send(cache, first)
    assert send(cache, [*first, 1, 2, 3]).cached_tokens == 0
    assert cache.limits is not None


def test_reset_forgets_blocks_and_chunks() -> None:
    cache = lmcache()
    live = cache.request(list(range(512)))
    assert not cache.reset()
    live.free()
    assert cache.reset()
    assert cache.cached_token_count == 0
    assert send(cache, list(range(512))).cached_tokens == 0


def test_unbounded_never_evicts() -> None:
    cache = lmcache(capacity=256, num_blocks=30, chunk_size=128).unbounded()
    assert isinstance(cache, LMCacheCache)
    assert (cache.chunk_size, cache.capacity, cache.vllm.num_blocks) == (128, None, None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"chunk_size": 0}, "chunk_size=0"),
        ({"capacity": 255}, "capacity=255: a whole number, at least 256"),
        ({"cache_policy": "arc"}, "cache_policy='arc': one of lru"),
        ({"connector": "v2"}, "connector='v2': one of v1, mp"),
        ({"connector": "mp", "capacity": 1000}, "goes without capacity"),
        ({"min_retrieve_tokens": -1}, "min_retrieve_tokens=-1"),
        ({"block_size": 0}, "block_size=0"),
        ({"page_size": 16}, "no option 'page_size'"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        lmcache(**options)
    assert "\n" not in str(caught.value)


@settings(deadline=None, max_examples=tries(150))
@given(
    chunk=st.integers(1, 4),
    room=st.none() | st.integers(1, 6),
    policy=st.sampled_from(POLICIES),
    unfull=st.booleans(),
    least=st.integers(0, 4),
    steps=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 12), st.lists(st.integers(0, 2), max_size=9)), max_size=25
    ),
)
def test_equal_to_the_plain_model(
    chunk: int, room: int | None, policy: str, unfull: bool, least: int, steps: list[tuple[int, int, list[int]]]
) -> None:
    capacity = None if room is None else room * chunk
    ours = lmcache(
        chunk_size=chunk,
        capacity=capacity,
        cache_policy=policy,
        save_unfull_chunk=unfull,
        min_retrieve_tokens=least,
        block_size=3,
    )
    plain = NaiveLMCache(chunk, capacity, policy, unfull, least)
    texts: list[list[int]] = [[]]
    for what, pick, ids in steps:
        prompt = texts[pick % len(texts)][: 2 + pick] + ids
        if not prompt:
            continue
        texts.append(prompt)
        if what == 9:
            assert ours.vllm.reset()
        engine = ours.vllm.lookup(prompt)
        mine = send(ours, prompt)
        hit = plain.look_up(prompt)
        added = plain.adds(prompt, hit, engine)
        plain.saves(prompt, hit)
        assert parts(mine) == (engine, added, engine + added)
        assert 0 <= mine.cached_tokens < len(prompt)
        assert ours.cached_token_count == plain.used()
        assert len(ours.store) == len(plain.chunks)
        assert capacity is None or ours.cached_token_count <= capacity
