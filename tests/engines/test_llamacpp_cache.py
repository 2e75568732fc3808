"""llama.cpp's server: which slot a request gets, and what is left in it."""

from __future__ import annotations

import random
from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from naive_llamacpp import NaiveLlamaCpp, NaiveSlot
from tries import tries

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.engines.llamacpp.slots import LlamaCppCache, LlamaCppRequest
from pytest_cachesafe.usage import UsageError


def llamacpp(**options: object) -> LlamaCppCache:
    made = PrefixCache("llamacpp", **options)
    assert isinstance(made, LlamaCppCache)
    return made


def send(cache: LlamaCppCache, ids: list[int], reply: list[int] | None = None, **more: object) -> LlamaCppRequest:
    request = cache.request(ids, **more)
    if reply:
        assert request.append(reply)
    request.free()
    return request


A, B = list(range(100)), list(range(500, 600))


def test_the_longest_common_prefix_is_reused_to_the_token() -> None:
    cache = llamacpp(slots=1, cache_ram=0)
    send(cache, A)
    assert send(cache, [*A[:73], 7, 7]).cached_tokens == 73
    # What was behind the difference is gone: 73 and the two sevens are left.
    assert send(cache, A).cached_tokens == 73


def test_an_identical_prompt_computes_its_last_token() -> None:
    cache = llamacpp(slots=1)
    send(cache, A)
    assert send(cache, A).cached_tokens == 99


def test_a_reply_is_kept_but_for_its_last_token() -> None:
    cache = llamacpp(slots=1)
    send(cache, A, [1, 2, 3])
    assert cache.cached_token_count == 102
    assert send(cache, [*A, 1, 2, 3, 4]).cached_tokens == 102


def test_the_server_chooses_four_slots_and_the_last_of_those_never_used() -> None:
    cache = llamacpp()
    assert cache.idle_slots == 4
    assert [cache.request([index]).slot for index in range(4)] == [3, 2, 1, 0]
    waiting = cache.request([9])
    assert not waiting.admitted
    assert waiting.refused == "no slot is idle"
    assert cache.idle_slots == 0


def test_the_slot_that_shares_most_is_taken_else_the_oldest() -> None:
    cache = llamacpp(slots=2, cache_ram=0)
    first, second = cache.request(A), cache.request(B)
    assert (first.slot, second.slot) == (1, 0)
    first.free()
    second.free()
    assert send(cache, [*B, 1]).slot == 0
    assert send(cache, [*A, 1]).slot == 1
    # Nothing in common: slot 0 was released longer ago.
    assert send(cache, [7, 8, 9]).slot == 0


@pytest.mark.parametrize(("shared", "slot"), [(11, 1), (10, 0)])
def test_a_tenth_of_the_prompt_is_not_enough(shared: int, slot: int) -> None:
    cache = llamacpp(slots=2, cache_ram=0)
    first, second = cache.request(A), cache.request(B)
    second.free()
    first.free()
    # 11 of 100 tokens are more than 0.1, 10 are not: then it goes to slot 0, which was released first.
    assert send(cache, [*A[:shared], *[999] * (100 - shared)]).slot == slot


def test_a_live_slot_is_shared_with_nobody() -> None:
    cache = llamacpp(slots=2)
    live = cache.request(A)
    assert send(cache, A).cached_tokens == 0
    live.free()


def test_a_prompt_that_loses_its_slot_comes_back_from_ram() -> None:
    for ram, found in ((None, 100), (-1, 100), (0, 0)):
        cache = llamacpp(slots=1, cache_ram=ram)
        send(cache, A)
        send(cache, B)
        assert send(cache, [*A, 1, 2]).cached_tokens == found


def test_half_of_a_slot_kept_is_no_reason_to_save_it() -> None:
    for kept, saved in ((50, 0), (49, 100)):
        cache = llamacpp(slots=1)
        send(cache, A)
        # 50 of the 100 tokens in the slot stay: nothing is saved; with 49 the slot goes to RAM first.
        send(cache, [*A[:kept], 7, 8, 9])
        assert cache.ram is not None
        assert cache.ram.tokens == saved
        # RAM is not looked at either while most of the slot stays, though it holds all of A: 49 of 52 do.
        assert send(cache, A).cached_tokens == kept


def test_ram_holds_what_fits() -> None:
    # 1 MiB of 8 KiB a token are 128 tokens.
    cache = llamacpp(slots=1, cache_ram=1, bytes_per_token=8192)
    send(cache, A)
    send(cache, B)
    # A was saved; saving B pushes A out, so it is computed anew.
    assert send(cache, A).cached_tokens == 0
    assert send(cache, list(range(1000, 1129))).cached_tokens == 0
    # 129 tokens are over the bound: they are not saved, and nothing goes for them.
    assert cache.ram is not None
    before = len(cache.ram)
    send(cache, [5])
    assert len(cache.ram) == before


