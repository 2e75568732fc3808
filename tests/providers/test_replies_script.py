"""Which scripted answer a request gets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_cachesafe.providers.capture.replies import Ids
from pytest_cachesafe.providers.capture.reply import Failure, Reply, ToolCall
from pytest_cachesafe.providers.capture.script import Script
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.usage import UsageError


def asks(text: str = "hi", model: str | None = "m") -> Exchange:
    body = {"messages": [{"role": "user", "content": "before"}, {"role": "user", "content": text}]}
    return Exchange("anthropic", "messages", body, model=model, path="/v1/messages")


def test_without_a_script_every_request_is_answered_ok() -> None:
    script = Script()
    assert [script.next(asks()) for _ in range(3)] == [Reply("ok")] * 3
    assert script.left == 0


def test_a_list_answers_in_order_of_arrival_and_says_who_came_too_late() -> None:
    script = Script(["one", ToolCall("f"), [ToolCall("f"), ToolCall("g")], Failure(529)])
    given = [script.next(asks()) for _ in range(4)]
    assert given == [
        Reply("one"),
        Reply(tools=(ToolCall("f"),)),
        Reply(tools=(ToolCall("f"), ToolCall("g"))),
        Failure(529),
    ]
    with pytest.raises(UsageError, match=r"request 5 \(/v1/messages, model m, newest message 'late'\).*4 answers"):
        script.next(asks("late"))


def test_what_nobody_asked_for_is_left() -> None:
    script = Script(["one", "two"])
    script.next(asks())
    assert script.left == 1


def test_a_function_sees_the_request_and_none_means_ok() -> None:
    script = Script(lambda exchange: exchange.model if exchange.model == "m" else None)
    assert script.next(asks()) == Reply("m")
    assert script.next(asks(model=None)) == Reply("ok")


def test_texts_are_matched_with_the_newest_message_in_any_shape() -> None:
    script = Script({"weather": ["sunny", "rain"], "": "no idea"})
    assert script.next(asks("the weather?")) == Reply("sunny")
    assert script.next(asks("before")) == Reply("no idea")
    blocks: list[dict[str, Any]] = [{"type": "tool_result", "content": [{"type": "text", "text": "weather: 3"}]}]
    body = {"messages": [{"role": "user", "content": blocks}]}
    assert script.next(Exchange("anthropic", "messages", body)) == Reply("rain")
    gemini = {"contents": [{"role": "user", "parts": [{"text": "and you?"}]}]}
    assert script.next(Exchange("gemini", "gemini", gemini)) == Reply("no idea")
    with pytest.raises(UsageError, match="matches none of the scripted texts"):
        Script({"x": "y"}).next(asks("hello"))


@pytest.mark.parametrize("wrong", [3, [3], {}, lambda exchange: 3])
def test_what_is_no_answer_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"answer"):
        Script(wrong).next(asks())


def test_a_failure_needs_an_error_status() -> None:
    with pytest.raises(UsageError, match="400 to 599"):
        Failure(200)


@given(st.lists(st.sampled_from(["msg", "toolu", "req"]), max_size=30))
def test_ids_never_repeat_and_are_the_same_in_every_run(prefixes: list[str]) -> None:
    one, other = Ids(), Ids()
    made = [one.next(prefix) for prefix in prefixes]
    assert len(set(made)) == len(made)
    assert made == [other.next(prefix) for prefix in prefixes]
