"""SGLang's radix cache: what is found, what stays, what goes."""

from __future__ import annotations

import random

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from naive_sglang import NaiveSglang, Sent

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.engines.sglang.eviction import POLICIES
from pytest_cachesafe.engines.sglang.radix_cache import SglangCache, SglangRequest
from pytest_cachesafe.usage import UsageError

NO_NAMES = (None, None, None, None)


def sglang(**options: object) -> SglangCache:
    made = PrefixCache("sglang", **options)
    assert isinstance(made, SglangCache)
    return made


def send(cache: SglangCache, ids: list[int], reply: list[int] | None = None, **more: object) -> int:
    """A whole request; how much it found."""
    request = cache.request(ids, **more)
    if reply:
        request.append(reply)
    request.free()
    return request.cached_tokens


def test_an_identical_prompt_finds_all_but_its_last_token() -> None:
    cache = sglang()
    assert send(cache, list(range(64))) == 0
    # 64 tokens, at least the last one is computed.
    assert send(cache, list(range(64))) == 63


@pytest.mark.parametrize(("page", "found"), [(1, 63), (16, 48), (64, 0)])
def test_hits_are_cut_to_whole_pages_of_all_but_the_last_token(page: int, found: int) -> None:
    cache = sglang(page_size=page)
    send(cache, list(range(64)))
    # floor(63 / page) * page
    assert send(cache, list(range(64))) == found


def test_the_last_sampled_token_is_not_cached() -> None:
    cache = sglang()
    request = cache.request([1, 2, 3])
    request.append([4, 5])
    request.append([6])
    request.free()
    # KV of 1 … 5; 6 was sampled and never computed.
    assert cache.cached_token_count == 5
    assert send(cache, [1, 2, 3, 4, 5, 6, 7, 8]) == 5


def test_a_reply_is_a_node_of_its_own_so_that_it_goes_without_the_prompt() -> None:
    cache = sglang()
    send(cache, [1, 2, 3], [4, 5, 6])
    assert cache.paths() == [(NO_NAMES, ((1, 2, 3), (4, 5)))]
    assert cache.evict(1) == 2
    assert cache.paths() == [(NO_NAMES, ((1, 2, 3),))]


def test_a_look_up_splits_a_node_where_it_ends() -> None:
    cache = sglang()
    send(cache, [1, 2, 3, 4, 5])
    live = cache.request([1, 2, 9])
    assert live.cached_tokens == 2
    assert cache.paths() == [(NO_NAMES, ((1, 2), (3, 4, 5))), (NO_NAMES, ((1, 2), (9,)))]
    # The live request needs 1, 2 and 9.
    assert (cache.protected_tokens, cache.evictable_tokens) == (3, 3)
    live.free()
    assert (cache.protected_tokens, cache.evictable_tokens) == (0, 6)


def test_whole_leaves_go_even_if_less_was_asked_for_oldest_first() -> None:
    cache = sglang()
    send(cache, [1] * 10)
    send(cache, [2] * 20)
    send(cache, [1] * 10)
    # The prompt of ones was used again; asked for 1 token, the 20 of the other leaf go.
    assert cache.evict(1) == 20
    assert cache.lookup([1] * 10) == 9


def test_lfu_keeps_what_many_requests_sent() -> None:
    first = {}
    for policy in ("lru", "lfu"):
        cache = sglang(policy=policy)
        send(cache, [1] * 4)
        send(cache, [1] * 4)
        send(cache, [2] * 4)
        assert cache.evict(4) == 4
        first[policy] = 2 if cache.lookup([2] * 5) == 0 else 1
    # Twos were sent last, but only once.
    assert first == {"lru": 1, "lfu": 2}


def test_a_prompt_is_refused_when_live_requests_leave_no_room() -> None:
    cache = sglang(capacity=10)
    live = cache.request([1] * 8)
    refused = cache.request([2] * 3)
    assert live.admitted
    assert not refused.admitted
    assert refused.refused == "3 tokens need room for 3, 2 of 10 can be had"
    # What the live one holds in the tree is shared: 7 of these tokens are there, 2 more fit.
    assert cache.request([1] * 9).admitted
    live.free()
    refused.free()


