"""Requests that share one list cannot be compared; what a builder edits afterwards does not reach what it returned."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pytest_cachesafe import Recording, UsageError, check_prefix_stable
from pytest_cachesafe.prompt import Chat, Turn


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def newest_first(by_reference: bool) -> list[Any]:
    history: list[dict[str, Any]] = []
    out = []
    for i in range(3):
        history.insert(0, said("user", f"q{i}"))
        out.append(history if by_reference else copy.deepcopy(history))
    return out


WRAPPED = {
    "lists": lambda messages: messages,
    "openai": lambda messages: {"model": "m", "messages": messages},
    "responses": lambda messages: {"model": "m", "input": messages},
    "chats": lambda messages: Chat(messages),
}


@pytest.mark.parametrize("shape", WRAPPED)
def test_one_list_in_several_requests_is_refused(shape: str) -> None:
    wrap = WRAPPED[shape]
    with pytest.raises(UsageError, match="requests 0 to 2 hold the same list object") as caught:
        check_prefix_stable([wrap(messages) for messages in newest_first(by_reference=True)])
    assert "\n" not in str(caught.value)
    assert check_prefix_stable([wrap(messages) for messages in newest_first(by_reference=False)]).verdict == "history"


def test_some_requests_of_several_are_named() -> None:
    one, other = [said("user", "a")], [said("user", "a"), said("assistant", "b"), said("user", "c")]
    with pytest.raises(UsageError, match="requests 0 and 2 hold"):
        check_prefix_stable([one, other, one])


def test_shared_messages_tools_and_equal_lists_are_fine() -> None:
    first, tools = said("user", "a"), [{"name": "f"}]
    rest = [said("assistant", "b"), said("user", "c")]
    bodies = [{"messages": m, "tools": tools} for m in ([first], [first], [first, *rest])]
    assert check_prefix_stable(bodies).verdict == "stable"
    block = [{"type": "text", "text": "a"}]
    assert check_prefix_stable([{"role": "user", "content": block}, *rest]).verdict == "stable"


def edits_in_place() -> Any:
    history: list[dict[str, Any]] = []

    def build(turn: Turn) -> Any:
        if turn.index == 0:
            history[:] = [said("user", "q0")]
        else:
            history[0]["content"] = "q0, summed up" + " again" * turn.index
            history.extend([said("assistant", "a"), said("user", f"q{turn.index}")])
        return history

    return build


@pytest.mark.parametrize("shape", WRAPPED)
def test_a_builder_that_edits_the_list_it_returned_is_caught(shape: str) -> None:
    build = edits_in_place()
    report = check_prefix_stable(lambda turn: WRAPPED[shape](build(turn)))
    assert report.verdict == "history"
    assert report.worst is not None
    assert report.worst.divergence is not None
    assert report.worst.divergence.cause == "edited_history"


def test_a_builder_that_appends_to_the_list_it_returned_is_fine() -> None:
    history: list[dict[str, Any]] = []

    def build(turn: Turn) -> Any:
        if turn.index == 0:
            history.clear()
        else:
            history.append(said("assistant", "a"))
        history.append(said("user", f"q{turn.index}"))
        return history

    report = check_prefix_stable(build, turns=4)
    assert report.verdict == "stable"
    assert [step.tokens for step in report.steps] == sorted({step.tokens for step in report.steps})


def test_a_builder_may_return_one_list_at_every_turn() -> None:
    constant = [said("user", "q")]
    report = check_prefix_stable(lambda turn: constant)
    assert report.verdict == "stable"


def test_one_list_twice_in_one_turn_is_refused() -> None:
    def build(turn: Turn) -> Any:
        calls, history = [], [said("user", f"q{i}") for i in range(turn.index + 1)]
        for _ in range(2):
            calls.append({"messages": history})
            history.insert(0, said("user", "newest"))
        return calls

    with pytest.raises(UsageError, match="at turn 0: requests 0 and 1 hold the same list object"):
        check_prefix_stable(build)


def test_a_recording_copies_whatever_it_is_given() -> None:
    rec = Recording()
    tools, settings, history = [{"name": "f"}], {"documents": ["a"]}, [said("user", "q0")]
    chat = Chat(history)
    for i in range(2):
        rec.request(chat, tools, settings=settings)
        history[0]["content"] = f"edited {i}"
        history.extend([said("assistant", "a"), said("user", "q")])
        tools[0]["name"] = "g"
        settings["documents"].append("b")
    first, second = rec.requests
    assert first.messages == [said("user", "q0")]
    assert (first.tools, second.tools) == ([{"name": "f"}], [{"name": "g"}])
    assert first.settings == {"documents": ["a"]}
