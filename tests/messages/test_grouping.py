"""Which recorded requests belong together, and which is compared with which."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from pytest_cachesafe.messages import conversations, growing_requests, interleaved, to_chat
from pytest_cachesafe.messages.similarity import Interner
from pytest_cachesafe.prompt import Chat, Generated


def chat(*contents: str, system: str | None = "Rules.", **extra: Any) -> Chat:
    """User and assistant take turns; a leading "a:", "t:", "u:" or "s:" names another role."""
    names = {"a": "assistant", "t": "tool", "u": "user", "s": "system"}
    messages = [] if system is None else [{"role": "system", "content": system}]
    for i, content in enumerate(contents):
        role = names[content[0]] if content[1:2] == ":" else ("user", "assistant")[i % 2]
        messages.append({"role": role, "content": content})
    return to_chat({"messages": messages, **extra})


def parents(*requests: Chat) -> list[int | None]:
    links = sorted((link for group in conversations(requests) for link in group), key=lambda link: link.index)
    assert [link.index for link in links] == list(range(len(requests)))
    return [link.parent for link in links]


def groups(*requests: Chat) -> list[list[int]]:
    return [[link.index for link in group] for group in conversations(requests)]


def test_a_growing_chat_is_a_chain() -> None:
    assert parents(chat("q1"), chat("q1", "a1", "q2"), chat("q1", "a1", "q2", "a2", "q3")) == [None, 0, 1]


def test_a_tool_loop_is_a_chain() -> None:
    loop = ["u:q", "a:call", "t:r1", "t:r2", "a:call2", "t:r3", "a:answer", "u:next"]
    assert parents(chat(*loop[:1]), chat(*loop[:4]), chat(*loop[:6]), chat(*loop)) == [None, 0, 1, 2]


def test_interleaved_chats_are_told_apart() -> None:
    a, b = ["sort the list", "done", "thanks"], ["book a flight", "where to?", "Rome"]
    requests = [chat(*a[:1]), chat(*b[:1]), chat(*a), chat(*b)]
    assert parents(*requests) == [None, None, 0, 1]
    assert groups(*requests) == [[0, 2], [1, 3]]


def test_a_clock_in_the_system_text_does_not_split() -> None:
    requests = [chat(*["q1", "a1", "q2"][: 2 * i + 1], system=f"It is 10:4{i}. Be short.") for i in range(2)]
    assert parents(*requests) == [None, 0]
    again = [chat("q1", system=f"Time 2026-01-05T10:4{i}:00Z") for i in range(2)]
    assert parents(*again) == [None, 0]


def test_a_sub_agent_with_its_own_first_message_is_another_conversation() -> None:
    requests = [
        chat("plan a trip"),
        chat("find hotels in Rome", system="You search."),
        chat("find hotels in Rome", "a:call", "t:hotel", system="You search."),
        chat("plan a trip", "a:call", "t:Hotel X", "a:done", "u:cheaper"),
    ]
    assert parents(*requests) == [None, None, 1, 0]


def test_a_sub_agent_given_the_same_words_under_other_instructions() -> None:
    requests = [
        chat("plan a trip", system="You are the planner and answer in prose."),
        chat("plan a trip", system="Classify this message into three topics: travel, food, other"),
        chat("plan a trip", "a1", "q2", system="You are the planner and answer in prose."),
    ]
    assert parents(*requests) == [None, None, 0]


def test_parallel_branches_meet_at_their_ancestor() -> None:
    requests = [chat("q1"), chat("q1", "a1", "left"), chat("q1", "a1", "right"), chat("q1", "a1", "left", "a2", "q3")]
    assert parents(*requests) == [None, 0, 0, 1]


def test_the_newest_message_replayed_otherwise_is_compared_with_what_was_sent() -> None:
    requests = [
        chat("<context>manual</context> How do I download an invoice?"),
        chat("How do I download an invoice?", "Open Billing.", "<context>manual</context> And a receipt?"),
        chat("How do I download an invoice?", "Open Billing.", "And a receipt?", "Same page.", "Thanks"),
    ]
    assert parents(*requests) == [None, 0, 1]


def test_the_same_among_parallel_chats() -> None:
    requests = []
    for topic in ("invoices and billing", "flights and hotels", "recipes and cooking"):
        requests.append(chat(f"<ctx/> tell me about {topic}"))
    for topic in ("recipes and cooking", "invoices and billing", "flights and hotels"):
        requests.append(chat(f"tell me about {topic}", "sure", "<ctx/> more"))
    assert parents(*requests) == [None, None, None, 2, 0, 1]


def test_the_recorded_answer_tells_which_request_was_answered() -> None:
    first, second = chat("x"), chat("y")
    first.generated, second.generated = Generated("one"), Generated("two")
    assert parents(first, second, chat("z", "one", "q")) == [None, None, 0]


def test_an_edited_old_message() -> None:
    long = ["q1", "a1", "q2", "a2", "q3", "a3", "q4"]
    edited = ["q1", "a1 (shortened)", *long[2:]]
    assert parents(chat(*long[:1]), chat(*long[:3]), chat(*long[:5]), chat(*edited)) == [None, 0, 1, 2]


def test_pruned_and_sliding_histories_follow_the_latest_request() -> None:
    talk = [f"{'qa'[i % 2]}{i}" for i in range(13)]
    full = [chat(*talk[: 2 * i + 1]) for i in range(5)]
    assert parents(*full, chat(talk[0], *talk[7:11]))[5] == 4  # the middle is gone
    assert parents(*full, chat(*(f"u:{t}" if t[0] == "q" else f"a:{t}" for t in talk[6:11])))[5] == 4
    window = [chat(*(f"u:{t}" if t[0] == "q" else f"a:{t}" for t in talk[2 * i : 2 * i + 5])) for i in range(5)]
    assert parents(*window) == [None, 0, 1, 2, 3]


@pytest.mark.parametrize("answer", ["ok", "a{}"])
def test_a_window_over_questions_that_resemble_each_other_follows_the_latest_request(answer: str) -> None:
    talk = [t for i in range(7) for t in (f"u:question number {i} of the day", "a:" + answer.format(i))]
    window = [chat(*talk[max(2 * i - 4, 0) : 2 * i + 1]) for i in range(7)]
    assert parents(*window) == [None, 0, 1, 2, 3, 4, 5]


def test_a_summary_is_compared_with_the_latest_request_whatever_the_answers_were() -> None:
    talk = ["u:what is due?", "a:ok", "u:q2", "a:ok", "u:q3"]
    for summary in ("u:summary of it all", "u:it was asked what is due"):
        chats = [chat(*talk[:1]), chat(*talk[:3]), chat(*talk), chat(summary, "a:ok", "u:q4")]
        assert parents(*chats) == [None, 0, 1, 2]


def test_a_summarised_history_with_the_same_instructions() -> None:
    talk = ["q1", "a1", "q2", "a2", "q3"]
    summary = ["u:summary of it all", "a:fine", "u:q4"]
    assert parents(chat(*talk[:1]), chat(*talk[:3]), chat(*talk), chat(*summary)) == [None, 0, 1, 2]


def test_nothing_in_common_and_other_instructions_is_another_conversation() -> None:
    assert parents(chat("q1"), chat("x", "y", "z", system="Translate into French, keep names")) == [None, None]


def test_an_exact_retry_is_stable() -> None:
    requests = [chat("q1"), chat("q1"), chat("q1", "a1", "q2"), chat("q1", "a1", "q2")]
    links = parents(*requests)
    assert links[1] == 0
    for index, parent in enumerate(links[1:], 1):
        assert parent is not None
        assert requests[index].messages[: len(requests[parent].messages)] == requests[parent].messages


def test_recording_that_begins_in_the_middle() -> None:
    assert parents(chat("q1", "a1", "q2"), chat("q1", "a1", "q2", "a2", "q3")) == [None, 0]
    assert parents(chat("q1", "a1", "q2"), chat("q1", "a1", "q2")) == [None, 0]


def test_a_prefilled_answer() -> None:
    assert parents(chat("q1", "a:Sure"), chat("q1", "a:Sure, done", "u:q2")) == [None, 0]


@pytest.mark.parametrize("name", ["key", "model"])
def test_keys_and_models_never_meet(name: str) -> None:
    one, other = {name: "one"}, {name: "other"}
    assert parents(chat("q1", **one), chat("q1", "a1", "q2", **other), chat("q1", "a1", "q2", **one)) == [None, None, 0]


def test_moving_cache_markers_do_not_tell_messages_apart() -> None:
    marked = {"type": "text", "text": "q1", "cache_control": {"type": "ephemeral"}}
    first = to_chat([{"role": "user", "content": [marked]}])
    assert parents(first, chat("q1", "a1", "q2", system=None)) == [None, 0]


def test_rendered_prompts_of_a_key_are_one_conversation() -> None:
    requests = [to_chat({"prompt": text, "key": key}) for text, key in (("a", "1"), ("b", "2"), ("ab", "1"))]
    assert parents(*requests) == [None, None, 0]


def test_no_requests() -> None:
    assert conversations([]) == []


def test_every_shuffle_of_parallel_chats_is_sorted_out() -> None:
    talks = [[f"{'user' if i % 2 == 0 else 'bot'} {i} of chat {c}: {w}" for i in range(9)] for c, w in enumerate("xyz")]
    order = [c for c in range(3) for _ in range(5)]
    random.Random(5).shuffle(order)
    turns, expected, last = [0, 0, 0], [], {}
    requests = []
    for index, c in enumerate(order):
        requests.append(chat(*talks[c][: 2 * turns[c] + 1], system=f"It is 10:{index}."))
        turns[c] += 1
        expected.append(last.get(c))
        last[c] = index
    assert parents(*requests) == expected


def test_each_message_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work per request is its length, not its length times the requests before it."""
    talk = [f"message {i}" for i in range(81)]
    requests = [copy.deepcopy(r) for r in growing_requests(chat(*talk))]
    read = []
    message = Interner.message
    monkeypatch.setattr(Interner, "message", lambda self, m: read.append(1) or message(self, m))
    assert len(conversations(requests)[0]) == 41
    assert len(read) == sum(len(r.messages) - 1 for r in requests)