def test_append_that_does_not_fit_appends_nothing() -> None:
    cache = sglang(capacity=4)
    request = cache.request([1, 2, 3])
    # 3 computed; the fourth fits, a fifth does not.
    assert request.append([4, 5])
    assert not request.append([6])
    assert request.token_ids == [1, 2, 3, 4, 5]


def test_append_evicts_what_is_not_needed() -> None:
    cache = sglang(capacity=6)
    send(cache, [9, 9])
    request = cache.request([1, 2, 3])
    assert cache.cached_token_count == 5
    assert request.append([4, 5])
    # 3 + 1 computed and the 2 nines are 6.
    assert cache.lookup([9, 9, 9]) == 2
    assert request.append([6])
    assert cache.lookup([9, 9, 9]) == 0


def test_namespaces_share_nothing() -> None:
    cache = sglang()
    ids = [1, 2, 3, 4]
    names: list[dict[str, object]] = [
        {},
        {"salt": "a"},
        {"salt": "b"},
        {"lora": "a"},
        {"extra_key": "a"},
        {"extra_key": "a", "salt": "a"},
        {"lora": ("a", "/a")},
    ]
    assert [send(cache, ids, **name) for name in names] == [0] * len(names)
    assert [send(cache, ids, **name) for name in names] == [3] * len(names)


def test_a_salt_that_is_empty_is_none() -> None:
    cache = sglang()
    send(cache, [1, 2, 3], salt="")
    assert send(cache, [1, 2, 3]) == 2


def test_prompt_logprobs_and_requests_that_may_not_read() -> None:
    cache = sglang()
    send(cache, [1, 2, 3, 4])
    assert send(cache, [1, 2, 3, 4], logprob_start=0) == 0
    assert send(cache, [1, 2, 3, 4], logprob_start=2) == 2
    assert send(cache, [1, 2, 3, 4], read=False) == 0
    # It still writes.
    assert send(cache, [5, 6, 7], read=False) == 0
    assert send(cache, [5, 6, 7]) == 2


def test_strip_thinking_keeps_prompts_only() -> None:
    cache = sglang(strip_thinking=True)
    send(cache, [1, 2, 3], [4, 5, 6])
    assert cache.cached_token_count == 3


def test_bigram_keys_find_one_token_less() -> None:
    cache = sglang(bigram=True)
    send(cache, [1, 2, 3, 4])
    # 3 pairs are held; a prompt of 4 may use pairs of its first 3 tokens: 2.
    assert cache.cached_token_count == 3
    assert send(cache, [1, 2, 3, 4]) == 2


@pytest.mark.parametrize("kind", ["hybrid", "recurrent"])
def test_hybrid_models_reuse_nothing_and_say_why(kind: str) -> None:
    cache = sglang(model_type=kind)
    first = list(range(561))
    send(cache, first)
    assert send(cache, [*first, 1, 2, 3]) == 0
    assert cache.limits is not None
    assert "recurrent state" in cache.limits


def test_reset_waits_for_live_requests() -> None:
    cache = sglang()
    live = cache.request([1, 2])
    assert not cache.reset()
    live.free()
    assert cache.reset()
    assert cache.cached_token_count == 0
    assert send(cache, [1, 2]) == 0


