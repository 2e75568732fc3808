"""Which wire format a body or a bare message list is in, from what it carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_cachesafe.messages import objects
from pytest_cachesafe.messages.plain import type_of

__all__ = ["BODY_KEYS", "WIRES", "detect_body", "detect_list", "evident_formats", "is_body", "is_message"]

WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini", "bedrock", "messages", "text", "ids")
BODY_KEYS = ("messages", "input", "contents", "prompt", "prompt_token_ids")

_ANTHROPIC_BLOCKS = frozenset(
    ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "search_result")
)
_BEDROCK_BLOCKS = frozenset(("text", "toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent"))
_BEDROCK_KEYS = ("modelId", "toolConfig", "inferenceConfig", "additionalModelRequestFields", "guardrailConfig")
_ANTHROPIC_KEYS = ("anthropic_version", "anthropic_beta", "stop_sequences", "output_config", "context_management")
_OPENAI_KEYS = (
    *("functions", "response_format", "max_completion_tokens", "stream_options", "frequency_penalty", "n", "logprobs"),
    *("parallel_tool_calls", "reasoning_effort", "chat_template_kwargs", "template_kwargs", "kwargs", "seed"),
    *("add_generation_prompt", "continue_final_message", "prompt_cache_key", "presence_penalty", "logit_bias"),
)
_RESPONSES_ITEMS = frozenset(
    ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "item_reference")
)


def is_body(obj: Any) -> bool:
    """Whether a dict is a request body: it holds messages or a prompt and is no message itself."""
    return isinstance(obj, Mapping) and "role" not in obj and any(key in obj for key in BODY_KEYS)


def is_message(obj: Any) -> bool:
    """Whether something is a message: a dict with a role, an item of a known wire format, or a framework's object."""
    if isinstance(obj, Mapping):
        if "role" in obj:
            return True
        return not is_body(obj) and (
            type_of(obj) in _RESPONSES_ITEMS | {"reasoning", "message"}
            or isinstance(obj.get("parts"), list)
            or objects.is_framework_dict(obj)
        )
    return objects.is_message_object(obj)


def _blocks(messages: Sequence[Any]) -> list[Mapping[str, Any]]:
    out = []
    for message in messages:
        content = message.get("content") if isinstance(message, Mapping) else None
        if isinstance(content, list):
            out += [block for block in content if isinstance(block, Mapping)]
    return out


def detect_list(messages: Sequence[Any]) -> str:
    """The wire format of a bare list of plain messages; "messages" for the shape chat templates read."""
    for message in messages:
        if isinstance(message, str):
            continue
        if "parts" in message and "content" not in message:
            return "gemini"
        if type_of(message) in _RESPONSES_ITEMS or (type_of(message) == "reasoning" and "role" not in message):
            return "openai-responses"
    if any("tool_calls" in m or m.get("role") == "tool" for m in messages if isinstance(m, Mapping)):
        return "messages"
    for block in _blocks(messages):
        kind = type_of(block)
        if kind in _ANTHROPIC_BLOCKS:
            return "anthropic"
        if kind in ("input_text", "output_text", "input_image", "input_file"):
            return "openai-responses"
        if "type" not in block and not _BEDROCK_BLOCKS.isdisjoint(block):
            return "bedrock"
    return "messages"


def detect_body(body: Mapping[str, Any]) -> str:
    """The wire format of a body. Where nothing tells Anthropic from OpenAI, it is OpenAI Chat Completions."""
    if body.get("messages") is None:
        if body.get("contents") is not None:
            return "gemini"
        if body.get("input") is not None:
            return "openai-responses"
        return "ids" if body.get("prompt_token_ids") is not None else "text"
    messages = body["messages"] if isinstance(body["messages"], list) else []
    plain = [message for message in messages if isinstance(message, Mapping)]
    blocks = _blocks(plain)
    system = body.get("system")
    if any(key in body for key in _BEDROCK_KEYS):
        return "bedrock"
    untyped = [b for b in [*blocks, *(system if isinstance(system, list) else [])] if isinstance(b, Mapping)]
    if any("type" not in b and not _BEDROCK_BLOCKS.isdisjoint(b) for b in untyped):
        return "bedrock"
    if any("tool_calls" in m or m.get("role") in ("tool", "function", "developer") for m in plain):
        return "openai-chat"
    if system is not None or any(key in body for key in _ANTHROPIC_KEYS):
        return "anthropic"
    tools = body.get("tools") if isinstance(body.get("tools"), list) else []
    specs = [tool for tool in tools or () if isinstance(tool, Mapping)]
    if any("input_schema" in tool for tool in specs):
        return "anthropic"
    if any("function" in tool for tool in specs):
        return "openai-chat"
    if any(type_of(block) in _ANTHROPIC_BLOCKS for block in blocks):
        return "anthropic"
    if any(key in body for key in _OPENAI_KEYS) or any(m.get("role") == "system" for m in plain):
        return "openai-chat"
    # "anthropic/claude-…" is how OpenAI-shaped gateways name the model; a bare id goes to Anthropic itself.
    model = body.get("model")
    return "anthropic" if isinstance(model, str) and model.startswith("claude") else "openai-chat"


def evident_formats(body: Mapping[str, Any]) -> frozenset[str]:
    """The wire formats that something in a body speaks for; several where it mixes them, none where nothing tells."""
    if body.get("messages") is None:
        found = detect_body(body)
        return frozenset((found,)) if found in ("gemini", "openai-responses") else frozenset()
    plain = [m for m in body["messages"] if isinstance(m, Mapping)] if isinstance(body["messages"], list) else []
    blocks = _blocks(plain)
    system, tools = body.get("system"), body.get("tools")
    specs = [tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    untyped = [b for b in [*blocks, *(system if isinstance(system, list) else [])] if isinstance(b, Mapping)]
    bedrock = any(key in body for key in _BEDROCK_KEYS) or any(
        "type" not in b and not _BEDROCK_BLOCKS.isdisjoint(b) for b in untyped
    )
    model = body.get("model")
    signs = {
        "bedrock": bedrock,
        "anthropic": (
            (system is not None and not bedrock)
            or any(key in body for key in _ANTHROPIC_KEYS)
            or any("input_schema" in tool for tool in specs)
            or any(type_of(block) in _ANTHROPIC_BLOCKS for block in blocks)
            or (isinstance(model, str) and model.startswith("claude"))
        ),
        "openai-chat": (
            any("tool_calls" in m or m.get("role") in ("system", "developer", "tool", "function") for m in plain)
            or any(key in body for key in _OPENAI_KEYS)
            or any("function" in tool for tool in specs)
        ),
    }
    return frozenset(name for name, seen in signs.items() if seen)