def test_ram_that_nobody_sized_is_that_of_the_server_for_an_8b_model() -> None:
    cache = llamacpp(slots=1)
    assert cache.ram is not None
    # 8,192 MiB of 32 * 8 * 128 * 2 * 2 = 131,072 bytes a token.
    assert cache.ram.most_tokens == 65_536
    assert cache.assumed is not None
    assert "65,536 tokens" in cache.assumed
    assert cache.bounded
    given = llamacpp(cache_ram=2, bytes_per_token=2**15)
    assert given.ram is not None
    assert (given.ram.most_tokens, given.assumed) == (64, None)
    endless = given.unbounded()
    assert isinstance(endless, LlamaCppCache)
    assert endless.ram is not None
    assert (endless.ram.most_tokens, endless.assumed, endless.bounded) == (None, None, False)


def test_what_a_recurrent_model_holds_and_cannot_use() -> None:
    cache = llamacpp(slots=1, model_type="recurrent")
    assert send(cache, A).unusable_tokens == 0
    # 60 tokens are the slot's, but its state is that of the 100th.
    parted = send(cache, [*A[:60], 7])
    assert (parted.cached_tokens, parted.unusable_tokens) == (0, 60)
    # What extends the slot is used, and nothing is left over.
    longer = send(cache, [*A[:60], 7, 8])
    assert (longer.cached_tokens, longer.unusable_tokens) == (61, 0)
    attention = llamacpp(slots=1)
    send(attention, A)
    assert send(attention, [*A[:60], 7]).unusable_tokens == 0


def test_without_limit_ram_holds_one_context() -> None:
    cache = llamacpp(slots=1, cache_ram=-1, n_ctx=150)
    send(cache, A)
    send(cache, B)
    assert cache.ram is not None
    assert cache.ram.tokens == 100
    send(cache, list(range(700, 750)))
    assert cache.ram.tokens == 100
    assert send(cache, A).cached_tokens == 0


def test_idle_slots_move_to_ram_when_a_request_starts() -> None:
    cache = llamacpp(slots=2, kv_unified=True)
    first, second = cache.request(A), cache.request(B)
    first.free()
    second.free()
    live = cache.request([7, 7, 7])
    # The slot of A was taken for it, that of B cleared; both are in RAM.
    assert cache.ram is not None
    assert cache.ram.tokens == 200
    assert cache.cached_token_count == 203
    live.free()
    kept = llamacpp(slots=2, kv_unified=False)
    for request in (kept.request(A), kept.request(B)):
        request.free()
    kept.request([7, 7, 7])
    # B stays in its slot, and a copy of it is in RAM.
    assert kept.cached_token_count == 303


@pytest.mark.parametrize("kind", ["hybrid", "recurrent"])
def test_models_that_cannot_rewind_lose_everything_at_a_difference(kind: str) -> None:
    first = list(range(561))
    cache = llamacpp(slots=1, model_type=kind)
    send(cache, first)
    assert send(cache, [*first, 7, 7]).cached_tokens == 561
    assert send(cache, [*first, 7, 8]).cached_tokens == 0
    # Even the same prompt: its last token cannot be taken back.
    cache = llamacpp(slots=1, model_type=kind)
    send(cache, first)
    assert send(cache, first).cached_tokens == 0
    # And a reply that the next turn renders differently.
    cache = llamacpp(slots=1, model_type=kind)
    send(cache, first, [1, 2, 3])
    assert send(cache, [*first, 1, 9]).cached_tokens == 0


def test_a_request_with_an_adapter_clears_the_slot_of_another() -> None:
    cache = llamacpp(slots=1, cache_ram=0)
    send(cache, A, lora="x")
    assert send(cache, A, lora="x").cached_tokens == 99
    assert send(cache, A, lora="y").cached_tokens == 0
    # A request that names none keeps what is there, whoever computed it.
    assert send(cache, A).cached_tokens == 99


def test_salts_are_unknown_to_the_server() -> None:
    cache = llamacpp(slots=1)
    send(cache, A, salt="a")
    assert send(cache, A, salt="b").cached_tokens == 99


def test_requests_that_do_not_cache_take_nothing_and_leave_their_prompt() -> None:
    cache = llamacpp(slots=1)
    send(cache, A)
    assert send(cache, A, read=False).cached_tokens == 0
    assert send(cache, A).cached_tokens == 99
    off = llamacpp(slots=1, cache_prompt=False)
    send(off, A)
    assert send(off, A).cached_tokens == 0
    assert off.lookup(A) == 0
    assert off.limits == "cache_prompt is off"


def test_a_slot_may_be_asked_for() -> None:
    cache = llamacpp(slots=2, cache_ram=0)
    assert send(cache, A, id_slot=0).slot == 0
    assert send(cache, A, id_slot=1).cached_tokens == 0
    live = cache.request(A, id_slot=1)
    assert live.cached_tokens == 99
    assert cache.request(A, id_slot=1).refused == "slot 1 is not idle"


def test_chunks_are_shifted_if_asked_for() -> None:
    held = [*range(10), *range(100, 120), *range(200, 220)]
    # The 20 tokens from 100 on are left out: the last 20 are moved to where they are now.
    shorter = [*range(10), *range(200, 220), 7]
    for reuse, found in ((0, 10), (20, 30), (21, 10)):
        cache = llamacpp(slots=1, cache_reuse=reuse)
        send(cache, held)
        assert send(cache, shorter).cached_tokens == found
    # New text in front of them ends the search.
    cache = llamacpp(slots=1, cache_reuse=5)
    send(cache, held)
    assert send(cache, [*range(10), 7, *range(200, 220)]).cached_tokens == 10


