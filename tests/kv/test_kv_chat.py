"""A chat with one kept cache: work per turn is what was added, the text is that of a run without any cache."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.kv import ChatReport, KVProbe
from pytest_cachesafe.stability import CachesafeWarning
from pytest_cachesafe.usage import UsageError

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a librarian. Answer in one short sentence."},
    {"role": "user", "content": "Hi, who are you?"},
    {"role": "user", "content": "Name one novel."},
    {"role": "assistant", "content": "Try Middlemarch."},
    {"role": "user", "content": "Who wrote it?"},
]


@pytest.fixture(scope="module")
def desk(probe: KVProbe) -> ChatReport:
    """Three requests; the model answers the first and the last, the second answer is given."""
    return probe.chat(CHAT, new_tokens=8)


def test_cache_holds_prompt_and_reply_but_one(desk: ChatReport) -> None:
    for turn in desk.turns:
        assert turn.cache_tokens == turn.prompt_tokens + turn.reply_tokens - 1
    assert [t.given for t in desk.turns] == [False, True, False]


def test_each_turn_computes_what_it_adds(desk: ChatReport) -> None:
    first, second, third = desk.turns
    assert first.computed_tokens == first.prompt_tokens
    for before, turn in ((first, second), (second, third)):
        assert turn.cached_tokens == before.cache_tokens
        assert turn.computed_tokens == turn.prompt_tokens - turn.reused_tokens < turn.prompt_tokens / 2
    # The given answer ends in <|im_end|>, whose KV is computed with the next prompt: all that was cached is reused.
    assert third.dropped_tokens == 0


def test_logits_and_text_are_those_of_a_run_without_cache(desk: ChatReport, probe: KVProbe) -> None:
    assert desk.largest_difference is not None
    assert desk.largest_difference <= 1e-3
    assert desk.same_text
    # The long way: everything again for each token.
    assert list(desk.sampled[0]) == probe.sample(desk.prompts[0], 8, use_cache=False)
    assert desk.replies[1] == "Try Middlemarch.<|im_end|>"


def test_report_is_a_waterfall_without_text(desk: ChatReport) -> None:
    lines = str(desk).splitlines()
    assert lines[0].startswith(f"KV cache kept over 3 turns: {desk.computed_tokens} of {desk.prompt_tokens} prompt")
    rows = lines[2:5]
    assert ["=" in row for row in rows] == [False, True, True]
    assert all("#" in row for row in rows)
    assert not any(word in str(desk) for word in ("librarian", "novel", "Middlemarch"))
    assert "Middlemarch" not in str(desk.as_dict())


@settings(deadline=None, max_examples=15)
@given(
    questions=st.lists(st.text("abc é日\n<|>", min_size=1, max_size=8), min_size=2, max_size=4),
    kind=st.sampled_from(["dynamic", "static"]),
)
def test_what_is_rendered_anew_is_cut_off(tiny: KVProbe, questions: list[str], kind: str) -> None:
    """The tiny model's template shortens old answers, and its answers are ids that no tokenizer would choose."""
    report = tiny.chat([{"role": "user", "content": q} for q in questions], kind, new_tokens=6)
    assert not any(turn.rebuilt for turn in report.turns)
    held: list[int] = []
    for turn, prompt, sampled in zip(report.turns, report.prompts, report.sampled, strict=True):
        shared = next((i for i, (a, b) in enumerate(zip(held, prompt, strict=False)) if a != b), len(held))
        assert turn.reused_tokens == min(shared, len(prompt) - 1)
        assert turn.computed_tokens == len(prompt) - turn.reused_tokens
        assert turn.cache_tokens == len(prompt) + len(sampled) - 1
        held = [*prompt, *sampled[:-1]]
    assert report.largest_difference is not None
    assert report.largest_difference <= 1e-3
    assert report.same_text


def test_old_answers_that_shrink_are_dropped(tiny: KVProbe) -> None:
    chat = [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "A long answer that is shortened when the chat goes on."},
        {"role": "user", "content": "Two"},
    ]
    first, second = tiny.chat(chat).turns
    assert second.reused_tokens < first.cache_tokens
    assert second.dropped_tokens == first.cache_tokens - second.reused_tokens > 0


def test_tool_results_are_requests(tiny: KVProbe) -> None:
    chat = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "Looking it up."},
        {"role": "tool", "content": "Rain."},
        {"role": "tool", "content": "Wind."},
        {"role": "assistant", "content": "It rains."},
    ]
    report = tiny.chat(chat, verify=False)
    assert [t.given for t in report.turns] == [True, True]
    assert report.same_text is None


def test_what_the_template_drops_is_said(tiny: KVProbe) -> None:
    tool = {"type": "function", "function": {"name": "weather", "description": "Weather.", "parameters": {}}}
    body = {"model": "m", "messages": [{"role": "user", "content": "Weather?"}], "tools": [tool]}
    report = tiny.chat(body, verify=False, new_tokens=1)
    words = "not rendered: the template leaves out tools[0]; the model never sees what is sent there"
    assert report.notes == [words]
    assert f"  note: {words}" in str(report)
    assert tiny.chat(body["messages"], verify=False, new_tokens=1).notes == []


def test_what_is_never_sent_is_said(tiny: KVProbe) -> None:
    report = tiny.chat([*CHAT[:2], {"role": "swordfish", "content": "x"}], verify=False, new_tokens=1)
    assert report.notes[0] == "not sent: messages from number 2 (role 'swordfish') on come behind the last request"
    given = [*CHAT[:2], {"role": "assistant", "content": "I am."}]
    assert tiny.chat(given, verify=False).notes == []
    assert len(tiny.chat([*given, {"role": "system", "content": "x"}], verify=False).notes) == 1


def test_a_keyword_that_no_template_reads_is_warned_of(tiny: KVProbe) -> None:
    for run in (tiny.chat, tiny.compare):
        with pytest.warns(CachesafeWarning, match=r"keyword 'nobody_reads' is never read by chat template") as caught:
            run(CHAT[:2], new_tokens=1, template_kwargs={"nobody_reads": 1})
        assert caught[0].filename == __file__


@pytest.mark.parametrize("given_reply", [True, False])
def test_a_chat_stays_within_the_model(tiny: KVProbe, given_reply: bool) -> None:
    chat = [{"role": "user", "content": "a" + " b" * 2030}]
    room = 2048 - tiny.chat(chat, new_tokens=1, verify=False).turns[0].prompt_tokens
    # Filled up to the last position: the last token of a reply has none.
    turn = tiny.chat(chat, new_tokens=room + 1, verify=False).turns[0]
    assert turn.cache_tokens <= 2048
    before = tiny.tokens_computed
    if given_reply:
        chat.append({"role": "assistant", "content": " c" * (room + 20)})
    with pytest.raises(UsageError, match=r"turn 0 \(prompt \d+, (reply|new_tokens=)") as caught:
        tiny.chat(chat, new_tokens=1 if given_reply else room + 2, verify=False)
    assert str(caught.value).endswith("the model takes 2048")
    assert tiny.tokens_computed == before


@pytest.mark.parametrize(
    ("messages", "options", "words"),
    [
        ([{"role": "system", "content": "Be kind."}], {}, r"found no request: .*\(roles: system\)"),
        (CHAT, {"new_tokens": 0}, "new_tokens=0"),
        (CHAT, {"cache": "paged"}, "cache='paged'"),
        ("Hello", {}, "."),
    ],
)
def test_mistakes(tiny: KVProbe, messages: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tiny.chat(messages, **options)
