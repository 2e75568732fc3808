"""`assert_reuse`: how much of what is stable an engine finds, and the exact reason for what it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe import PrefixCache, ReuseFailure, UsageError, assert_prefix_stable, assert_reuse, check_reuse
from pytest_cachesafe.recording import Recording

A = list(range(100, 164))  # 64 tokens, 4 blocks of 16


def grown(*sizes: int) -> list[list[int]]:
    """Prompts that begin with each other, of these lengths."""
    return [list(range(size)) for size in sizes]


def test_a_growing_chat_finds_whole_blocks() -> None:
    # 40 tokens hold 2 whole blocks of 16; 72 hold 4.
    report = assert_reuse(grown(40, 72, 100))
    assert [r.cached_tokens for r in report.requests] == [0, 32, 64]
    assert [r.stable_tokens for r in report.requests] == [0, 40, 72]
    assert [r.rounding_tokens for r in report.requests] == [0, 8, 8]
    assert report.tokens == 212
    assert report.cached_tokens == 96
    assert report.share == pytest.approx(96 / 172)
    assert report.text().startswith("vLLM reuses 96 of 172 prompt tokens (55.8%) over 3 requests (the first apart)")


def test_an_exact_retry_computes_its_last_block_again() -> None:
    # At most 63 tokens may be found of 64: 3 blocks.
    report = assert_reuse([A, A])
    assert report.requests[1].cached_tokens == 48
    assert report.requests[1].rounding_tokens == 16


def test_a_changed_prompt_fails_with_place_and_number() -> None:
    changed = [*A[:20], 7, *A[21:]]
    with pytest.raises(ReuseFailure) as caught:
        assert_reuse([A, [*changed, 1, 2]])
    first = str(caught.value).split("\n", 1)[0]
    assert "request 1 finds 16 of the 64 tokens of request 0" in first
    assert "44 tokens changed" in first
    assert caught.value.report.requests[1].changed_tokens == 44


def test_a_pool_that_is_too_small_is_named() -> None:
    other = list(range(500, 564))
    requests = [
        {"prompt_token_ids": A, "key": "a"},
        {"prompt_token_ids": other, "key": "b"},
        {"prompt_token_ids": [*A, 1, 2], "key": "a"},
    ]
    # 7 usable blocks: A takes 4, the other one 4, so that one of A's is lost. Its tail goes first.
    with pytest.raises(ReuseFailure, match="evicted for lack of room") as caught:
        assert_reuse(requests, engine=PrefixCache("vllm", block_size=16, num_blocks=8))
    assert caught.value.report.requests[2].evicted_tokens == 16
    assert assert_reuse(requests, engine=PrefixCache("vllm", block_size=16, num_blocks=20))


def test_another_salt_shares_nothing() -> None:
    requests = [{"prompt_token_ids": A, "cache_salt": "raw"}, {"prompt_token_ids": [*A, 1], "cache_salt": "prepared"}]
    with pytest.raises(ReuseFailure, match="64 tokens stored under another salt or adapter") as caught:
        assert_reuse(requests)
    assert caught.value.report.requests[1].cached_tokens == 0


def test_least_tokens_and_least_share() -> None:
    prompts = grown(40, 72)
    assert assert_reuse(prompts, min_cached=32)
    assert assert_reuse(prompts, min_cached=0.4)
    assert assert_reuse(prompts, min_share=0.44)
    with pytest.raises(ReuseFailure, match=r"request 1 finds 32 of 72 tokens \(44.4%\), min_cached is 33 tokens"):
        assert_reuse(prompts, min_cached=33)
    with pytest.raises(ReuseFailure, match=r"32 of 72 prompt tokens are reused \(44.4%\), min_share is 45%"):
        assert_reuse(prompts, min_share=0.45)


def test_a_model_that_cannot_rewind_is_stable_and_not_reused() -> None:
    cache = PrefixCache("vllm", model_type="hybrid")
    report = check_reuse(grown(561, 600), engine=cache)
    assert report.requests[1].stable_tokens == 561
    assert report.requests[1].cached_tokens == 0
    assert report.limits is not None
    with pytest.raises(ReuseFailure, match="reuses nothing here"):
        assert_reuse(grown(561, 600), engine=PrefixCache("vllm", model_type="hybrid"))


def test_known_answers_are_kept_but_for_their_last_token() -> None:
    rec = Recording(template=None)
    prompt = list(range(60))
    rec.request({"prompt_token_ids": prompt})
    answer = list(range(60, 81))
    rec.response(token_ids=answer)
    rec.request({"prompt_token_ids": [*prompt, *answer, 5]})
    # 60 + 21 = 81 tokens, of which 80 have a KV: 5 blocks.
    report = rec.assert_reused("vllm")
    assert report.requests[1].cached_tokens == 80


def test_the_last_sampled_token_completes_no_block() -> None:
    rec = Recording()
    rec.request({"prompt_token_ids": list(range(60))})
    rec.response(token_ids=list(range(60, 80)))
    rec.request({"prompt_token_ids": list(range(81))})
    # 80 tokens, of which 79 have a KV: 4 blocks.
    assert rec.assert_reused(min_cached=1).requests[1].cached_tokens == 64


def test_a_second_statement_beside_stability() -> None:
    report = assert_prefix_stable(grown(40, 72), engine="vllm")
    assert report.reuse is not None
    assert report.as_dict()["reuse"]["cached_tokens"] == 32
    assert "vLLM reuses 32 of 72 prompt tokens (44.4%)" in report.text()
    assert assert_prefix_stable(grown(40, 72)).as_dict()["reuse"] is None


def test_a_tail_that_the_template_drops_is_no_failure(qwen3_dir: Path) -> None:
    # Without thinking, Qwen3's generation prompt opens and closes an empty think block, which history does not keep.
    chat = [
        {"role": "user", "content": "Name a river in France, one that does not flow through Paris."},
        {"role": "assistant", "content": "The Loire."},
        {"role": "user", "content": "And one in Spain?"},
    ]
    report = assert_reuse(chat, template=str(qwen3_dir), template_kwargs={"enable_thinking": False})
    (second,) = report.continuing
    assert second.tail
    assert second.changed_tokens == 4
    assert second.cached_tokens == second.stable_tokens // 16 * 16


def test_tools_that_the_template_drops_are_no_pass(smollm2_tokenizer_dir: Path) -> None:
    chat = [
        {"role": "user", "content": "Is it raining?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "And now?"},
    ]
    tool = {"type": "function", "function": {"name": "look_outside", "parameters": {"type": "object"}}}
    with pytest.raises(
        ReuseFailure, match="prompt is not complete: not rendered: the template leaves out tools look_outside"
    ):
        assert_reuse(chat, template=str(smollm2_tokenizer_dir), tools=[tool])


def test_chats_side_by_side_in_one_list() -> None:
    other = list(range(700, 764))
    report = assert_reuse([A, other, [*A, 1, 2], [*other, 3], A])
    assert [r.against for r in report.requests] == [None, None, 0, 1, 0]


def test_a_prompt_that_continues_none_is_held_against_the_one_before() -> None:
    with pytest.raises(ReuseFailure, match="request 1 finds 0 of the 64 tokens of request 0: 64 tokens changed"):
        assert_reuse([A, list(range(700, 764))])


def test_a_declared_reset_has_nothing_to_find() -> None:
    system = {"role": "system", "content": "Be brief."}
    ask = {"role": "user", "content": "How many days of leave do I have, and whom do I ask for them?"}
    more = [ask, {"role": "assistant", "content": "28."}, {"role": "user", "content": "Whom?"}]
    requests = [[system, ask], [system, *more], [system, {"role": "user", "content": "<summary>28 days.</summary>"}]]

    def ids(chat: list[dict[str, Any]]) -> list[int]:
        return [ord(c) for m in chat for c in f"{m['role']}: {m['content']}\n"]

    with pytest.raises(ReuseFailure, match="request 2 finds"):
        assert_reuse(requests, template=ids)
    report = assert_reuse(requests, template=ids, resets=[2], max_resets=1)
    assert report.requests[2].reset is not None
    assert len(report.continuing) == 1
    with pytest.raises(ReuseFailure, match="1 resets happened, max_resets is 0"):
        assert_reuse(requests, template=ids, resets=[2], max_resets=0)


def test_words_for_what_is_not_found() -> None:
    retry = assert_reuse([A, A]).text()
    assert "16 tokens of the last block: the last token of a prompt is always computed" in retry
    single = assert_reuse([A, A], engine="sglang").text()
    assert "1 token at the end: the last token of a prompt is always computed" in single
    cut = check_reuse([A, [*A[:40], 7]], engine=PrefixCache("llamacpp", model_type="recurrent"))
    assert (
        "40 tokens that the engine holds: a recurrent or hybrid model cannot go back to an earlier token" in cut.text()
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "vlm"}, "did you mean 'vllm'"),
        ({"engine": 3}, "an engine's name"),
        ({"min_cached": 0}, "min_cached=0"),
        ({"min_cached": 1.5}, r"min_cached=1\.5"),
        ({"min_cached": True}, "min_cached=True"),
        ({"min_share": 80}, "min_share=80"),
        ({"min_share": 1}, "can never hold"),
        ({"min_cached": 1.0}, "can never hold"),
        ({"min_chached": 3}, "did you mean 'min_cached'"),
        ({"block_size": 0}, "block_size"),
        ({"block_size": 16, "engine": "sglang"}, "means nothing to SGLang"),
        ({"block_size": 16, "engine": PrefixCache("vllm")}, "beside a PrefixCache"),
    ],
)
def test_misuse_is_one_line(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        assert_reuse(grown(40, 72), **options)
    assert "\n" not in str(caught.value)


def test_a_prompt_larger_than_the_pool_is_an_error() -> None:
    # 7 usable blocks of 16 are 112 tokens.
    prompts = [list(range(60)), list(range(460))]
    with pytest.raises(UsageError, match="request 1: vLLM refuses it: 460 tokens need 29 blocks") as caught:
        assert_reuse(prompts, engine=PrefixCache("vllm", num_blocks=8), min_share=0.05)
    assert "\n" not in str(caught.value)


def test_arrays_are_lists_of_ids() -> None:
    numpy = pytest.importorskip("numpy", reason="comes with transformers")
    assert assert_reuse([numpy.arange(64), numpy.arange(80)]).cached_tokens == 64


def test_what_compared_nothing_is_an_error() -> None:
    with pytest.raises(UsageError, match="nothing was compared"):
        assert_reuse([A])


def test_wire_bodies_have_no_token_ids() -> None:
    chat = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    with pytest.raises(UsageError, match="has none: give template="):
        assert_reuse(chat)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=40), min_size=2, max_size=8),
    st.integers(1, 5),
    st.one_of(st.none(), st.integers(42, 60)),
)
def test_the_losses_lead_from_stable_to_cached(prompts: list[list[int]], size: int, blocks: int | None) -> None:
    cache = PrefixCache("vllm", block_size=size, num_blocks=blocks)
    report = check_reuse(prompts, engine=cache)
    for r in report.continuing:
        assert 0 <= r.cached_tokens < r.tokens
        assert min(r.rounding_tokens, r.namespace_tokens, r.evicted_tokens, r.changed_tokens) >= 0
        # What other requests left may add to it, nothing is lost without a reason.
        assert r.stable_tokens - r.rounding_tokens - r.namespace_tokens - r.evicted_tokens <= r.cached_tokens