def test_the_context_of_a_slot_bounds_prompt_and_reply() -> None:
    cache = llamacpp(slots=1, n_ctx=100)
    refused = cache.request(A)
    assert not refused.admitted
    assert refused.refused == "100 tokens do not fit into a context of 100"
    assert cache.idle_slots == 1
    request = cache.request(A[:98])
    # 98 computed; the first sampled token is the 99th, the second would be the 100th.
    assert request.append([1, 2])
    assert not request.append([3])
    assert request.token_ids == [*A[:98], 1, 2]


def test_reset_waits_for_live_requests() -> None:
    cache = llamacpp()
    live = cache.request(A)
    assert not cache.reset()
    live.free()
    live.free()
    assert cache.reset()
    assert cache.cached_token_count == 0
    with pytest.raises(UsageError, match=r"append\(\) of a request that was freed"):
        live.append([1])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"slots": 0}, "slots=0"),
        ({"similarity": 1.5}, "similarity=1.5: a share"),
        ({"cache_ram": -2}, "cache_ram=-2"),
        ({"cache_ram": 1}, "cache_ram=1 says nothing without bytes_per_token"),
        ({"cache_ram": 1.5}, "cache_ram=1.5: a whole number"),
        ({"cache_prompt": "nope"}, "cache_prompt='nope': True or False"),
        ({"kv_unified": 1}, "kv_unified=1: True or False"),
        ({"bytes_per_token": 0}, "bytes_per_token=0"),
        ({"n_ctx": 1}, "n_ctx=1"),
        ({"model_type": "swa"}, "model_type='swa'"),
        ({"parallel": 2}, "no option 'parallel'; did you mean 'slots'"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        llamacpp(**options)
    assert "\n" not in str(caught.value)


@settings(deadline=None, max_examples=tries(150))
@given(
    seed=st.integers(0, 2**32),
    slots=st.integers(1, 3),
    similarity=st.sampled_from([0.0, 0.125, 0.5]),
    ram=st.sampled_from([True, True, False]),
    most=st.none() | st.integers(5, 40),
    idle=st.booleans(),
    unified=st.booleans(),
    reuse=st.integers(0, 3),
    rewinds=st.sampled_from([True, True, False]),
)
def test_equal_to_the_plain_model(
    seed: int,
    slots: int,
    similarity: float,
    ram: bool,
    most: int | None,
    idle: bool,
    unified: bool,
    reuse: int,
    rewinds: bool,
) -> None:
    rng = random.Random(seed)
    ours = llamacpp(
        slots=slots,
        similarity=similarity,
        cache_ram=0 if not ram else -1 if most is None else 1,
        bytes_per_token=None if most is None else 2**20 // most,
        cache_idle_slots=idle,
        kv_unified=unified,
        cache_reuse=reuse,
        model_type="attention" if rewinds else "recurrent",
    )
    bound = None if most is None else 2**20 // (2**20 // most)
    plain = NaiveLlamaCpp(slots, Fraction(similarity), ram, bound, idle, unified, reuse, rewinds)
    live: list[tuple[LlamaCppRequest, NaiveSlot]] = []
    texts: list[list[int]] = []
    for _ in range(40):
        act = rng.random()
        if act < 0.5 or not live:
            prompt = list(rng.choice(texts)) if texts and rng.random() < 0.8 else []
            if prompt and rng.random() < 0.5:
                prompt = prompt[: rng.randint(1, len(prompt))]
            if prompt and rng.random() < 0.2:
                at = rng.randrange(len(prompt))
                del prompt[at : at + rng.randint(0, 3)]
            # Ids whose bytes look like those of their neighbours' ends.
            prompt = [*prompt, *rng.choices([0, 1, 256, 65536], k=rng.randint(0, 6))][:24] or [1]
            texts = [*texts[-8:], prompt]
            expected = ours.lookup(prompt)
            mine, theirs = ours.request(prompt), plain.request(prompt)
            assert mine.admitted == (theirs is not None)
            if theirs is not None:
                assert mine.slot == plain.slots.index(theirs[0])
                assert mine.cached_tokens == theirs[1] == expected
                assert 0 <= mine.cached_tokens < len(prompt)
                live.append((mine, theirs[0]))
        elif act < 0.6:
            mine, slot = rng.choice(live)
            assert mine.append(rng.choices([0, 1, 256], k=rng.randint(0, 3)))
            slot.tokens = mine.token_ids[: max(mine._prompt, len(mine.token_ids) - 1)]
        else:
            mine, slot = live.pop(rng.randrange(len(live)))
            texts.append(list(mine.token_ids))
            mine.free()
            plain.release(slot)
        in_ram = sum(map(len, plain.ram)) if plain.ram is not None else 0
        assert ours.cached_token_count == sum(len(slot.tokens) for slot in plain.slots) + in_ram
        assert bound is None or in_ram <= bound
