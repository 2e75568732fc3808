"""Bodies of every wire format become the messages a chat template reads."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from one_agent import ANTHROPIC, BEDROCK, BODIES, GEMINI, OPENAI, RESPONSES, TOOL

from pytest_cachesafe.messages import is_chat_like, to_chat
from pytest_cachesafe.prompt import UsageError

PATHS = {
    "openai-chat": tuple(f"messages[{i}]" for i in range(6)),
    "anthropic": ("system", "messages[0]", "messages[1]", *(f"messages[2].content[{i}]" for i in range(3))),
    "openai-responses": ("instructions", "input[0]", "input[1]", "input[5]", "input[6]", "input[7]"),
    "gemini": (
        "config.system_instruction",
        "contents[0]",
        "contents[1]",
        *(f"contents[2].parts[{i}]" for i in range(3)),
    ),
    "bedrock": ("system", "messages[0]", "messages[1]", *(f"messages[2].content[{i}]" for i in range(3))),
}


@pytest.mark.parametrize("wire", BODIES)
def test_one_agent_in_every_format(wire: str) -> None:
    chat = to_chat(BODIES[wire])
    assert chat.wire == wire
    assert chat.messages == OPENAI["messages"]
    assert chat.tools == [TOOL]
    assert chat.model == BODIES[wire].get("model", BODIES[wire].get("modelId"))
    assert chat.paths == PATHS[wire]
    assert chat.body == BODIES[wire]
    # The order of schema keys is what the model sees.
    assert list(chat.tools[0]["function"]["parameters"]["properties"]) == ["unit", "city"]


@pytest.mark.parametrize("wire", BODIES)
def test_the_result_is_a_copy(wire: str) -> None:
    body = copy.deepcopy(BODIES[wire])
    chat = to_chat(body)
    key = next(k for k in ("messages", "input", "contents") if k in body)
    body[key][0].clear()
    body[key].clear()
    assert chat.messages == OPENAI["messages"]
    assert chat.body == BODIES[wire]


def test_an_answer_that_only_calls_tools_has_no_content() -> None:
    call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    given = {"role": "assistant", "tool_calls": [call]}
    question = {"role": "user", "content": "hi"}
    body = {"messages": [question, given, {"role": "tool", "tool_call_id": "x", "content": "1"}]}
    chat = to_chat(body)
    # Servers take a missing content as null; what was sent stays what was sent.
    assert chat.messages[1] == {**given, "content": None}
    assert chat.body == body
    assert to_chat({"messages": [question, {**given, "content": None}]}).messages == chat.messages[:2]
    # A bare list goes to the template as it is, and so does a message that calls nothing.
    assert to_chat([question, given]).messages[1] == given
    empty = {"role": "assistant", "name": "a"}
    assert to_chat({"messages": [question, empty]}).messages[1] == empty


def test_bare_messages_stay_as_they_are() -> None:
    messages = [
        {"content": "hi", "role": "user", "custom": [1, None, {"b": 1, "a": 2}]},
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "tool_calls": [{"id": "x", "type": "function", "function": {"arguments": '{"b": 1,"a":2}', "name": "f"}}],
        },
        {"role": "tool", "content": [{"type": "text", "text": "a"}], "tool_call_id": "x"},
    ]
    chat = to_chat(messages)
    assert json.dumps(chat.messages) == json.dumps(messages)
    assert (chat.wire, chat.body, chat.tools, chat.notes) == ("messages", None, None, ())


def test_bare_list_of_anthropic_blocks_is_recognised() -> None:
    chat = to_chat(ANTHROPIC["messages"])
    assert chat.wire == "anthropic"
    assert chat.messages == OPENAI["messages"][1:]


def test_bare_lists_of_the_other_formats() -> None:
    assert to_chat(RESPONSES["input"]).messages == OPENAI["messages"][1:]
    assert to_chat(GEMINI["contents"]).messages == OPENAI["messages"][1:]
    assert to_chat(BEDROCK["messages"]).messages == OPENAI["messages"][1:]


def test_wire_forces_a_format() -> None:
    body = {"model": "some-gateway", "messages": [{"role": "user", "content": "x"}]}
    assert to_chat(body).wire == "openai-chat"
    assert to_chat(body, wire="anthropic").wire == "anthropic"
    with pytest.raises(UsageError, match="did you mean 'anthropic'"):
        to_chat(body, wire="antropic")


@pytest.mark.parametrize(
    ("body", "wire"),
    [
        ({"model": "claude-opus-5", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]}, "anthropic"),
        ({"model": "anthropic/claude-opus-5", "messages": [{"role": "user", "content": "x"}]}, "openai-chat"),
        ({"model": "claude-opus-5", "messages": [{"role": "system", "content": "x"}]}, "openai-chat"),
        ({"model": "gpt-4o", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]}, "openai-chat"),
        ({"system": "s", "messages": [{"role": "user", "content": "x"}]}, "anthropic"),
        ({"system": [{"text": "s"}], "messages": [{"role": "user", "content": [{"text": "x"}]}]}, "bedrock"),
        ({"model": "gpt-6", "input": "x"}, "openai-responses"),
        ({"contents": "x"}, "gemini"),
    ],
)
def test_detection(body: dict[str, Any], wire: str) -> None:
    assert to_chat(body).wire == wire


def test_keys_that_set_the_rendering() -> None:
    chat = to_chat(
        {
            "messages": [{"role": "user", "content": "x"}],
            "tools": [],
            "chat_template_kwargs": {"enable_thinking": False},
            "kwargs": {"mode": 1},
            "documents": [{"text": "d"}],
            "reasoning_effort": "low",
            "add_generation_prompt": False,
            "continue_final_message": True,
            "now": "2026-01-05T23:50:00Z",
            "key": "s1",
            "model": "m",
            "generated_text": "yes",
            "generated_ids": [1, 2],
        }
    )
    assert chat.tools == []
    assert chat.settings == {
        "enable_thinking": False,
        "mode": 1,
        "documents": [{"text": "d"}],
        "reasoning_effort": "low",
    }
    assert (chat.add_generation_prompt, chat.continue_final_message) == (False, True)
    assert chat.now == datetime(2026, 1, 5, 23, 50, tzinfo=timezone.utc)
    assert (chat.key, chat.model) == ("s1", "m")
    assert chat.generated is not None
    assert (chat.generated.text, chat.generated.token_ids) == ("yes", (1, 2))


def test_completions() -> None:
    assert to_chat({"prompt": "Once"}).raw == "Once"
    assert to_chat({"prompt_token_ids": [1, 2], "generated_ids": [3]}).raw == (1, 2)
    assert to_chat({"prompt": [5, 6]}).wire == "ids"


def test_retired_functions_become_tools() -> None:
    chat = to_chat({"messages": [{"role": "user", "content": "x"}], "functions": [TOOL["function"]]})
    assert chat.tools == [TOOL]


def test_python_functions_stay_tools() -> None:
    def weather(city: str) -> str:
        """Weather."""
        return city

    chat = to_chat({"messages": [{"role": "user", "content": "x"}], "tools": [weather]})
    assert chat.tools == [weather]


def test_what_cannot_be_converted_is_noted_not_lost() -> None:
    chat = to_chat(
        {
            "model": "claude-opus-5",
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "document", "source": {"data": "x"}}, {"type": "text", "text": "t"}],
                },
                {
                    "role": "assistant",
                    "content": [{"type": "redacted_thinking", "data": "z"}, {"type": "text", "text": "a"}],
                },
            ],
        }
    )
    assert chat.messages[0]["content"][0] == {"type": "document", "source": {"data": "x"}}
    assert chat.messages[1] == {"role": "assistant", "content": "a"}
    assert any("'document' at messages[0].content[0]" in note for note in chat.notes)
    assert any("redacted" in note and "messages[1].content[0]" in note for note in chat.notes)


def test_calls_without_id_are_numbered_and_answered_in_order() -> None:
    chat = to_chat(
        {
            "contents": [
                {"role": "user", "parts": [{"text": "q"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "f"}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"r": "ü"}}}] * 2},
            ]
        }
    )
    assert [c["id"] for c in chat.messages[1]["tool_calls"]] == ["call00000", "call00001"]
    assert [m["tool_call_id"] for m in chat.messages[2:]] == ["call00000", "call00001"]
    assert chat.messages[2]["content"] == '{"r": "ü"}'


@dataclass
class Note:
    role: str
    content: str


def test_dataclasses_and_objects_mix_with_dicts() -> None:
    chat = to_chat(
        [Note("user", "a"), {"role": "assistant", "content": "b"}, SimpleNamespace(role="user", content="c")]
    )
    assert [m["content"] for m in chat.messages] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        ([], "empty chat"),
        ({"messages": []}, "empty chat"),
        ({"input": []}, "empty chat"),
        ({"contents": []}, "empty chat"),
        ({"prompt": ""}, "empty chat"),
        ([{"role": "user", "content": "x"}, {"content": "y"}], r"messages\[1\] has no role"),
        ([{"role": "user", "content": 7}], r"messages\[0\]\.content is a number"),
        ([{"role": "user", "content": {"text": "x"}}], r"messages\[0\]\.content is a dict"),
        ([{"role": "user", "content": ["x", 5]}], r"messages\[0\]\.content\[1\] is a number; token ids mixed"),
        ([{"role": 3, "content": "x"}], r"messages\[0\]\.role is a number"),
        ([{"role": "", "content": "x"}], r"messages\[0\]\.role is empty"),
        ([1, 2, "a"], "token ids mixed with text: item 0 is a token id, item 2 is a string"),
        ([1, 2], "a list of token ids is one prompt"),
        (["a", "b"], "rendered prompts"),
        ([{"role": "user", "content": "x"}, "y"], r"messages\[1\] is a string"),
        ([{"role": "user", "content": "x"}, 5], "token ids mixed"),
        ("hello", "a lone string"),
        (7, "not a number"),
        (None, "not None"),
        ({}, "no messages found"),
        ({"message": []}, "no messages found.*'message'"),
        ({"role": "user", "content": "x"}, "put it in a list"),
        ({"messages": "x"}, "messages is a string"),
        ({"messages": [{"role": "user", "content": "x"}], "tools": {}}, "tools is a dict"),
        ({"messages": [{"role": "user", "content": "x"}], "kwargs": 3}, "kwargs is a number"),
        ({"messages": [{"role": "user", "content": "x"}], "now": "soon"}, "now is 'soon'"),
        ({"messages": [{"role": "user", "content": "x"}], "add_generation_prompt": "no"}, "add_generation_prompt is"),
        ({"prompt_token_ids": [1, "a"]}, "mixed with text"),
        ({"prompt_token_ids": [1, -1]}, r"prompt_token_ids\[1\]"),
        ({"prompt": ["a", "b"]}, r"\[0\] is a string"),
        ([{"role": "user", "content": "x", "meta": object()}], r"messages\[0\]\.meta is an object of type object"),
        ([{"role": "user", "content": "x", "tags": {"a"}}], r"messages\[0\]\.tags is a set"),
        ([{"role": "user", "content": [{"type": "text", "text": {1: object()}}]}], r"content\[0\]\.text\.1 is"),
        ({"contents": [{"role": "user", "parts": [3]}]}, r"contents\[0\]\.parts\[0\] is a number"),
        ({"input": [{"content": "x"}]}, r"input\[0\] has no role"),
    ],
)
def test_bad_input_is_one_line_with_the_place(obj: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        to_chat(obj)
    assert "\n" not in str(caught.value)


def test_data_that_contain_themselves() -> None:
    loop: dict[str, Any] = {"role": "user", "content": "x"}
    loop["self"] = loop
    with pytest.raises(UsageError, match="contains itself"):
        to_chat([loop])


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        ([{"role": "user", "content": "x"}], True),
        ([{"content": "x"}], True),
        ([], True),
        (ANTHROPIC, True),
        ([ANTHROPIC, ANTHROPIC], False),
        ([[{"role": "user", "content": "x"}]], False),
        (["a", "b"], False),
        ([1, 2], False),
        ([[1, 2], [1]], False),
        ("a", False),
        (None, False),
        ([("human", "x")], True),
        (RESPONSES["input"], True),
        (GEMINI["contents"], True),
    ],
)
def test_what_is_one_chat(obj: Any, verdict: bool) -> None:
    assert is_chat_like(obj) is verdict
