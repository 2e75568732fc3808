"""Requests noted by hand: conversations that interleave, retries, branches, answers, keys."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe import ChatTemplate, PrefixFailure, Recording, UsageError

Messages = list[dict[str, Any]]


def chat(topic: str, questions: int, system: str | None = None) -> Messages:
    """A request that ends in question `questions` - 1 about a topic."""
    messages: Messages = [{"role": "system", "content": system or f"You are the {topic} agent."}]
    for n in range(questions):
        messages += [
            {"role": "user", "content": f"What of {topic}, part {n}?"},
            {"role": "assistant", "content": f"Part {n} of {topic} is fine."},
        ]
    return messages[:-1]


def pairs(report: Any) -> list[tuple[int, int | None]]:
    return [(s.request, s.against) for s in report.steps]


def recorded(*requests: Messages, **options: Any) -> Recording:
    recording = Recording(**options)
    for messages in requests:
        recording.request(messages)
    return recording


def test_one_conversation() -> None:
    report = recorded(*(chat("stock", n) for n in (1, 2, 3))).assert_stable()
    assert (report.verdict, report.conversations, report.requests) == ("stable", 1, 3)
    assert pairs(report) == [(1, 0), (2, 1)]


def test_sub_agents_that_interleave() -> None:
    recording = Recording()
    for n in (1, 2, 3):
        for topic in ("stock", "weather", "travel"):
            recording.request(chat(topic, n))
    report = recording.assert_stable()
    assert report.conversations == 3
    assert pairs(report) == [(3, 0), (4, 1), (5, 2), (6, 3), (7, 4), (8, 5)]


@pytest.mark.parametrize("order", list(itertools.permutations((0, 1, 2)))[1:])
def test_a_fault_in_one_of_them_is_found_in_any_order(order: tuple[int, ...]) -> None:
    topics = [("stock", "weather", "travel")[i] for i in order]
    recording = Recording()
    for n in (1, 2, 3):
        for topic in topics:
            clock = f"You are the {topic} agent. It is 10:4{n}:07." if topic == "weather" else None
            recording.request(chat(topic, n, clock))
    with pytest.raises(PrefixFailure) as caught:
        recording.assert_stable()
    report = caught.value.report
    assert report.conversations == 3
    at = topics.index("weather")
    assert [s.request for s in report.steps if s.verdict != "stable"] == [3 + at, 6 + at]
    assert report.as_dict()["cause"] == "timestamp"


def test_retries_are_no_finding() -> None:
    report = recorded(*(chat("stock", n) for n in (1, 1, 2, 2, 2, 3))).assert_stable()
    assert report.verdict == "stable"
    assert report.lost_tokens == 0
    assert report.severity is None


def test_parallel_branches() -> None:
    """A planner's answer fans out to three workers that go on by themselves, two turns each."""
    root = chat("plan", 1)
    recording = recorded(root)
    branches = [
        [*root, {"role": "assistant", "content": "Ask all three."}, {"role": "user", "content": f"You are worker {w}."}]
        for w in "ABC"
    ]
    for branch in branches:
        recording.request(branch)
    for branch, w in zip(branches, "ABC", strict=True):
        done = {"role": "assistant", "content": f"{w} is done."}
        recording.request([*branch, done, {"role": "user", "content": "Anything else?"}])
    report = recording.assert_stable()
    assert pairs(report) == [(1, 0), (2, 0), (3, 0), (4, 1), (5, 2), (6, 3)]
    assert report.verdict == "stable"


def test_keys_keep_conversations_apart() -> None:
    """Two users say the same words; without a key the second looks like a retry of the first."""
    recording = Recording()
    for n in (1, 2):
        for user in ("ann", "ben"):
            recording.request(chat("stock", n), key=user)
    report = recording.assert_stable()
    assert report.conversations == 2
    assert pairs(report) == [(2, 0), (3, 1)]


