"""Which requests one growing chat stands for."""

from __future__ import annotations

from typing import Any

import pytest
from one_agent import ANTHROPIC, BEDROCK, BODIES, GEMINI, OPENAI, RESPONSES

from pytest_cachesafe.messages import growing_requests, to_chat
from pytest_cachesafe.prompt import Chat, Generated, UsageError


def chat_of(roles: str, **extra: Any) -> Chat:
    """A chat from letters: s(ystem), u(ser), a(ssistant), t(ool); contents are their places."""
    names = {"s": "system", "d": "developer", "u": "user", "a": "assistant", "t": "tool"}
    return to_chat({"messages": [{"role": names[r], "content": str(i)} for i, r in enumerate(roles)], **extra})


def lengths(chat: Chat, requests: Any = "user+tool") -> list[int]:
    return [len(r.messages) for r in growing_requests(chat, requests)]


@pytest.mark.parametrize(
    ("roles", "both", "user"),
    [
        ("suau", [2, 4], [2, 4]),
        ("suatau", [2, 4, 6], [2, 6]),
        ("suattau", [2, 5, 7], [2, 7]),  # parallel results are one request
        ("suattatau", [2, 5, 7, 9], [2, 9]),
        ("duau", [2, 4], [2, 4]),
        ("uatu", [1, 4], [1, 4]),  # words behind a result go out with it
        ("uuauu", [2, 5], [2, 5]),  # nothing was asked between two messages of one turn
        ("usaus", [2, 5], [2, 5]),  # a trailing system message goes out with the turn
        ("auau", [2, 4], [2, 4]),
        ("uaua", [1, 3], [1, 3]),
        ("uat", [1, 3], [1]),
        ("suu", [2, 3], [2, 3]),  # no answers recorded: one request per user message
        ("u", [1], [1]),
    ],
)
def test_ends(roles: str, both: list[int], user: list[int]) -> None:
    assert lengths(chat_of(roles)) == both
    assert lengths(chat_of(roles), "user") == user


@pytest.mark.parametrize(("roles", "requests"), [("s", "user+tool"), ("sa", "user+tool"), ("at", "user")])
def test_no_request_in_the_chat(roles: str, requests: Any) -> None:
    with pytest.raises(UsageError, match="holds no request"):
        growing_requests(chat_of(roles), requests)


def test_unknown_choice() -> None:
    with pytest.raises(UsageError, match="'tools' is unknown"):
        growing_requests(chat_of("u"), "tools")  # type: ignore[arg-type]


def test_generated_is_the_plain_text_that_follows() -> None:
    chat = to_chat(
        [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"},
            {"role": "assistant", "content": "d", "reasoning_content": "r"},
            {"role": "user", "content": "e"},
            {"role": "assistant", "content": "f", "tool_calls": [{"function": {"name": "x", "arguments": "{}"}}]},
            {"role": "tool", "content": "g"},
            {"role": "assistant", "content": [{"type": "text", "text": "h"}]},
        ]
    )
    assert [r.generated for r in growing_requests(chat)] == [Generated("b"), None, None, Generated("h")]


def test_the_chats_own_answer_belongs_to_the_last_request() -> None:
    grown = growing_requests(chat_of("uau", generated_text="z"))
    assert [r.generated for r in grown] == [Generated("1"), Generated("z")]


def test_a_message_to_be_continued_is_part_of_the_last_request() -> None:
    grown = growing_requests(chat_of("uaua", continue_final_message=True, add_generation_prompt=False))
    assert [len(r.messages) for r in grown] == [1, 3, 4]
    assert [r.continue_final_message for r in grown] == [False, False, True]
    assert [r.add_generation_prompt for r in grown] == [True, True, False]


@pytest.mark.parametrize("wire", BODIES)
def test_bodies_are_cut_with_the_messages(wire: str) -> None:
    key = {"openai-responses": "input", "gemini": "contents"}.get(wire, "messages")
    chat = to_chat(BODIES[wire])
    grown = growing_requests(chat)
    assert [len(r.messages) for r in grown] == [2, 6]
    for request in grown:
        assert request.body is not None
        again = to_chat(request.body)
        assert again.messages == request.messages
        assert again.paths == request.paths
        assert {k: v for k, v in request.body.items() if k != key} == {
            k: v for k, v in BODIES[wire].items() if k != key
        }


def test_the_given_bodies_are_not_touched() -> None:
    before = repr((OPENAI, ANTHROPIC, RESPONSES, GEMINI, BEDROCK))
    for body in BODIES.values():
        growing_requests(to_chat(body))[0].messages.clear()
    assert repr((OPENAI, ANTHROPIC, RESPONSES, GEMINI, BEDROCK)) == before


def test_requests_share_messages_but_not_settings() -> None:
    chat = chat_of("uau", kwargs={"mode": 1})
    first, last = growing_requests(chat)
    assert first.messages[0] is last.messages[0]
    first.settings["mode"] = 2
    assert last.settings == {"mode": 1}
