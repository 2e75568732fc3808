"""Message objects of the frameworks and SDKs themselves, not look-alikes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from pytest_cachesafe.messages import growing_requests, is_chat_like, to_chat
from pytest_cachesafe.prompt import UsageError

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"b": 1, "a": 2}}}


def test_no_framework_is_imported() -> None:
    code = (
        "import sys; from pytest_cachesafe.messages import to_chat;"
        "to_chat([{'role': 'user', 'content': 'x'}]);"
        "print([m for m in ('langchain_core', 'pydantic_ai', 'pydantic', 'openai', 'anthropic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_langchain_agent() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    history = [
        messages.SystemMessage("Rules."),
        messages.HumanMessage("Go", name="ann"),
        messages.AIMessage(
            content=[
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "Calling."},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"b": 1, "a": 2}},
            ],
            tool_calls=[{"name": "f", "args": {"b": 1, "a": 2}, "id": "c1"}],
            id="run-1",
        ),
        messages.ToolMessage("42", tool_call_id="c1", name="f"),
        messages.AIMessageChunk("Done."),
        ("human", "Bye"),
        {"role": "user", "content": "plain"},
    ]
    assert is_chat_like(history)
    chat = to_chat(history)
    assert chat.messages == [
        {"role": "system", "content": "Rules."},
        {"role": "user", "name": "ann", "content": "Go"},
        {"role": "assistant", "content": "Calling.", "reasoning_content": "hm", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "42"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Bye"},
        {"role": "user", "content": "plain"},
    ]
    assert list(chat.messages[2]["tool_calls"][0]["function"]["arguments"]) == ["b", "a"]
    assert chat.paths[3] == "messages[3]"


def test_langchain_details() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    broken = messages.AIMessage("", invalid_tool_calls=[{"name": "f", "args": "{bad", "id": "c1", "error": "e"}])
    raw = messages.AIMessage("", additional_kwargs={"reasoning_content": "r"})
    chat = to_chat(
        [
            messages.SystemMessage("d", additional_kwargs={"__openai_role__": "developer"}),
            messages.ChatMessage("c", role="critic"),
            broken,
            raw,
        ]
    )
    assert [m["role"] for m in chat.messages] == ["developer", "critic", "assistant", "assistant"]
    assert chat.messages[2]["tool_calls"][0]["function"]["arguments"] == "{bad"
    assert chat.messages[3]["reasoning_content"] == "r"
    with pytest.raises(UsageError, match=r"messages\[1\] is a LangChain message of type 'remove'"):
        to_chat([messages.HumanMessage("x"), messages.RemoveMessage(id="1")])


def test_langchain_stored_messages_and_prompt_values() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    prompts = pytest.importorskip("langchain_core.prompts")
    history = [messages.HumanMessage("a"), messages.AIMessage("b"), messages.HumanMessage("c")]
    plain = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    assert to_chat(messages.messages_to_dict(history)).messages == plain
    assert to_chat({"messages": history}).messages == plain
    value = prompts.ChatPromptTemplate.from_messages([("human", "a {x}")]).invoke({"x": 1})
    assert to_chat(value).messages == [{"role": "user", "content": "a 1"}]


def _pydantic_ai_history(messages: Any, *instructions: str | None) -> list[Any]:
    first, second, third = instructions
    return [
        messages.ModelRequest(
            parts=[messages.SystemPromptPart("Rules."), messages.UserPromptPart("Go")], instructions=first
        ),
        messages.ModelResponse(
            parts=[
                messages.ThinkingPart("hm"),
                messages.TextPart("Calling."),
                messages.ToolCallPart("f", '{"b": 1,"a":2}', "c1"),
                messages.ToolCallPart("g", {"x": 1}, "c2"),
            ]
        ),
        messages.ModelRequest(
            parts=[messages.ToolReturnPart("f", "42", "c1"), messages.ToolReturnPart("g", {"y": 2}, "c2")],
            instructions=second,
        ),
        messages.ModelResponse(parts=[messages.TextPart("Done.")]),
        messages.ModelRequest(parts=[messages.UserPromptPart(["Bye", "now"])], instructions=third),
    ]


def test_pydantic_ai_agent() -> None:
    messages = pytest.importorskip("pydantic_ai.messages")
    history = _pydantic_ai_history(messages, None, None, None)
    assert is_chat_like(history)
    chat = to_chat(history)
    assert chat.messages == [
        {"role": "system", "content": "Rules."},
        {"role": "user", "content": "Go"},
        {
            "role": "assistant",
            "content": "Calling.",
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"b": 1,"a":2}'}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": {"x": 1}}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "42"},
        {"role": "tool", "tool_call_id": "c2", "name": "g", "content": '{"y":2}'},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": [{"type": "text", "text": "Bye"}, {"type": "text", "text": "now"}]},
    ]
    assert chat.paths[3] == "messages[2].parts[0]"
    stored = messages.ModelMessagesTypeAdapter.dump_python(history, mode="json")
    assert is_chat_like(stored)
    assert to_chat(stored).messages == chat.messages


def test_pydantic_ai_retries() -> None:
    messages = pytest.importorskip("pydantic_ai.messages")
    feedback = messages.RetryFeedbackPart("Nope.", retry=messages.RetryInfo(cause="output_validation"))
    request = messages.ModelRequest(parts=[messages.UserPromptPart("q"), feedback])
    chat = to_chat([request])
    assert [m["role"] for m in chat.messages] == ["user", "user"]
    assert "Nope." in chat.messages[1]["content"]


def test_pydantic_ai_instructions_are_those_of_each_request() -> None:
    messages = pytest.importorskip("pydantic_ai.messages")
    chat = to_chat(_pydantic_ai_history(messages, "It is 10:41.", "It is 10:42.", "It is 10:43."))
    assert [m["content"] for m in chat.messages[:2]] == ["Rules.", "It is 10:43."]
    grown = growing_requests(chat)
    assert [r.messages[1]["content"] for r in grown] == ["It is 10:41.", "It is 10:42.", "It is 10:43."]
    assert [r.messages[-1]["role"] for r in grown] == ["user", "tool", "user"]


def test_openai_objects_go_out_as_the_client_sends_them() -> None:
    chat_types = pytest.importorskip("openai.types.chat")
    answer = chat_types.ChatCompletionMessage.model_validate(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"b":1}'}}],
        }
    )
    chat = to_chat([{"role": "user", "content": "q"}, answer])
    assert chat.messages[1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"b":1}'}}],
    }


def test_anthropic_content_objects_inside_a_body() -> None:
    types = pytest.importorskip("anthropic.types")
    content = [
        types.TextBlock(type="text", text="Calling."),
        types.ToolUseBlock(type="tool_use", id="c1", name="f", input={"b": 1, "a": 2}),
    ]
    body = {
        "model": "claude-opus-5",
        "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": content}],
    }
    chat = to_chat(body)
    assert chat.wire == "anthropic"
    assert chat.messages[1] == {"role": "assistant", "content": "Calling.", "tool_calls": [CALL]}
    assert chat.body is not None
    assert chat.body["messages"][1]["content"][0] == {"type": "text", "text": "Calling."}


def test_users_own_pydantic_models_are_sent_whole() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Message(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        role: str = "user"
        content: str

    assert to_chat([Message(content="x")]).messages == [{"role": "user", "content": "x"}]