A, B = ["sort the list", "done", "thanks"], ["book a flight", "where to?", "Rome"]


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ([A[:1], B[:1], A, B], ([0, 2], [1, 3])),
        ([A[:1], B[:1], A], ([0, 2], [1])),
        ([A[:1], A, B[:1], B], None),  # one chat after the other: a reset, not a mixture
        ([A[:1], B[:1]], None),
        ([A, B], None),
        ([A[:1], A], None),
        ([A[:1], A[:1], A], None),
        ([A[:1], ["sort the list please"], A], None),  # the question again in other words
        ([A[:1], A, [A[0], "done", "no"], [*A, "bye", "ok"]], None),  # branches of one chat
        ([["<c/> sort the list"], A, ["sort the list", "done", "<c/> thanks"]], None),
    ],
)
def test_interleaved(requests: list[list[str]], expected: Any) -> None:
    assert interleaved([chat(*contents) for contents in requests]) == expected


def test_a_model_switch_is_not_a_mixture() -> None:
    assert interleaved([chat("q", model="x"), chat("q", "a", "q2", model="y"), chat("q", "a", "q3", model="x")]) is None


def test_pruning_is_not_a_mixture() -> None:
    talk = [f"{'qa'[i % 2]}{i}" for i in range(9)]
    pruned = chat(talk[0], *talk[5:7])
    assert interleaved([chat(*talk[:5]), chat(*talk[:7]), pruned, chat(*talk[:9])]) is None
