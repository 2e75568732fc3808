"""How large the pool must be, and what the salts cost: counted before anybody rents a GPU for it."""

from __future__ import annotations

from pytest_cachesafe import PrefixCache, assert_reuse, replay

from desk import QUESTIONS, SHOPS, afternoon, build_messages

MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"


def test_the_next_turn_finds_all_whole_blocks_of_the_one_before() -> None:
    chat = [build_messages(SHOPS[0], turn) for turn in range(len(QUESTIONS))]
    report = assert_reuse(chat, engine="vllm", template=MODEL)
    # The context grows by one answer and one question a turn; what was there before is not computed again.
    assert [request.tokens - request.cached_tokens for request in report.requests] == [205, 54, 51, 39]


def test_eighty_blocks_are_enough_and_forty_are_not() -> None:
    report = replay(afternoon(), model=MODEL, sweep={"blocks": [40, 80, 120]})
    reused = [point.totals.cached_tokens for point in report.sweep]
    assert reused[0] < reused[1] == reused[2] == report.cached_tokens
    # Four fifths of the prompt tokens need no prefill.
    assert report.hit_rate > 0.8


def test_customers_of_one_shop_share_its_rules() -> None:
    missed = replay(afternoon(), model=MODEL).as_dict()["reasons"]
    assert "salt" not in missed, missed


def test_a_pool_by_hand() -> None:
    """Block by block, as vLLM's cache manager does it. Block 0 is its null block, so ten can be used."""
    cache = PrefixCache("vllm", block_size=16, num_blocks=11)
    first = cache.request(range(70))
    assert (first.admitted, first.cached_tokens, first.block_ids) == (True, 0, (1, 2, 3, 4, 5))
    second = cache.request([*range(64), 900, 901])
    # Four whole blocks are shared while the first request is still running.
    assert (second.cached_tokens, second.block_ids) == (64, (1, 2, 3, 4, 6))
    first.free()
    second.free()
    # Unfull blocks hold nothing to reuse and go first; of the others, the end of a prompt goes before its beginning.
    assert cache.free_block_ids == (6, 5, 7, 8, 9, 10, 4, 3, 2, 1)
