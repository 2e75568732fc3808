"""`replay`: the numbers of the engine, added up; why tokens were missed; requests that wait or do not fit."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe import PrefixCache, UsageError, replay

# Few ids, so that prompts share prefixes by chance; whole prefixes are shared on purpose.
Ids = st.lists(st.integers(0, 2), min_size=1, max_size=40)
Lines = st.lists(
    st.builds(
        lambda ids, salt, tag, conversation, output: {
            "prompt_token_ids": ids,
            **({"salt": salt} if salt else {}),
            **({"tag": tag} if tag else {}),
            **({"conversation": conversation} if conversation else {}),
            **({"output_token_ids": output} if output else {}),
        },
        Ids,
        st.sampled_from([None, "a", "b"]),
        st.sampled_from([None, "x", "y"]),
        st.sampled_from([None, "c", "d"]),
        st.lists(st.integers(0, 2), max_size=6),
    ),
    min_size=1,
    max_size=30,
)


@settings(deadline=None)
@given(Lines, st.sampled_from([1, 2, 4]), st.sampled_from([None, 24, 60]))
def test_equals_the_engine_request_by_request(lines: list[dict[str, Any]], block: int, blocks: int | None) -> None:
    cache = PrefixCache("vllm", block_size=block, num_blocks=blocks)
    expected = []
    for line in lines:
        sent = cache.request(line["prompt_token_ids"], salt=line.get("salt"))
        if not sent.admitted:
            continue
        expected.append((len(line["prompt_token_ids"]), sent.cached_tokens))
        if line.get("output_token_ids"):
            sent.append(line["output_token_ids"])
        sent.free()
    report = replay(iter(lines), block_size=block, num_blocks=blocks, strict=False)
    rows = report.per_request or []
    assert [(row.tokens, row.cached_tokens) for row in rows] == expected
    assert report.skipped == len(lines) - len(expected)
    assert (report.requests, report.tokens) == (len(expected), sum(n for n, _ in expected))
    assert report.cached_tokens == sum(hit for _, hit in expected) == report.hit_blocks * block
    tagged = [row for row in rows if row.tag is not None]
    assert sum(one.cached_tokens for one in report.by_tag.values()) == sum(row.cached_tokens for row in tagged)
    assert sum(one["requests"] for one in report.over_time) == report.requests
    assert report.reasons is not None
    # What was not found is told apart completely.
    assert sum(tokens for _, tokens in report.reasons.values()) == report.tokens - report.cached_tokens
    assert sum(requests for requests, _ in report.reasons.values()) == report.requests


def naive_reasons(lines: list[dict[str, Any]], rows: list[Any], block: int) -> list[dict[str, int]]:
    """By sets of whole prefixes, without hashes and without bounds."""
    sent: set[tuple[Any, tuple[int, ...]]] = set()
    turns: dict[str, tuple[Any, tuple[int, ...]]] = {}
    out = []
    for line, row in zip(lines, rows, strict=True):
        ids, salt = tuple(line["prompt_token_ids"]), line.get("salt")
        cap = (len(ids) - 1) // block * block
        found: dict[str, int] = {}
        stage = 0
        for at in range(row.cached_tokens, cap, block):
            prefix = ids[: at + block]
            before = turns.get(line.get("conversation", ""))
            if stage == 0 and (salt, prefix) not in sent:
                stage = 1
            if stage == 1 and not any(other == prefix for _, other in sent):
                stage = 2
            if stage == 2:
                whole = before[1][: len(before[1]) // block * block] if before else ()
                edited = before is not None and (before[0] != salt or ids[: len(whole)] != whole)
                if not edited or at + block > len(whole):
                    stage = 3
            name = ("evicted", "salt", "edited_history", "new_prefix")[stage]
            found[name] = found.get(name, 0) + block
        found["below_block"] = len(ids) - cap
        out.append(found)
        # The reply's last token has no KV.
        known = ids + tuple(line.get("output_token_ids", [])[:-1])
        sent.update((salt, known[:end]) for end in range(block, len(known) + 1, block))
        if "conversation" in line:
            turns[line["conversation"]] = (salt, known)
    return out


@settings(deadline=None)
@given(Lines, st.sampled_from([1, 2, 4]), st.sampled_from([None, 60]))
def test_reasons_equal_those_of_sets_of_prefixes(lines: list[dict[str, Any]], block: int, blocks: int | None) -> None:
    report = replay(lines, block_size=block, num_blocks=blocks)
    rows = report.per_request or []
    total: dict[str, int] = {}
    for found in naive_reasons(lines, rows, block):
        for name, tokens in found.items():
            total[name] = total.get(name, 0) + tokens
    assert report.reasons is not None
    assert {name: tokens for name, (_, tokens) in report.reasons.items()} == total


def reasons(lines: list[Any], **options: Any) -> list[str | None]:
    return [row.miss_reason for row in replay(lines, block_size=4, **options).per_request or []]


def test_each_reason() -> None:
    a, b = list(range(9)), list(range(100, 109))
    # 9 tokens are two whole blocks and one token: of a repeated prompt only that token is computed.
    assert reasons([a, a]) == ["new_prefix", "below_block"]
    # Usable are 3 blocks; b takes all of them.
    assert reasons([a, b, a], num_blocks=4) == ["new_prefix", "new_prefix", "evicted"]
    assert reasons([[1, 2, 3]]) == ["below_block"]
    one, two = ({"prompt_token_ids": a, "salt": salt} for salt in ("x", "y"))
    assert reasons([one, two, one]) == ["new_prefix", "salt", "below_block"]
    assert reasons([one, {"prompt_token_ids": a}]) == ["new_prefix", "salt"]
    lora = {"prompt_token_ids": a, "lora": "adapter"}
    assert reasons([lora, a]) == ["new_prefix", "salt"]
    turns = [{"prompt_token_ids": ids, "conversation": "c"} for ids in (a, a[:8] + b, a[:4] + b)]
    assert reasons(turns) == ["new_prefix", "new_prefix", "edited_history"]


def test_an_edited_history_counts_what_the_edit_lost() -> None:
    first = list(range(16))
    turn = {"prompt_token_ids": first, "conversation": "c"}
    edited = {"prompt_token_ids": [*first[:4], 99, *first[5:], *range(50, 58)], "conversation": "c"}
    report = replay([turn, edited], block_size=4)
    assert report.reasons is not None
    # Of 24 tokens 4 are found. Blocks 1 to 3 were there before and were changed: 12 tokens. The cap is 20, so that one
    # block, 4 tokens, is new, and the last 4 are always computed. The first turn: 12 new, 4 below its cap.
    assert dict(report.reasons) == {"new_prefix": [1, 16], "below_block": [0, 8], "edited_history": [1, 12]}


def test_hybrid_models_cannot_reuse_and_say_so() -> None:
    report = replay([list(range(9))] * 2, options={"model_type": "hybrid"}, block_size=4)
    assert report.cached_tokens == 0
    assert report.reasons is not None
    assert report.reasons["engine_limit"] == [1, 8]
    assert "hybrid" in (report.limits or "")
    assert "limit: hybrid" in report.text()


def test_a_cache_that_is_off_and_one_that_drafts() -> None:
    ids = list(range(9))
    for options, tokens in ({"caching": False}, 8), ({"eagle": True}, 4):
        report = replay([ids, ids], options=options, block_size=4)
        assert report.reasons is not None
        # Off, both blocks are computed anew; with EAGLE the last one that is found.
        assert report.reasons["engine_limit"] == [1, tokens]
        assert "evicted" not in report.reasons


def test_more_names_than_memory_allows_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_cachesafe.engines.replay import totals

    monkeypatch.setattr(totals, "_NAMES", 3)
    report = replay([{"prompt_token_ids": [1, 2], "tag": str(i)} for i in range(10)])
    assert {name: one.requests for name, one in report.by_tag.items()} == {"0": 1, "1": 1, "2": 1, "(other)": 7}


def test_what_an_engine_refuses_is_a_bad_line() -> None:
    class Refuses(type(PrefixCache("vllm"))):  # type: ignore[misc]
        def request(self, token_ids: Any, *args: Any, **more: Any) -> Any:
            if len(token_ids) == 2:
                raise UsageError("no adapters here")
            return super().request(token_ids, *args, **more)

    report = replay([[1], [1, 2], [1, 2, 3]], Refuses("vllm"), strict=False)
    assert (report.requests, report.bad) == (2, [(1, "no adapters here")])


def test_memory_of_the_reasons_is_bounded_and_says_when_it_was_not_enough() -> None:
    from pytest_cachesafe.engines.replay.reasons import Reasons

    memory = Reasons(1, remember=100)
    for start in range(0, 10_000, 10):
        memory.account(list(range(start, start + 10)), 0, None, ("t", str(start)))
    assert len(memory._young) + len(memory._old) <= 110
    # 10,000 blocks were seen, at most 110 are still known.
    assert memory.forgot >= 10_000 - 110
    found, _ = memory.account(list(range(9_990, 10_000)), 0, None, None)
    assert found == [("evicted", 9), ("below_block", 1)]
    assert memory.account(list(range(10)), 0, None, None)[0] == [("new_prefix", 9), ("below_block", 1)]


def test_requests_at_once_hold_their_place() -> None:
    a, b, c = (list(range(start, start + 8)) for start in (0, 100, 200))
    # Usable are 4 blocks of 4 tokens, so that two prompts fit. One at a time, a is still there in the end.
    assert replay([a, b, a], block_size=4, num_blocks=5).cached_tokens == 4
    together = replay([a, b, c], block_size=4, num_blocks=5, live=3)
    assert together.waited == 1
    assert [row.waited for row in together.per_request or []] == [0, 0, 1]
    assert "1 request had to wait" in together.text()


def test_the_reply_of_a_live_request_is_not_there_yet() -> None:
    first = {"prompt_token_ids": [1, 2, 3], "output_token_ids": [4, 5, 6, 7, 8, 9]}
    # Prompt and reply but for its last token: 8 tokens, two blocks.
    second = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert replay([first, second], block_size=4).cached_tokens == 8
    assert replay([first, second], block_size=4, live=2).cached_tokens == 0


def test_a_prompt_larger_than_the_pool_is_skipped_and_the_others_go_on() -> None:
    report = replay([[1] * 4, [2] * 40, [1] * 5], block_size=4, num_blocks=4, strict=False)
    assert (report.requests, report.skipped, report.tokens, report.cached_tokens) == (2, 1, 9, 4)
    words = "40 tokens are more than the whole cache holds (40 tokens need 10 blocks, the whole pool has 3)"
    assert report.bad == [(1, words)]
    assert report.too_large == 1
    assert "1 line skipped: larger than the whole cache" in report.text()
    mixed = replay([[1] * 4, [2] * 40, []], block_size=4, num_blocks=4, strict=False)
    assert "2 lines skipped: no request, but for 1 larger than the whole cache" in mixed.text()
    assert [row.request for row in report.per_request or []] == [0, 2]
    with pytest.raises(UsageError, match="item 1: 40 tokens are more than the whole cache holds"):
        replay([[1] * 4, [2] * 40], block_size=4, num_blocks=4)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llamacpp", "lmcache"])
def test_every_engine(engine: str) -> None:
    turns = [list(range(n)) for n in (40, 80, 120)]
    cache = PrefixCache(engine)
    expected = 0
    for turn in turns:
        sent = cache.request(turn)
        expected += sent.cached_tokens
        sent.free()
    report = replay(turns, engine)
    assert report.cached_tokens == expected > 0
    assert report.reasons is not None
    assert sum(tokens for _, tokens in report.reasons.values()) == report.tokens - expected


def test_a_cache_of_ones_own_stays_warm() -> None:
    cache = PrefixCache("vllm", block_size=4)
    assert replay([list(range(8))], cache).cached_tokens == 0
    assert replay([list(range(8))], cache).cached_tokens == 4
    with pytest.raises(UsageError, match="own sizes"):
        replay([[1]], cache, num_blocks=5)


def test_a_generator_is_streamed() -> None:
    """Prompts are let go one by one; rows are not kept."""
    alive = 0

    class Prompt(list[int]):
        def __init__(self, ids: range) -> None:
            nonlocal alive
            super().__init__(ids)
            alive += 1

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    most = 0

    def prompts() -> Iterator[list[int]]:
        nonlocal most
        for i in range(500):
            yield Prompt(range(i, i + 20))
            most = max(most, alive)

    report = replay(prompts(), num_blocks=100, summary=True)
    assert report.requests == 500
    assert report.per_request is None
    assert most <= 3


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    def peak(lines: int) -> int:
        path = tmp_path / f"{lines}.jsonl"
        with path.open("w") as file:
            for i in range(lines):
                file.write(f'{{"prompt_token_ids": {list(range(i, i + 40))}, "tag": "t{i % 3}"}}\n')
        tracemalloc.start()
        try:
            replay(path, num_blocks=100, live=4, summary=True, reasons=False)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    # Kept, rows alone would take 200 bytes a request and more: 1 MB for 5,000.
    assert peak(5_500) - peak(500) < 200_000


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"block_size": 0}, "block_size=0"),
        ({"block_size": -16}, "block_size=-16"),
        ({"num_blocks": 0}, "num_blocks=0"),
        ({"num_blocks": 1}, "num_blocks=1"),
        ({"live": 0}, "live=0"),
        ({"engine": "vlm"}, "did you mean 'vllm'"),
        ({"engine": "llamacpp", "block_size": 16}, "token by token"),
        ({"engine": "llamacpp", "num_blocks": 16}, "slots"),
        ({"options": {"polcy": 1}, "engine": "sglang"}, "did you mean 'policy'"),
        ({"shard": (0, 2)}, "shard_by"),
        ({"shard_by": "replica", "shard": (2, 2)}, "0 to 1"),
        ({"window_by": "days"}, "requests or seconds"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        replay([[1, 2, 3]], **options)
    assert "\n" not in str(caught.value)


def test_nothing_to_replay() -> None:
    with pytest.raises(UsageError, match="no request in it"):
        replay([])
    with pytest.raises(UsageError, match=r"item 0: .*a list of token ids is one request"):
        replay([1, 2, 3])


def test_windows_double_and_add_up() -> None:
    report = replay([[i] for i in range(130)])
    # 60 windows at most: width 1, 2, then 4 from request 120 on; 130 requests are 32 windows of 4 and one of 2.
    assert report.windows.width == 4
    assert [one["requests"] for one in report.over_time] == [4] * 32 + [2]
    fixed = replay([[i] for i in range(130)], window=100)
    assert [(one["first_request"], one["requests"]) for one in fixed.over_time] == [(0, 100), (100, 30)]


def test_windows_of_time() -> None:
    lines = [{"prompt_token_ids": [i], "timestamp": 1000 + t} for i, t in enumerate((0, 59, 60, 200, 30))]
    report = replay([*lines, [9]], window=60, window_by="seconds")
    # 30 s came late and belongs to the first minute.
    assert [(one["second"], one["requests"]) for one in report.over_time] == [(0, 3), (60, 1), (180, 1)]
    assert report.untimed == 1


def test_the_text_is_safe_and_its_first_line_complete() -> None:
    lines = [{"prompt_token_ids": list(range(40)), "tag": "\x1b[31m##[error]", "tenant": "t\n::error::x"}] * 2
    text = replay(lines).text()
    first = text.split("\n")[0]
    # Of 40 tokens two blocks of 16 are found.
    assert first == "vLLM reuses 40.0% of prompt tokens: 32 of 80 in 2 requests (block size 16, pool without limit)"
    assert "\x1b" not in text
    assert "##[" not in text
    assert "\n::" not in text


def test_shares_are_not_rounded_to_nothing_or_all() -> None:
    from pytest_cachesafe.report.simulate import percent

    assert [percent(*pair) for pair in ((0, 9), (1, 10_000), (9_999, 10_000), (5, 5), (0, 0))] == [
        "0.0%",
        "0.1%",
        "99.9%",
        "100.0%",
        "0.0%",
    ]


@pytest.mark.parametrize(
    ("window", "by", "words"),
    [
        (0, "requests", "window=0"),
        (-1, "requests", "window=-1"),
        (1.5, "requests", "window=1.5"),
        (True, "requests", "window=True"),
        (0, "seconds", "window=0: seconds"),
        (-0.5, "seconds", "window=-0.5: seconds"),
        (float("nan"), "seconds", "window=nan: seconds"),
        (float("inf"), "seconds", "window=inf: seconds"),
        ("60s", "seconds", "window='60s': seconds"),
        (60, "minutes", "window_by='minutes'"),
    ],
)
def test_windows_without_width(window: Any, by: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        replay([[1, 2]], window=window, window_by=by)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert replay([[1, 2]], window=0.5, window_by="seconds").requests == 1


@pytest.mark.parametrize("trace", [None, 3, 1.5, object()])
def test_no_log_at_all(trace: Any) -> None:
    with pytest.raises(UsageError, match=r"the trace is .*: give the path of a log, or a list of requests"):
        replay(trace)


@pytest.mark.parametrize("shard", [3, (0,), (0, 1, 2), "0/2", ("0", "2"), (2, 2), (0, 0), (True, 2), (-1, 2)])
def test_no_such_shard(shard: Any) -> None:
    with pytest.raises(UsageError, match="shard"):
        replay([[1, 2]], shard_by="replica", shard=shard)


@pytest.mark.parametrize("model", ["recurrent", "hybrid"])
def test_a_model_that_cannot_go_back_has_evicted_nothing(model: str) -> None:
    a = list(range(100))
    log = [a, [*a[:60], 7], [*a[:60], 7, 8], list(range(200, 230))]
    report = replay(log, "llamacpp", options={"slots": 1, "model_type": model})
    # Request 1 shares 60 tokens with the slot, whose state is that of token 100; request 2 extends it by one.
    assert [row.cached_tokens for row in report.per_request or []] == [0, 0, 61, 0]
    assert report.reasons is not None
    # Of request 0: 99 new, 1 last; of 1: 60 held, the last; of 2: the last; of 3: 29 new, 1 last.
    assert dict(report.reasons) == {"new_prefix": [2, 128], "below_block": [1, 4], "cannot_rewind": [1, 60]}
    assert not any("slots" in words for words in report.advice)
    # What really is gone is still called so: without RAM the second prompt takes the only slot.
    gone = replay([a, [7] * 50, a], "llamacpp", options={"slots": 1, "model_type": model, "cache_ram": 0})
    assert gone.reasons is not None
    assert gone.reasons["evicted"][1] > 0
    assert "cannot_rewind" not in gone.reasons


@settings(deadline=None, max_examples=50)
@given(Lines, st.sampled_from(["recurrent", "hybrid", "attention"]), st.sampled_from([1, 2]))
def test_reasons_of_llamacpp_add_up(lines: list[dict[str, Any]], model: str, slots: int) -> None:
    report = replay(lines, "llamacpp", options={"slots": slots, "model_type": model})
    assert report.reasons is not None
    assert sum(tokens for _, tokens in report.reasons.values()) == report.tokens - report.cached_tokens
    assert all(tokens > 0 for _, tokens in report.reasons.values())
    assert model != "attention" or "cannot_rewind" not in report.reasons


def test_memory_that_runs_out_is_an_error_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_cachesafe.engines.replay.feed import Feed

    def short(self: Feed, entry: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(Feed, "request", short)
    with pytest.raises(MemoryError, match="out of memory after 0 requests"):
        replay([[1, 2]])
