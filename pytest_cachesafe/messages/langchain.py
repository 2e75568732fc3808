"""LangChain messages (objects, stored dicts, `("human", "…")` pairs) as OpenAI chat messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.messages.parts import add_text, joined
from pytest_cachesafe.messages.plain import kind_of, snapshot, type_of
from pytest_cachesafe.prompt import UsageError

__all__ = ["convert", "is_message", "is_pair", "is_stored"]

_ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
    "function": "function",
    "HumanMessageChunk": "user",
    "AIMessageChunk": "assistant",
    "SystemMessageChunk": "system",
    "ToolMessageChunk": "tool",
    "FunctionMessageChunk": "function",
}
# Content blocks that say again what the message's own fields say.
_REPEATED = frozenset(("tool_use", "tool_call", "tool_call_chunk", "input_json_delta", "function_call"))


def is_message(obj: Any) -> bool:
    """Whether `obj` is a LangChain message object."""
    return any(cls.__module__.startswith("langchain_core.messages") for cls in type(obj).__mro__) and hasattr(
        obj, "content"
    )


def is_pair(obj: Any) -> bool:
    """Whether `obj` is a message as a pair of role and content."""
    return (
        isinstance(obj, tuple)
        and len(obj) == 2
        and isinstance(obj[0], str)
        and obj[0] in _ROLES
        and isinstance(obj[1], (str, list))
    )


def is_stored(obj: Any) -> bool:
    """Whether `obj` is a message dict in LangChain's own forms (type instead of role)."""
    if not isinstance(obj, Mapping) or "role" in obj or type_of(obj) not in _ROLES:
        return False
    return isinstance(obj.get("data"), Mapping) or "content" in obj


def _get(obj: Any, name: str) -> Any:
    return obj.get(name) if isinstance(obj, Mapping) else getattr(obj, name, None)


def convert(obj: Any, path: str, notes: list[str]) -> dict[str, Any]:
    """One message; parsed tool calls are used, raw ones only where parsing failed.

    Raises:
        UsageError: content that is neither string nor list, or a kind of message that is not sent.
    """
    if isinstance(obj, tuple):
        return {"role": _ROLES[obj[0]], "content": snapshot(obj[1], f"{path}.content")}
    if isinstance(obj, Mapping) and isinstance(obj.get("data"), Mapping):
        obj = {"type": obj["type"], **obj["data"]}
    kind = _get(obj, "type")
    role = _get(obj, "role") if kind in ("chat", "ChatMessageChunk") else _ROLES.get(kind)
    extra = _get(obj, "additional_kwargs") or {}
    if role is None:
        raise UsageError(f"{path} is a LangChain message of type {kind!r}, which is never sent to a model")
    if role == "system" and extra.get("__openai_role__") == "developer":
        role = "developer"
    content = snapshot(_get(obj, "content"), f"{path}.content")
    if content is not None and not isinstance(content, (str, list)):
        raise UsageError(f"{path}.content is {kind_of(content)}; a string, a list of content blocks or None is meant")
    calls = _calls(obj, extra, path)
    content, reasoning = _content(content, bool(calls), path, notes)
    message: dict[str, Any] = {"role": role}
    if role in ("tool", "function") and _get(obj, "tool_call_id") is not None:
        message["tool_call_id"] = _get(obj, "tool_call_id")
    if _get(obj, "name") is not None:
        message["name"] = _get(obj, "name")
    message["content"] = content
    if reasoning is None and isinstance(extra.get("reasoning_content"), str):
        reasoning = extra["reasoning_content"]
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = calls
    elif extra.get("function_call") is not None:
        message["function_call"] = snapshot(extra["function_call"], f"{path}.additional_kwargs.function_call")
    return message


def _calls(obj: Any, extra: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    calls = []
    for name in ("tool_calls", "invalid_tool_calls"):
        for i, call in enumerate(_get(obj, name) or ()):
            arguments = snapshot(call.get("args"), f"{path}.{name}[{i}].args")
            function = {"name": call.get("name"), "arguments": arguments}
            calls.append({"id": call.get("id"), "type": "function", "function": function})
    if not calls and extra.get("tool_calls"):
        calls = snapshot(extra["tool_calls"], f"{path}.additional_kwargs.tool_calls")
    return calls


def _content(content: Any, has_calls: bool, path: str, notes: list[str]) -> tuple[Any, str | None]:
    """(content, reasoning): thoughts go apart, blocks that repeat the tool calls go away."""
    if not isinstance(content, list):
        return content, None
    reasoning: str | None = None
    blocks: list[dict[str, Any]] = []
    for i, block in enumerate(content):
        if isinstance(block, str):
            blocks.append({"type": "text", "text": block})
            continue
        kind = type_of(block)
        if kind in ("thinking", "reasoning"):
            texts = [block.get("thinking", block.get("reasoning"))]
            texts += [s.get("text") for s in block.get("summary") or () if isinstance(s, dict)]
            for text in texts:
                reasoning = add_text(reasoning, text) if isinstance(text, str) else reasoning
        elif kind == "redacted_thinking":
            notes.append(f"redacted thinking at {path}.content[{i}] left out: only the provider can read it")
        elif kind in _REPEATED and has_calls:
            continue
        elif kind == "text" and isinstance(block.get("text"), str):
            blocks.append({"type": "text", "text": block["text"]})
        elif isinstance(block, dict):
            blocks.append({key: value for key, value in block.items() if key != "cache_control"})
            if kind not in ("image", "image_url", "text"):
                notes.append(f"block type {kind!r} at {path}.content[{i}] kept as it is")
        else:
            raise UsageError(f"{path}.content[{i}] is {kind_of(block)}; a content block (a dict) is meant")
    return joined(blocks), reasoning