def test_a_freed_request_is_done() -> None:
    cache = sglang()
    request = cache.request([1, 2])
    request.free()
    request.free()
    assert cache.cached_token_count == 2
    with pytest.raises(UsageError, match=r"append\(\) of a request that was freed"):
        request.append([3])
    full = sglang(capacity=1).request([1, 2])
    full.free()
    with pytest.raises(UsageError, match=r"append\(\) of a request that was refused"):
        full.append([3])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"page_size": 0}, "page_size=0"),
        ({"page_size": 16, "capacity": 15}, "capacity=15: a whole number, at least 16"),
        ({"capacity": True}, "capacity=True"),
        ({"policy": "tlru"}, "policy='tlru': one of lru, lfu"),
        ({"model_type": "swa"}, "model_type='swa'"),
        ({"block_size": 16}, "no option 'block_size'"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        sglang(**options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([], "token_ids is empty"),
        ([1, -2], r"token_ids\[1\] is -2"),
        ([1, 2**31], r"token_ids\[1\] is 2147483648"),
        ([0, True], r"token_ids\[1\] is True"),
        ([5, 1.5], r"token_ids\[1\] is 1.5"),
        (["a"], r"token_ids\[0\] is 'a'"),
        ("text", "not str; tokenize"),
        (None, "not NoneType"),
    ],
)
def test_what_is_no_token_id(ids: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        sglang().request(ids)  # type: ignore[arg-type]


def test_unknown_keywords_are_named() -> None:
    with pytest.raises(UsageError, match="no 'mm'"):
        sglang().request([1], mm=())


@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 2**32),
    page=st.sampled_from([1, 1, 2, 4]),
    room=st.none() | st.integers(2, 24),
    policy=st.sampled_from(sorted(POLICIES)),
    bigram=st.sampled_from([False, False, True]),
    strip=st.sampled_from([False, False, True]),
)
def test_equal_to_the_plain_model(
    seed: int, page: int, room: int | None, policy: str, bigram: bool, strip: bool
) -> None:
    rng = random.Random(seed)
    capacity = None if room is None else room * page
    ours = sglang(page_size=page, capacity=capacity, policy=policy, bigram=bigram, strip_thinking=strip)
    plain = NaiveSglang(page, capacity, policy, bigram, strip)
    live: list[tuple[SglangRequest, Sent]] = []
    texts: list[list[int]] = []

    def some(most: int) -> list[int]:
        return [rng.randrange(2) for _ in range(rng.randint(0, most))]

    def send_one() -> None:
        # Chats that grow, branch and are edited, so that paths are walked, split and left again.
        prompt = list(rng.choice(texts)) if texts and rng.random() < 0.75 else []
        if prompt and rng.random() < 0.4:
            prompt = prompt[: rng.randint(1, len(prompt))]
        prompt = (prompt + some(3 * page))[: 6 * page] or [rng.randrange(2)]
        texts[:] = [*texts[-6:], prompt]
        salt = rng.choice([None, None, None, "s"])
        logprob = rng.randint(0, len(prompt)) if rng.random() < 0.1 else None
        read, priority = rng.random() < 0.9, rng.randrange(3)
        expected = ours.lookup(prompt, salt=salt)
        theirs = plain.request(prompt, (None, salt, None, None), read, logprob, priority)
        mine = ours.request(prompt, salt=salt, read=read, logprob_start=logprob, priority=priority)
        assert (mine.cached_tokens, mine.admitted) == (theirs.cached_tokens, theirs.admitted)
        assert mine.cached_tokens == expected or not read or logprob is not None
        assert 0 <= mine.cached_tokens < len(prompt)
        if mine.admitted:
            live.append((mine, theirs))

    for _ in range(50):
        act = rng.random()
        if act < 0.4 or not live:
            send_one()
        elif act < 0.6:
            mine, theirs = rng.choice(live)
            ids = some(2 * page)
            assert mine.append(ids) == plain.append(theirs, ids)
        elif act < 0.9:
            mine, theirs = live.pop(rng.randrange(len(live)))
            texts.append(list(mine.token_ids[: 5 * page]))
            mine.free()
            plain.free(theirs)
        else:
            wanted = rng.randint(0, 3 * page)
            assert ours.evict(wanted) == plain.evict(wanted)
        assert (ours.protected_tokens, ours.evictable_tokens) == (plain.size(True), plain.size(False))
        assert ours.free_tokens == plain.free_tokens
        assert ours.free_tokens is None or ours.free_tokens >= 0
        assert ours.paths() == plain.paths()
    for mine, theirs in live:
        mine.free()
        plain.free(theirs)
    # Nothing is locked and nothing is held outside the tree once all requests are done.
    assert ours.protected_tokens == 0
    assert capacity is None or ours.free_tokens == capacity - ours.cached_token_count
    # What is left goes leaf by leaf in the same order.
    while ours.cached_token_count:
        assert ours.evict(1) == plain.evict(1)
        assert ours.paths() == plain.paths()
