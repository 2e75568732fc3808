"""Side by side: stable tokens, tokens an engine reuses, prefill saved, and less saved in all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.kv import KVProbe, SideBySide
from pytest_cachesafe.kv.result import ChatReport, ChatTurn, Setting
from pytest_cachesafe.report.kv import bar, render_side_by_side
from pytest_cachesafe.usage import UsageError

CHAT = [
    {"role": "system", "content": "You are a librarian. Answer in one short sentence."},
    {"role": "user", "content": "Hi, who are you?"},
    {"role": "assistant", "content": "The librarian. What would you like to read?"},
    {"role": "user", "content": "Name one novel."},
]


@pytest.fixture(scope="module")
def desk(probe: KVProbe) -> SideBySide:
    """Two requests against vLLM with blocks of 16."""
    return probe.compare(CHAT, "vllm", block_size=16, num_blocks=64, new_tokens=4)


def test_the_model_computes_what_the_engine_would(desk: SideBySide) -> None:
    first, second = desk.turns
    assert (first.stable_tokens, first.engine_tokens, first.reused_tokens) == (0, 0, 0)
    # All but the last token of the reply is cached; of it, whole blocks.
    held = first.prompt_tokens + first.reply_tokens - 1
    assert second.engine_tokens == second.reused_tokens == held // 16 * 16
    assert second.computed_tokens == second.prompt_tokens - second.reused_tokens
    # The first request, and nothing of its reply, is in the second at the same place.
    assert second.stable_tokens == first.prompt_tokens
    assert desk.chat.largest_difference is not None
    assert desk.chat.largest_difference <= 1e-3


def test_report_side_by_side(desk: SideBySide) -> None:
    text = str(desk)
    whole = desk.chat.prompt_tokens
    assert text.startswith(f"2 turns, {whole} prompt tokens [vLLM; ")
    assert f"stable:  {desk.stable_tokens} tokens" in text
    assert f"reused:  {desk.engine_tokens} tokens" in text
    assert "decoding included" in text
    assert "from a run without cache; greedy text the same" in text
    assert desk.as_dict()["same_text"] is True
    assert not any(word in text for word in ("librarian", "novel", "read"))


def turn(seconds: float, recompute: float, decode: float) -> ChatTurn:
    """A turn with these times."""
    return ChatTurn(100, 80, 80, 20, 109, 10, False, False, seconds, decode, 60, 80, recompute)


def test_the_saving_in_all_is_smaller() -> None:
    setting = Setting("m", "float32", "cpu", "dynamic", 2, 1e-3)
    report = SideBySide(ChatReport(setting, [turn(1.0, 4.0, 3.0), turn(1.0, 4.0, 9.0)], [], [], []), "vLLM")
    # Prefill 2 s instead of 8 s: 75 %; with 12 s of decoding on both sides 14 s instead of 20 s: 30 %.
    assert report.prefill_saving == pytest.approx(0.75)
    assert report.end_to_end_saving == pytest.approx(0.30)
    text = render_side_by_side(report)
    assert "prefill: 2.000 s with reuse, 8.000 s without: 75.0% saved" in text
    assert "in all:  30.0% saved, decoding included (12.000 s, the same with and without reuse)" in text


@given(
    st.lists(
        st.tuples(st.floats(0.01, 10), st.floats(0.01, 10), st.floats(0.001, 100)).filter(lambda t: t[0] <= t[1]),
        min_size=1,
    )
)
def test_decoding_never_adds_to_a_saving(times: list[tuple[float, float, float]]) -> None:
    setting = Setting("m", "float32", "cpu", "dynamic", 2, 1e-3)
    report = SideBySide(ChatReport(setting, [turn(*one) for one in times], [], [], []), "vLLM")
    assert 0 <= report.end_to_end_saving <= report.prefill_saving + 1e-12


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(1, 20_000))
def test_a_bar_shows_what_there_is(reused: int, computed: int, longest: int) -> None:
    drawn = bar(reused, computed, max(longest, reused + computed))
    assert 1 <= len(drawn) <= 40 or not reused + computed
    assert ("#" in drawn) == (computed > 0) or not reused + computed


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.text("abc é", min_size=1, max_size=8), min_size=1, max_size=3),
    st.sampled_from(["vllm", "sglang", "lmcache", "llamacpp"]),
    st.booleans(),
)
def test_tokens_and_seconds_are_of_one_run(tiny: KVProbe, questions: list[str], engine: str, warm: bool) -> None:
    """The tiny model's template shortens old answers, so an engine may hold what the model's cache lost."""
    cache = PrefixCache(engine, **({"block_size": 4} if engine == "vllm" else {}))
    chat = [{"role": "user", "content": question} for question in questions]
    for _ in range(1 + warm):
        report = tiny.compare(chat, cache, new_tokens=3)
        for one in report.turns:
            assert one.reused_tokens == one.engine_tokens
            assert one.computed_tokens == one.prompt_tokens - one.reused_tokens
            # Nothing reused, nothing saved and nothing lost.
            assert one.reused_tokens or one.seconds == one.recompute_seconds
        assert report.chat.same_text
        assert report.chat.largest_difference is not None
        assert report.chat.largest_difference <= 1e-3


def test_nothing_is_saved_where_nothing_is_reused(tiny: KVProbe) -> None:
    # Blocks of 500 tokens: no prompt fills one.
    report = tiny.compare(CHAT, "vllm", block_size=500, num_blocks=9, new_tokens=2)
    assert (report.engine_tokens, report.prefill_saving, report.end_to_end_saving) == (0, 0.0, 0.0)
    assert ": 0.0% saved\n" in str(report)
    chat = tiny.chat(CHAT[:2], new_tokens=2)
    assert chat.turns[0].seconds == chat.turns[0].recompute_seconds


def test_a_prompt_larger_than_the_pool(tiny: KVProbe) -> None:
    before = tiny.tokens_computed
    with pytest.raises(
        UsageError, match=r"^turn 0: vLLM refuses the prompt of \d+ tokens: .* need .* blocks, the whole"
    ):
        tiny.compare(CHAT, "vllm", block_size=4, num_blocks=3, new_tokens=2)
    assert tiny.tokens_computed == before


def test_a_reply_larger_than_the_pool(tiny: KVProbe) -> None:
    prompt = tiny.chat(CHAT[:2], new_tokens=1, verify=False).turns[0].prompt_tokens
    # Blocks for the prompt, one of vLLM's own, and none for a reply of 32 tokens.
    report = tiny.compare(CHAT[:2], "vllm", block_size=4, num_blocks=prompt // 4 + 2, new_tokens=32)
    assert report.turns[0].reply_tokens > 4
    (words,) = report.chat.notes
    assert words.startswith("turn 0: the engine has no room for the reply of ")
    assert f"  note: {words}" in str(report)


def test_an_engine_that_is_given_keeps_what_it_holds(tiny: KVProbe) -> None:
    cache = PrefixCache("vllm", block_size=4, num_blocks=200)
    cold = tiny.compare(CHAT, cache, new_tokens=2)
    warm = tiny.compare(CHAT, cache, new_tokens=2)
    assert cold.turns[0].engine_tokens == 0
    assert warm.turns[0].engine_tokens > 0  # type: ignore[operator]
    # The model gets what the engine holds before anything is measured: tokens, table and seconds are of one run.
    for one in (*cold.turns, *warm.turns):
        assert one.reused_tokens == one.engine_tokens
        assert one.computed_tokens == one.prompt_tokens - one.reused_tokens
        assert one.dropped_tokens >= 0
        assert one.same_text
    assert f"reused:  {warm.engine_tokens} tokens" in str(warm)
    assert warm.chat.computed_tokens == warm.chat.prompt_tokens - warm.engine_tokens
    with pytest.raises(UsageError, match="block_size= beside a PrefixCache"):
        tiny.compare(CHAT, cache, block_size=4)
    with pytest.raises(UsageError, match="unknown engine 'vlm'; did you mean 'vllm'"):
        tiny.compare(CHAT, "vlm")
