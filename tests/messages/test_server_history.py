"""Responses requests whose history the provider holds: never compared with items that they do not repeat."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_cachesafe import Recording, check_prefix_stable
from pytest_cachesafe.messages import conversations, to_chat
from pytest_cachesafe.prompt import UsageError


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def body(*items: Any, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "input": list(items), **more}


A, B, C = user("a"), {"role": "assistant", "content": "b"}, user("c")
HELD = [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}, {"conversation": {"id": "conv_1"}}]


@pytest.mark.parametrize("held", HELD, ids=["previous_response_id", "conversation", "conversation object"])
def test_new_items_alone_are_nothing_to_compare(held: dict[str, Any]) -> None:
    for requests in ([body(A), body(C, **held)], [body(A, **held), body(C, **held), body(user("d"), **held)]):
        with pytest.raises(UsageError, match=f"nothing was compared: {next(iter(held))}: .* new items only"):
            check_prefix_stable(requests)


def test_requests_with_their_history_are_compared_around_it() -> None:
    follow = body(user("aside"), previous_response_id="resp_1")
    report = check_prefix_stable([body(A), follow, body(A, B, C)])
    assert report.passed
    assert [(s.request, s.against) for s in report.steps] == [(2, 0)]
    assert any("previous_response_id" in note for note in report.notes)
    report = check_prefix_stable([body(A), follow, body(user("edited"), B, C)])
    assert report.as_dict()["cause"] == "edited_history"


def test_a_repeated_history_is_compared() -> None:
    held = {"previous_response_id": "resp_1"}
    report = check_prefix_stable([body(A, **held), body(A, B, C, **held)])
    assert [(s.request, s.against, s.verdict) for s in report.steps] == [(1, 0, "stable")]
    # The growing form of one body, too.
    assert len(check_prefix_stable(body(A, B, C, **held)).steps) == 1


@pytest.mark.parametrize(
    "item", [C, {"type": "function_call_output", "call_id": "c1", "output": "4 degrees"}], ids=["user", "tool result"]
)
@pytest.mark.parametrize("held", HELD[:2], ids=["previous_response_id", "conversation"])
def test_a_recording_sets_them_apart(item: dict[str, Any], held: dict[str, Any]) -> None:
    recorded = Recording()
    for request in (body(A), body(item, **held), body(A, B, C), body(item, **held)):
        recorded.request(request)
    groups = conversations(list(recorded))
    assert sorted(tuple(link) for group in groups for link in group) == [(0, None), (1, None), (2, 0), (3, None)]
    assert check_prefix_stable(recorded).passed


def test_a_recording_compares_a_repeated_history() -> None:
    held = {"previous_response_id": "resp_1"}
    links = conversations([to_chat(body(A, **held)), to_chat(body(A, B, C, **held))])
    # The first holds new items only: what repeats it is a chat of its own.
    assert [[tuple(link) for link in group] for group in links] == [[(0, None)], [(1, None)]]
    links = conversations([to_chat(body(A)), to_chat(body(A, B, C, **held))])
    assert [[tuple(link) for link in group] for group in links] == [[(0, None), (1, 0)]]


def test_formats_never_meet_in_a_recording() -> None:
    chats = [{"model": "m", "messages": [A]}, {"model": "m", "input": [A]}]
    chats += [{"model": "m", "messages": [A, B, C]}, {"model": "m", "input": [A, B, C]}]
    links = conversations([to_chat(chat) for chat in chats])
    assert [[tuple(link) for link in group] for group in links] == [[(0, None), (2, 0)], [(1, None), (3, 1)]]
