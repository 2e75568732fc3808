"""Exchanges as chats: models from paths, histories that the provider holds, answers."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_cachesafe import PrefixFailure, Recording, UsageError
from pytest_cachesafe.providers.exchange import Exchange


def message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def response(number: int, text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": f"resp_{number}", "output": [{"type": "message", "role": "assistant", "content": [part]}]}


def sent(body: dict[str, Any], reply: dict[str, Any] | None = None, api: Any = "responses") -> Exchange:
    return Exchange("openai", api, body, model=body.get("model"), reply=reply, status=200)


def recording(*exchanges: Exchange) -> Recording:
    made = Recording()
    for exchange in exchanges:
        made.catch(exchange)
    return made


def test_a_history_that_the_provider_holds_is_put_back() -> None:
    """Each request holds its new items only; what is compared is what the provider reads."""
    rec = recording(
        sent({"model": "gpt-6-sol", "instructions": "Be brief.", "input": "one"}, response(1, "yes")),
        sent(
            {
                "model": "gpt-6-sol",
                "instructions": "Be brief.",
                "input": [message("two")],
                "previous_response_id": "resp_1",
            },
            response(2, "no"),
        ),
        sent({"model": "gpt-6-sol", "instructions": "Be brief.", "input": "three", "previous_response_id": "resp_2"}),
    )
    assert [len(chat.messages) for chat in rec.requests] == [2, 4, 6]
    report = rec.assert_stable()
    assert report.conversations == 1
    assert [step.verdict for step in report.steps] == ["stable", "stable"]


def test_instructions_that_change_beside_a_held_history_are_found() -> None:
    rec = recording(
        sent({"model": "gpt-6-sol", "instructions": "It is 10:01.", "input": "one"}, response(1, "yes")),
        sent({"model": "gpt-6-sol", "instructions": "It is 10:02.", "input": "two", "previous_response_id": "resp_1"}),
    )
    with pytest.raises(PrefixFailure, match="system"):
        rec.assert_stable()


def test_a_conversation_object_accumulates() -> None:
    body = {"model": "gpt-6-sol", "conversation": {"id": "conv_1"}}
    rec = recording(
        sent({**body, "input": "one"}, response(1, "yes")), sent({**body, "input": "two"}, response(2, "no"))
    )
    assert [len(chat.messages) for chat in rec.requests] == [1, 3]
    assert rec.assert_stable().conversations == 1


def test_a_history_that_was_not_recorded_stays_unknown() -> None:
    body = {"model": "gpt-6-sol", "previous_response_id": "resp_0"}
    rec = recording(sent({**body, "input": "two"}), sent({**body, "input": "three"}))
    assert [len(chat.messages) for chat in rec.requests] == [1, 1]
    with pytest.raises(UsageError, match="previous_response_id"):
        rec.assert_stable()


def test_the_model_comes_from_the_path_where_the_body_names_none() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    exchange = Exchange("gemini", "gemini", body, model="gemini-3-flash")
    chat = recording(exchange).requests[0]
    assert chat.model == "gemini-3-flash"
    assert chat.exchange is exchange


def test_an_answer_is_known_where_it_is_text_alone() -> None:
    chat = {"model": "m", "messages": [message("hi")]}
    text = {"choices": [{"message": {"role": "assistant", "content": "ok"}}]}
    called = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}}]}
    rec = recording(sent(chat, text, "chat"), sent(chat, called, "chat"), sent(chat, {"odd": 1}, "chat"))
    generated = [request.generated for request in rec.requests]
    assert generated[0] is not None
    assert generated[0].text == "ok"
    assert generated[1:] == [None, None]


def test_a_body_in_no_known_shape_is_kept_and_named() -> None:
    rec = recording(
        sent({"model": "m", "messages": 3}, api="chat"), sent({"model": "m", "messages": [message("hi")]}, api="chat")
    )
    assert len(rec.requests) == 1
    assert len(rec.unread) == 1
    assert "messages" in rec.unread[0][1]


def test_caught_and_noted_requests_keep_their_order() -> None:
    rec = recording(sent({"model": "m", "messages": [message("a")]}, api="chat"))
    rec.request([message("b")])
    rec.catch(sent({"model": "m", "messages": [message("c")]}, api="chat"))
    assert [chat.messages[0]["content"] for chat in rec] == ["a", "b", "c"]
