"""vLLM's block pool by numbers: hits, block ids, order of the free queue. Block 0 is the null block."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.engines.vllm.manager import VllmCache
from pytest_cachesafe.usage import UsageError


def cache(num_blocks: int | None = 11, block_size: int = 16, **options: Any) -> VllmCache:
    made = PrefixCache("vllm", block_size=block_size, num_blocks=num_blocks, **options)
    assert isinstance(made, VllmCache)
    return made


def prompt(blocks: int, more: int, tail: int = 0) -> list[int]:
    """Blocks 0, 1, 2 … of one text, 16 tokens each, then tokens of which `tail` says how they differ."""
    return [block for block in range(blocks) for _ in range(16)] + [900 + tail] * more


def test_prefill_shares_blocks_and_frees_tails_first() -> None:
    pool = cache()
    # 55 tokens are 3 full blocks and 7 tokens: 4 blocks, nothing to find.
    first = pool.request(prompt(3, 7))
    assert (first.cached_tokens, first.block_ids) == (0, (1, 2, 3, 4))
    # The same 48 tokens and 5 others: 3 blocks found, 1 taken.
    second = pool.request(prompt(3, 5, 1))
    assert (second.cached_tokens, second.block_ids, second.new_block_ids) == (48, (1, 2, 3, 5), (5,))
    assert [pool.ref_count(block) for block in range(1, 7)] == [2, 2, 2, 1, 1, 0]
    # Tails 4 and 5 have no key: each goes to the front when its request ends, the shared blocks with the last holder.
    first.free()
    assert pool.free_block_ids == (4, 6, 7, 8, 9, 10)
    second.free()
    assert pool.free_block_ids == (5, 4, 6, 7, 8, 9, 10, 3, 2, 1)
    # Found again; the tail comes from the front of the queue.
    third = pool.request(prompt(3, 3, 2))
    assert (third.cached_tokens, third.new_block_ids) == (48, (5,))
    third.free()
    # 160 other tokens take all ten blocks in the order of the queue, and with them every key.
    other = pool.request([700 + i for i in range(160)])
    assert (other.cached_tokens, other.new_block_ids) == (0, (5, 4, 6, 7, 8, 9, 10, 3, 2, 1))
    assert pool.num_free_blocks == 0
    other.free()
    assert pool.lookup(prompt(3, 3, 2)) == 0


def test_before_the_change_of_the_free_order_every_block_went_to_the_end() -> None:
    pool = cache(unhashed_first=False)
    first, second = pool.request(prompt(3, 7)), pool.request(prompt(3, 5, 1))
    first.free()
    second.free()
    assert pool.free_block_ids == (6, 7, 8, 9, 10, 4, 5, 3, 2, 1)


def test_an_identical_prompt_of_whole_blocks_computes_its_last_block_again() -> None:
    pool = cache()
    first = pool.request(prompt(4, 0))
    # 64 tokens: at most 63 may be found, which are 3 blocks; the fourth exists twice from now on.
    again = pool.request(prompt(4, 0))
    assert (again.cached_tokens, again.block_ids) == (48, (1, 2, 3, 5))
    # The one that got the key first is found, also after both were freed.
    longer = pool.request(prompt(4, 1))
    assert longer.block_ids[:4] == first.block_ids
    for request in (first, again, longer):
        request.free()
    # 5: tail of `again`; 6: partial block of `longer`, without a key; 4, 3, 2, 1 with their last holder.
    assert pool.free_block_ids == (6, 7, 8, 9, 10, 5, 4, 3, 2, 1)


def test_when_the_first_of_two_equal_blocks_is_evicted_the_other_is_found() -> None:
    pool = cache(num_blocks=5)
    # Two requests at once that may not read: blocks 1, 2 and blocks 3, 4 with the same two keys.
    first, second = pool.request(prompt(2, 0), read=False), pool.request(prompt(2, 0), read=False)
    assert (first.block_ids, second.block_ids) == ((1, 2), (3, 4))
    first.free()
    second.free()
    assert pool.free_block_ids == (2, 1, 4, 3)
    # One block is taken: 2 loses its key. The text is still found, in blocks 1 and 4.
    pool.request([5]).free()
    third = pool.request(prompt(2, 1))
    assert (third.cached_tokens, third.block_ids) == (32, (1, 4, 2))


def test_of_three_equal_blocks_the_one_inserted_next_is_found() -> None:
    pool = cache(num_blocks=6, block_size=1)
    first, second, third = (pool.request([7], read=False) for _ in range(3))
    assert (first.block_ids, second.block_ids, third.block_ids) == ((1,), (2,), (3,))
    first.free()
    # 4, 5, and 1 loses its key.
    other = pool.request([20, 21, 22])
    assert other.block_ids == (4, 5, 1)
    other.free()
    assert pool.request([7, 0]).block_ids == (2, 1)


def test_a_block_with_a_new_key_is_not_taken_for_what_it_held_before() -> None:
    pool = cache(num_blocks=7, block_size=1)
    first, second = pool.request([7], read=False), pool.request([7], read=False)
    third = pool.request([99])
    # Block 2 keeps the key of [7] while 1, which had it first, becomes the fourth block of another text.
    first.free()
    third.free()
    assert pool.free_block_ids == (4, 5, 6, 1, 3)
    assert pool.request([20, 21, 22, 23, 24]).block_ids == (4, 5, 6, 1, 3)
    assert pool.lookup([20, 21, 22, 23, 24, 0]) == 5
    # 24 follows 23, not 7.
    assert pool.lookup([7, 24, 0]) == 1
    second.free()


def test_decode_indexes_a_block_when_its_last_token_is_computed() -> None:
    pool = cache()
    # 55 tokens: 9 more fill block 4.
    first = pool.request(prompt(3, 7))
    # 9 sampled: 8 of them are computed, 63 tokens have KV.
    assert first.append([50] * 9)
    assert first.num_computed_tokens == 63
    assert pool.lookup([*first.token_ids, 1]) == 48
    # The next sampled token computes the 64th. The new one needs no block before it is computed itself.
    assert first.append([51])
    assert first.block_ids == (1, 2, 3, 4)
    assert pool.lookup([*first.token_ids, 1]) == 64
    assert first.append([52])
    assert first.new_block_ids == (5,)


def test_the_last_sampled_token_of_a_reply_is_never_found() -> None:
    pool = cache(num_blocks=None)
    # 60 prompt tokens and 20 sampled ones are 80, of which 79 have KV: 4 full blocks, not 5.
    turn = pool.request(list(range(60)))
    turn.append(list(range(60, 80)))
    turn.free()
    assert pool.request(list(range(100))).cached_tokens == 64


def test_eviction_takes_the_tails_of_the_oldest_first() -> None:
    pool = cache()
    # 5 blocks and 7 tokens: blocks 1 to 6. Then 48 other tokens: 7, 8, 9 and the first 2 of the same text: nothing.
    first = pool.request(list(range(16 * 5 + 7)))
    second = pool.request(list(range(16 * 5, 16 * 5 + 48)))
    assert (first.block_ids, second.block_ids) == ((1, 2, 3, 4, 5, 6), (7, 8, 9))
    first.free()
    # 6 had no key, 10 was never used; then first's own from the tail.
    assert pool.free_block_ids == (6, 10, 5, 4, 3, 2, 1)
    second.free()
    assert pool.free_block_ids == (6, 10, 5, 4, 3, 2, 1, 9, 8, 7)
    # 40 tokens: (40 - 1) // 16 = 2 blocks found, which are 1 and 2; one block from the front.
    third = pool.request(list(range(40)))
    assert (third.cached_tokens, third.block_ids, third.new_block_ids) == (32, (1, 2, 6), (6,))
    # 10 were free, two were found in the queue, one was taken.
    assert pool.num_free_blocks == 7
    assert pool.free_block_ids == (10, 5, 4, 3, 9, 8, 7)


def test_found_blocks_are_not_taken_for_the_rest() -> None:
    pool = cache(num_blocks=4)
    # 2 blocks, freed: the queue is 3, 2, 1, so that only 3 and 2 come before the block that will be found.
    pool.request(list(range(20))).free()
    second = pool.request([*range(16), *range(100, 116)])
    # 3 was never used; 2 had no key and went to the front: it is taken.
    assert (second.cached_tokens, second.new_block_ids) == (16, (2,))


def test_a_refused_request_reports_its_hit_and_leaves_no_trace() -> None:
    pool = cache()
    # 3 blocks found, by a request that still runs; 16 * 5 other tokens hold 5 more: 10 - 3 - 5 = 2 are free.
    common = pool.request(prompt(3, 0))
    other = pool.request([500 + i for i in range(80)])
    before = (pool.free_block_ids, [pool.ref_count(block) for block in range(11)], pool.queries, pool.hits)
    # 3 blocks found and 3 needed: one too many.
    refused = pool.request(prompt(3, 48, 3))
    assert (refused.admitted, refused.cached_tokens, refused.block_ids) == (False, 48, ())
    assert refused.refused == "96 tokens need 6 free blocks, 5 can be had"
    assert (pool.free_block_ids, [pool.ref_count(block) for block in range(11)], pool.queries, pool.hits) == before
    refused.free()
    other.free()
    assert pool.request(prompt(3, 48, 3)).admitted
    common.free()


def test_found_blocks_in_the_queue_are_not_room() -> None:
    pool = cache()
    # 6 blocks of a finished request, 4 never used; a running request holds those 4 and 1 of the rest.
    pool.request(list(range(96))).free()
    pool.request([500 + i for i in range(80)])
    # Blocks 10 to 7 and the tail, 6. The queue: 5, 4, 3, 2, 1, which are 80 tokens of the first text.
    assert pool.free_block_ids == (5, 4, 3, 2, 1)
    # All five are found, one more is needed, and nothing else is in the queue.
    refused = pool.request(list(range(96)))
    assert (refused.cached_tokens, refused.admitted) == (80, False)
    assert pool.free_block_ids == (5, 4, 3, 2, 1)


def test_a_prompt_larger_than_the_pool_is_refused_in_words() -> None:
    refused = cache().request(list(range(161)))
    # ceil(161 / 16) = 11, and 10 of 11 blocks can be used.
    assert (refused.admitted, refused.refused) == (False, "161 tokens need 11 blocks, the whole pool has 10")


def test_salts_part_requests() -> None:
    pool = cache()
    first = pool.request(prompt(3, 7), salt="salt1")
    same = pool.request(prompt(3, 5, 1), salt="salt1")
    other = pool.request(prompt(3, 4, 2), salt="salt2")
    none = pool.request([*prompt(1, 0)])
    assert [r.cached_tokens for r in (first, same, other, none)] == [0, 48, 0, 0]


def test_adapters_part_requests_by_name_and_path() -> None:
    pool = cache(num_blocks=None)
    pool.request(prompt(3, 7), lora=("sql", "/a"))
    assert pool.lookup(prompt(3, 7), lora=("sql", "/a")) == 48
    assert pool.lookup(prompt(3, 7), lora=("sql", "/b")) == 0
    assert pool.lookup(prompt(3, 7), lora="sql") == 0
    assert pool.lookup(prompt(3, 7)) == 0


def test_multimodal_items_part_the_blocks_they_reach() -> None:
    pool = cache(num_blocks=None)
    tokens = [*range(11), *[-1 % 2**31] * 30, *range(100, 115)]
    # One image from token 11 to 29, another from 30 to 40: blocks 0 and 1 hold the first, 1 and 2 the second.
    pool.request(tokens, mm=[("aaa", 11, 19), ("bbb", 30, 11)])
    assert pool.lookup([*tokens, 1], mm=[("bbb", 30, 11), ("aaa", 11, 19)]) == 48
    assert pool.lookup([*tokens, 1], mm=[("aaa", 11, 19), ("ccc", 30, 11)]) == 16
    # The same image one token later in the same placeholders is another block.
    assert pool.lookup([*tokens, 1], mm=[("aaa", 12, 18), ("bbb", 30, 11)]) == 0


def test_embeddings_part_blocks() -> None:
    pool = cache(num_blocks=None, block_size=2)
    pool.request([0] * 5, embeds=bytes(10))
    assert pool.lookup([0] * 5, embeds=bytes(10)) == 4
    # Two bytes per token: byte 4 belongs to token 2, the first of block 1.
    assert pool.lookup([0] * 5, embeds=bytes(4) + b"x" + bytes(5)) == 2
    assert pool.lookup([0] * 5) == 0


def test_a_request_that_may_not_read_still_writes() -> None:
    pool = cache()
    assert pool.request(prompt(3, 7)).cached_tokens == 0
    silent = pool.request(prompt(3, 7), read=False)
    assert (silent.cached_tokens, silent.block_ids) == (0, (5, 6, 7, 8))
    pool.reset()
    empty = cache()
    empty.request(prompt(3, 7), read=False)
    assert empty.lookup(prompt(3, 7)) == 48
    # It is not counted as a query either.
    assert (empty.queries, empty.hits) == (0, 0)


def test_caching_off_finds_nothing_and_frees_everything_to_the_front() -> None:
    pool = cache(caching=False)
    first = pool.request(prompt(3, 7))
    assert first.append([1] * 10)
    first.free()
    # Last block first: 64 of 65 tokens are computed, in 4 blocks.
    assert pool.free_block_ids == (4, 3, 2, 1, 5, 6, 7, 8, 9, 10)
    assert pool.request(prompt(3, 7)).cached_tokens == 0
    assert pool.queries == 0


def test_chunks_are_indexed_as_they_are_computed() -> None:
    pool = cache()
    # 20 of 55 tokens: one full block, two taken.
    first = pool.request(prompt(3, 7), prefill=20)
    assert (first.block_ids, first.num_computed_tokens) == ((1, 2), 20)
    assert pool.lookup(prompt(3, 7)) == 16
    # 20 + 28 = 48 tokens: three full blocks.
    assert first.prefill(28)
    assert (first.block_ids, pool.lookup(prompt(3, 7))) == ((1, 2, 3), 48)
    with pytest.raises(UsageError, match="48 of 55 tokens computed"):
        first.append([1])
    # What another request computed meanwhile is not looked up again: the hit is that of the first scheduling.
    assert first.prefill()
    assert (first.cached_tokens, first.num_computed_tokens, first.append([1])) == (0, 55, True)
    with pytest.raises(UsageError, match="is computed"):
        first.prefill()


def test_a_prompt_in_chunks_needs_room_for_all_of_it() -> None:
    # 64 tokens are 4 blocks, 3 can be used.
    assert not cache(num_blocks=4).request(prompt(4, 0), prefill=16).admitted
    open_door = cache(num_blocks=4, scheduler_reserve_full_isl=False)
    request = open_door.request(prompt(4, 0), prefill=16)
    assert request.admitted
    assert request.prefill(32)
    assert not request.prefill(16)
    assert (request.num_computed_tokens, request.refused) == (48, "64 tokens need 4 blocks, the whole pool has 3")


def test_no_room_for_a_reply_changes_nothing() -> None:
    pool = cache(num_blocks=3)
    request = pool.request(prompt(1, 15))
    # 31 + 2 - 1 = 32 tokens fit into 2 blocks, 31 + 3 - 1 = 33 do not.
    before = pool.free_block_ids
    assert not request.append([1, 2, 3])
    assert (len(request.token_ids), pool.free_block_ids) == (31, before)
    assert request.append([1, 2])
    assert request.append([])


def test_preempted_requests_are_looked_up_again() -> None:
    pool = cache()
    request = pool.request(prompt(3, 7))
    request.append([50] * 26)
    # 55 + 25 = 80 computed tokens are 5 full blocks.
    assert request.block_ids == (1, 2, 3, 4, 5)
    request.preempt()
    assert (request.block_ids, request.num_computed_tokens) == ((), 0)
    assert pool.free_block_ids == (6, 7, 8, 9, 10, 5, 4, 3, 2, 1)
    # Somebody takes 6 blocks: those never used and the tail, 5.
    other = pool.request([500 + i for i in range(96)])
    assert other.block_ids == (6, 7, 8, 9, 10, 5)
    # 81 tokens are 6 blocks; 4 are still there, two are needed and none is left.
    assert not request.resume()
    other.free()
    assert request.resume()
    # All 81 tokens are computed now, the last sampled one, too. The report stays that of the first time.
    assert (request.num_computed_tokens, request.cached_tokens) == (81, 0)
    assert (pool.preempted_queries, pool.preempted_hits) == (81, 64)
    # 55 of `request`, 96 of `other`.
    assert (pool.queries, pool.hits) == (151, 0)
    assert request.num_preemptions == 1


def test_reset_needs_an_idle_pool_and_keeps_the_order() -> None:
    pool = cache()
    request = pool.request(prompt(3, 7))
    assert not pool.reset()
    assert pool.lookup(prompt(3, 7)) == 48
    request.free()
    order = pool.free_block_ids
    assert pool.reset()
    assert (pool.free_block_ids, pool.lookup(prompt(3, 7))) == (order, 0)
    assert pool.request(prompt(3, 7)).block_ids == order[:4]


def test_the_watermark_is_kept_only_while_others_run() -> None:
    # int(0.3 * 11) = 3 blocks stay free.
    pool = cache(watermark=0.3)
    alone = pool.request(list(range(160)))
    assert alone.admitted
    alone.free()
    pool.request([500])
    # 9 are free, 6 may be taken.
    assert not pool.request(list(range(1000, 1000 + 7 * 16))).admitted
    assert pool.request(list(range(1000, 1000 + 6 * 16))).admitted


def test_drafting_computes_one_more_block() -> None:
    pool = cache(eagle=True)
    pool.request(prompt(3, 7))
    assert pool.request(prompt(3, 7)).cached_tokens == 32
    assert pool.request(prompt(1, 7)).cached_tokens == 0


@pytest.mark.parametrize("kind", ["hybrid", "recurrent"])
def test_what_is_stable_may_not_be_reusable(kind: str) -> None:
    # eng-04: 561 tokens and the same with a suffix.
    pool = cache(num_blocks=None, model_type=kind)
    pool.request(list(range(561))).free()
    assert pool.request(list(range(600))).cached_tokens == 0
    assert pool.limits is not None
    assert kind in pool.limits
    plain = cache(num_blocks=None)
    plain.request(list(range(561))).free()
    # 561 // 16 = 35 blocks.
    assert plain.request(list(range(600))).cached_tokens == 560
    assert plain.limits is None


def test_freeing_is_harmless_when_there_is_nothing_to_free() -> None:
    pool = cache()
    request = pool.request(prompt(1, 3))
    request.free()
    order = pool.free_block_ids
    request.free()
    assert pool.free_block_ids == order
    refused = pool.request(list(range(500)))
    refused.free()
    preempted = pool.request(prompt(1, 3))
    preempted.preempt()
    order = pool.free_block_ids
    preempted.free()
    assert pool.free_block_ids == order
    for done in (request, refused, preempted):
        with pytest.raises(UsageError, match="append"):
            done.append([1])
        with pytest.raises(UsageError, match="resume"):
            done.resume()


def test_without_bounds_the_same_as_a_pool_that_is_large_enough() -> None:
    endless, large = cache(num_blocks=None), cache(num_blocks=1000)
    for pool in (endless, large):
        kept = pool.request(prompt(3, 7))
        pool.request(prompt(3, 5, 1)).free()
        kept.append([1] * 40)
        kept.free()
        pool.request(prompt(2, 30, 2)).free()
        pool.request([*prompt(3, 7), *[1] * 40]).free()
    assert endless.request(prompt(3, 9)).block_ids == large.request(prompt(3, 9)).block_ids
    assert (endless.queries, endless.hits) == (large.queries, large.hits)
    assert endless.num_free_blocks is None
    with pytest.raises(UsageError, match="num_blocks"):
        _ = endless.free_block_ids


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ([], "empty"),
        ([1, 2, True], r"\[2\] is True"),
        ([1, -5], r"\[1\] is -5"),
        ([2**31], r"\[0\] is 2147483648"),
        ([1.0], r"\[0\] is 1.0"),
        (["7"], r"\[0\] is '7'"),
        ("text", "tokenize"),
        (None, "NoneType"),
        ([None], r"\[0\] is None"),
        ([1, [2]], r"\[1\] is \[2\]"),
    ],
)
@pytest.mark.parametrize("block_size", [1, 4])
def test_what_is_no_token_id_is_named(tokens: Any, words: str, block_size: int) -> None:
    pool = cache(block_size=block_size)
    with pytest.raises(UsageError, match=words):
        pool.request(tokens)
    running = pool.request([1])
    if tokens != []:
        with pytest.raises(UsageError, match=words):
            running.append(tokens)
    assert (running.token_ids, pool.queries) == ([1], 1)


def test_numbers_of_other_kinds_are_token_ids_too() -> None:
    class Number:
        def __index__(self) -> int:
            return 7

    pool = cache(block_size=1)
    pool.request([7, 8, 2**31 - 1])
    request = pool.request((Number(), 8, 2**31 - 1))  # type: ignore[arg-type]
    assert request.cached_tokens == 2
    assert request.token_ids == [7, 8, 2**31 - 1]
    assert {type(token) for token in request.token_ids} == {int}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"block_size": 0}, "block_size=0"),
        ({"num_blocks": 1}, "num_blocks=1: a whole number, at least 2"),
        ({"num_blocks": True}, "num_blocks"),
        ({"watermark": 1.0}, "watermark"),
        ({"hash": "md5"}, "sha256_cbor"),
        ({"hash": "xxhash"}, "none_hash_seed"),
        ({"model_type": "mamba"}, "recurrent"),
        ({"num_block": 5}, "did you mean 'num_blocks'"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        PrefixCache("vllm", **options)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"salt": 5}, "salt=5"),
        ({"lora": ("a", "b", "c")}, "lora"),
        ({"mm": [("a", 0, 0)]}, r"mm\[0\] length=0"),
        ({"mm": [("a", 0, 5)]}, "prompt of 4"),
        ({"mm": [("a", 0, 2), ("b", 1, 2)]}, "overlap at token 1"),
        ({"mm": ["a"]}, r"mm\[0\]"),
        ({"embeds": b"12345"}, "5 bytes"),
        ({"embeds": [b"1", b"2"]}, "1 digests"),
        ({"prefill": 0}, "prefill=0"),
        ({"prefil": 3}, "prefil"),
    ],
)
def test_wrong_arguments_of_a_request_are_named(more: dict[str, Any], words: str) -> None:
    pool = cache()
    with pytest.raises(UsageError, match=words):
        pool.request([1, 2, 3, 4], **more)
    assert pool.num_free_blocks == 10
