"""What looks like a request and is none: one line with the path, in every wire format."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_cachesafe import check_prefix_stable, compare
from pytest_cachesafe.messages import to_chat
from pytest_cachesafe.prompt import UsageError

USER = {"role": "user", "content": "Weather?"}


def chat_with(calls: Any, key: str = "tool_calls") -> list[dict[str, Any]]:
    return [USER, {"role": "assistant", "content": None, key: calls}, USER]


@pytest.mark.parametrize(
    ("calls", "path"),
    [
        ("oops", "messages[1].tool_calls is a string"),
        ({"function": {"name": "f"}}, "messages[1].tool_calls is a dict"),
        (["f"], "messages[1].tool_calls[0] is a string"),
        ([{"id": "c"}], "messages[1].tool_calls[0] has no function"),
        ([{"id": "c", "function": "f"}], "messages[1].tool_calls[0].function is a string"),
        ([{"function": {"name": "f"}}, {"function": {"arguments": "{}"}}], "messages[1].tool_calls[1].function.name"),
        ([{"function": {"name": ""}}], "messages[1].tool_calls[0].function.name is empty"),
        ([{"name": 3, "arguments": {}}], "messages[1].tool_calls[0].name is a number"),
    ],
)
@pytest.mark.parametrize("body", [False, True])
def test_calls_without_a_function(calls: Any, path: str, body: bool) -> None:
    messages = chat_with(calls)
    with pytest.raises(UsageError) as caught:
        to_chat({"model": "gpt-4o", "messages": messages} if body else messages)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "calls",
    [
        None,
        [],
        [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        [{"name": "f", "arguments": {}}],
        [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "x"}}],
    ],
)
def test_calls_that_are_fine(calls: Any) -> None:
    assert to_chat(chat_with(calls)).messages[1]["tool_calls"] == calls


def test_the_retired_function_call() -> None:
    with pytest.raises(UsageError, match=r"messages\[1\]\.function_call is a string"):
        to_chat(chat_with("f", "function_call"))
    with pytest.raises(UsageError, match=r"messages\[1\]\.function_call\.name is None"):
        to_chat(chat_with({"arguments": "{}"}, "function_call"))


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (
            {"system": "k", "messages": [USER, {"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]}]},
            "messages[1].content[0].name",
        ),
        (
            {"messages": [USER, {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t"}}]}]},
            "messages[1].content[0].toolUse.name",
        ),
        (
            {"messages": [USER, {"role": "assistant", "content": [{"toolUse": "t"}]}]},
            "messages[1].content[0].toolUse is a string",
        ),
        ({"input": [USER, {"type": "function_call", "call_id": "c", "arguments": "{}"}]}, "input[1].name"),
        (
            {"contents": [{"role": "model", "parts": [{"functionCall": {"args": {}}}]}]},
            "contents[0].parts[0].functionCall.name",
        ),
        (
            {"contents": [{"role": "model", "parts": [{"functionCall": "f"}]}]},
            "contents[0].parts[0].functionCall is a string",
        ),
    ],
    ids=["anthropic", "bedrock", "bedrock string", "responses", "gemini", "gemini string"],
)
def test_nameless_calls_of_every_format(body: dict[str, Any], path: str) -> None:
    with pytest.raises(UsageError) as caught:
        to_chat(body)
    assert path in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        {"model": "gpt-4o", "messages": [USER]},
        {"model": "claude-x", "system": "k", "messages": [USER]},
        {"model": "g", "input": "Weather?"},
        {"contents": [{"role": "user", "parts": [{"text": "Weather?"}]}]},
    ],
    ids=["openai-chat", "anthropic", "openai-responses", "gemini"],
)
@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ([USER], "tools[0] is a message of role 'user'; a tool definition is meant"),
        ([{"name": "f"}, "g"], "tools[1] is a string"),
        ("f", "tools is a string"),
    ],
)
def test_tools_that_are_none(body: dict[str, Any], tools: Any, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        to_chat({**body, "tools": tools})
    assert says in str(caught.value)


def test_messages_given_as_tools_of_the_call() -> None:
    with pytest.raises(UsageError, match=r"tools\[1\] is a message of role 'assistant'"):
        check_prefix_stable([USER, USER], tools=[{"name": "f"}, {"role": "assistant", "content": "x"}])


BODIES: dict[str, dict[str, Any]] = {
    "anthropic": {"model": "claude-x", "max_tokens": 5, "system": "Be kind.", "messages": [USER]},
    "openai-chat": {"model": "gpt-4o", "messages": [{"role": "system", "content": "Be kind."}, USER]},
    "openai-responses": {"model": "gpt-4o", "instructions": "Be kind.", "input": [USER]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Weather?"}]}]},
    "bedrock": {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "Weather?"}]}]},
}


@pytest.mark.parametrize("other", list(BODIES))
@pytest.mark.parametrize("one", list(BODIES))
def test_bodies_of_two_formats_are_not_compared(one: str, other: str) -> None:
    if one == other:
        assert compare(BODIES[one], BODIES[other]).extends
        return
    for check in (lambda a, b: check_prefix_stable([a, b]), compare):
        with pytest.raises(UsageError, match=f"different wire formats, {one} and {other}"):
            check(BODIES[one], BODIES[other])


def test_a_builder_that_changes_the_format() -> None:
    with pytest.raises(UsageError, match="requests 0 and 1 are of different wire formats"):
        check_prefix_stable(lambda turn: BODIES["anthropic" if turn.index else "gemini"], turns=2)


def test_a_body_that_could_be_either_is_compared() -> None:
    # Nothing tells the first from an OpenAI body; the second has a block that only Anthropic knows.
    thinking = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "4"}],
    }
    first = {"model": "local", "messages": [USER]}
    assert check_prefix_stable([first, {"model": "local", "messages": [USER, thinking, USER]}]).passed
    # A gateway's mixture of both formats is not held against either.
    mixed = [{**first, "seed": 1}, {"model": "local", "seed": 1, "messages": [USER, thinking, USER]}]
    assert check_prefix_stable(mixed).passed


@pytest.mark.parametrize(
    ("chat", "says"),
    [
        ([[{"role": "wizard", "content": "x"}]], "with no user turn in it (roles: wizard)"),
        ([{"role": "wizard", "content": "x"}], "no message of role user or tool ends one (roles: wizard)"),
        ([USER], "one request (one user turn and no answer)"),
    ],
)
def test_a_chat_without_turns_says_so(chat: Any, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_prefix_stable(chat)
    assert says in str(caught.value)