def test_a_key_for_the_whole_recording() -> None:
    recording = Recording(key="ann")
    recording.request(chat("stock", 1))
    recording.request(chat("stock", 1), key="ben")
    recording.request(chat("stock", 2))
    assert [r.key for r in recording] == ["ann", "ben", "ann"]
    assert pairs(recording.assert_stable()) == [(2, 0)]


def test_models_keep_conversations_apart() -> None:
    recording = Recording()
    for n, model in ((1, "small"), (1, "large"), (2, "small"), (2, "large")):
        recording.request(chat("stock", n), model=model)
    report = recording.assert_stable()
    assert report.conversations == 2
    assert pairs(report) == [(2, 0), (3, 1)]


def test_what_was_recorded_does_not_change_afterwards() -> None:
    messages = chat("stock", 1)
    recording = recorded(messages)
    messages += [{"role": "assistant", "content": "Fine."}, {"role": "user", "content": "More?"}]
    recording.request(messages)
    messages[1]["content"] = "[edited afterwards]"
    assert recording.assert_stable().verdict == "stable"
    assert [len(r.messages) for r in recording] == [2, 4]


def test_bodies_with_their_own_tools() -> None:
    tool = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
    recording = Recording()
    for n in (1, 2):
        body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "tools": [tool], "messages": chat("stock", n)[1:]}
        recording.request(body)
    assert "wire format anthropic" in recording.assert_stable().front_end
    with pytest.raises(UsageError, match="already has tools"):
        recording.request(body, tools=[tool])


def test_tools_and_settings_of_a_message_list(qwen3_dir: Path) -> None:
    function = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
    recording = Recording(template=qwen3_dir)
    recording.request(chat("stock", 1), tools=[{"type": "function", "function": function}])
    recording.request(chat("stock", 2), tools=[{"type": "function", "function": function}])
    assert recording.assert_stable().verdict == "stable"
    recording.request(chat("stock", 3))
    with pytest.raises(PrefixFailure) as caught:
        recording.assert_stable()
    assert [s.request for s in caught.value.report.judged if s.verdict == "history"] == [2]


@pytest.mark.parametrize("response", [{"text": "Part 0 of stock is fine."}, {"text": "Part 0 of"}])
def test_a_text_that_was_generated(response: dict[str, Any], smollm2_tokenizer_dir: Path) -> None:
    recording = recorded(chat("stock", 1), template=smollm2_tokenizer_dir)
    recording.response(**response)
    recording.request(chat("stock", 2))
    assert recording.assert_stable().generated_text_reused is True


def test_ids_that_were_sampled(smollm2_tokenizer_dir: Path) -> None:
    """The same text in other ids is not what the cache holds."""
    template = ChatTemplate.from_pretrained(smollm2_tokenizer_dir)
    backend: Any = template.tokenizer.backend  # type: ignore[union-attr]
    answer = "Part 0 of stock is fine."
    canonical = backend.encode(answer, add_special_tokens=False).ids
    letters = [i for c in answer for i in backend.encode(c, add_special_tokens=False).ids]
    assert backend.decode(letters) == answer
    for ids, reused in ((canonical, True), (letters, False)):
        recording = recorded(chat("stock", 1), template=template)
        recording.response(answer, token_ids=ids)
        recording.request(chat("stock", 2))
        report = recording.assert_stable()
        assert report.verdict == "stable"
        assert report.generated_text_reused is reused


def test_misuse() -> None:
    with pytest.raises(UsageError, match="before any request"):
        Recording().response("Fine.")
    with pytest.raises(UsageError, match="text, token_ids"):
        recorded(chat("stock", 1)).response()
    with pytest.raises(UsageError, match="recording is empty"):
        Recording().assert_stable()
    with pytest.raises(UsageError, match="nothing was compared: 2 requests of as many conversations"):
        recorded(chat("stock", 1), chat("weather", 1)).assert_stable()
    with pytest.raises(UsageError):
        Recording().request("hello", tools=7)  # type: ignore[arg-type]
