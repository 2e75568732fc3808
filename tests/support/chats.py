"""Chats every chat template is tried with: scenario name -> (messages, tools). Fresh objects on every call."""

from __future__ import annotations

from typing import Any

__all__ = ["TOOLS", "growing", "scenarios"]

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Current weather at a place.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "The city, e.g. Oslo"},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "The unit."},
                },
                "required": ["city"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "get_time",
            "description": "Local time at a place.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "The city."}},
                "required": ["city"],
            },
        },
    },
]


def _call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _result(call_id: str, name: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": content}


def scenarios() -> dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]] | None]]:
    """The chats of the oracle tests. Tool-call arguments are mappings, as transformers documents them."""
    plain: list[dict[str, Any]] = []
    for i, (question, answer) in enumerate(
        [
            ("What is the capital of France?", "Paris is the capital of France."),
            ("And of Norway?", "Oslo is the capital of Norway."),
            ("Which of them is larger?", "Paris is by far the larger one."),
            ("Thank you, one more: Grüße auf Deutsch?", ""),
        ]
    ):
        plain.append({"role": "user", "content": question})
        if i < 3:
            plain.append({"role": "assistant", "content": answer})
    system = [{"role": "system", "content": "You are a travel helper for Example Ltd."}, *plain]
    tool_call = [
        {"role": "user", "content": "What is the weather in Oslo?"},
        {"role": "assistant", "content": "", "tool_calls": [_call("call00001", "get_weather", city="Oslo")]},
        _result("call00001", "get_weather", '{"temperature": -3, "sky": "snow"}'),
        {"role": "assistant", "content": "It is -3 degrees in Oslo, with snow."},
        {"role": "user", "content": "And what time is it there?"},
        {"role": "assistant", "content": "", "tool_calls": [_call("call00002", "get_time", city="Oslo")]},
        _result("call00002", "get_time", "14:05 local"),
        {"role": "assistant", "content": "It is five past two in the afternoon."},
        {"role": "user", "content": "Should I go out now?"},
    ]
    parallel = [
        {"role": "user", "content": "Weather and time in Oslo, please."},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                _call("call00001", "get_weather", city="Oslo", unit="celsius"),
                _call("call00002", "get_time", city="Oslo"),
            ],
        },
        _result("call00001", "get_weather", '{"temperature": -3, "sky": "snow"}'),
        _result("call00002", "get_time", "14:05 local"),
        {"role": "assistant", "content": "Snow at -3 degrees, and it is five past two."},
        {"role": "user", "content": "Thanks. And tomorrow?"},
    ]
    reasoning = [dict(m) for m in tool_call]
    thoughts = ["The user wants weather, so I call the tool.", "Plain answer now.", "Now the time.", "Answer the time."]
    for message in reasoning:
        if message["role"] == "assistant":
            message["reasoning_content"] = thoughts.pop(0)
    return {
        "plain": (plain, None),
        "system": (system, None),
        "tools": ([dict(m) for m in plain], TOOLS),
        "tool_call": (tool_call, TOOLS),
        "parallel_call": (parallel, TOOLS),
        "reasoning_tool_call": (reasoning, TOOLS),
    }


def growing(messages: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The requests a chat stands for: its prefixes that end in a user turn or in the last tool result of a run."""
    out = []
    for i, message in enumerate(messages):
        following = messages[i + 1]["role"] if i + 1 < len(messages) else None
        if message["role"] == "user" or (message["role"] == "tool" and following != "tool"):
            out.append(messages[: i + 1])
    return out
