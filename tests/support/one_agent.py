"""One agent turn with two parallel calls, as a request body of every wire format."""

from __future__ import annotations

from typing import Any

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["city"],
    "properties": {"unit": {"type": "string"}, "city": {"type": "string"}},
}
TOOL = {"type": "function", "function": {"name": "weather", "description": "Weather.", "parameters": SCHEMA}}

OPENAI: dict[str, Any] = {
    "model": "gpt-6-sol",
    "tools": [TOOL],
    "messages": [
        {"role": "system", "content": "Rules."},
        {"role": "user", "content": "Oslo and Rome?"},
        {
            "role": "assistant",
            "content": "Looking.",
            "reasoning_content": "two calls",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": {"city": "Oslo"}}},
                {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": {"city": "Rome"}}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "4"},
        {"role": "tool", "tool_call_id": "c2", "name": "weather", "content": "19"},
        {"role": "user", "content": "Thanks."},
    ],
}
ANTHROPIC: dict[str, Any] = {
    "max_tokens": 100,
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Oslo and Rome?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "two calls", "signature": "sig"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
                {"type": "tool_use", "id": "c2", "name": "weather", "input": {"city": "Rome"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "4"},
                {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "19"}]},
                {"type": "text", "text": "Thanks.", "cache_control": {"type": "ephemeral"}},
            ],
        },
    ],
    "model": "claude-sonnet-4-6",
    "system": [{"type": "text", "text": "Rules.", "cache_control": {"type": "ephemeral"}}],
    "tools": [
        {"name": "weather", "description": "Weather.", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}}
    ],
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-6-sol",
    "instructions": "Rules.",
    "tools": [{"type": "function", "name": "weather", "description": "Weather.", "parameters": SCHEMA}],
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Oslo and Rome?"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "two calls"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": {"city": "Oslo"}},
        {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": {"city": "Rome"}},
        {"type": "function_call_output", "call_id": "c1", "output": "4"},
        {"type": "function_call_output", "call_id": "c2", "output": "19"},
        {"role": "user", "content": "Thanks."},
    ],
}
GEMINI: dict[str, Any] = {
    "model": "gemini-3-pro",
    "config": {
        "system_instruction": "Rules.",
        "tools": [{"function_declarations": [{"name": "weather", "description": "Weather.", "parameters": SCHEMA}]}],
    },
    "contents": [
        {"role": "user", "parts": [{"text": "Oslo and Rome?"}]},
        {
            "role": "model",
            "parts": [
                {"text": "two calls", "thought": True},
                {"text": "Looking."},
                {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}},
                {"function_call": {"id": "c2", "name": "weather", "args": {"city": "Rome"}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "weather", "response": "4"}},
                {"function_response": {"id": "c2", "name": "weather", "response": "19"}},
                {"text": "Thanks."},
            ],
        },
    ],
}
BEDROCK: dict[str, Any] = {
    "modelId": "anthropic.claude-sonnet-4-6",
    "system": [{"text": "Rules."}, {"cachePoint": {"type": "default"}}],
    "toolConfig": {
        "tools": [
            {"toolSpec": {"name": "weather", "description": "Weather.", "inputSchema": {"json": SCHEMA}}},
            {"cachePoint": {"type": "default"}},
        ]
    },
    "messages": [
        {"role": "user", "content": [{"text": "Oslo and Rome?"}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "two calls", "signature": "s"}}},
                {"text": "Looking."},
                {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Oslo"}}},
                {"toolUse": {"toolUseId": "c2", "name": "weather", "input": {"city": "Rome"}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "c1", "content": [{"text": "4"}]}},
                {"toolResult": {"toolUseId": "c2", "content": [{"json": 19}]}},
                {"text": "Thanks."},
                {"cachePoint": {"type": "default"}},
            ],
        },
    ],
}
BODIES: dict[str, dict[str, Any]] = {
    "openai-chat": OPENAI,
    "anthropic": ANTHROPIC,
    "openai-responses": RESPONSES,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
}
