"""What a template sees of a request: plain JSON types only, under the names templates read.

Follows what transformers (5.24) does before it renders: objects become dicts, anything that is not JSON becomes a
placeholder that names its type, keys whose value is None are dropped, and reasoning is found under all its names.
One difference, made for what engines send: `content` None beside tool calls becomes "" instead of missing. Measured
over 786 public templates and three tool chats: "" always renders where a missing one does, 681 of 2,358 renders fail
only when it is missing (Qwen3's template among them), and in 10 templates the two differ by markup around no text.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pytest_cachesafe.prompt import UsageError

__all__ = ["CONTINUE_TAG", "REASONING_KEYS", "continue_fields", "plain", "template_messages", "tool_schemas"]

# The first is the one chat templates read; gpt-oss reads the second.
REASONING_KEYS = ("reasoning_content", "thinking", "reasoning")
# Written behind the text to continue, to find it again in the prompt. The space shows whether the template trims.
CONTINUE_TAG = "CACHESAFE_CONTINUES_HERE "
_SCALARS = frozenset({str, int, float, bool, type(None)})


def plain(value: Any) -> Any:
    """A copy of `value` made of JSON types; tuples stay tuples."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is dict:
        return {(k if type(k) is str else plain(k)): (v if type(v) in _SCALARS else plain(v)) for k, v in value.items()}
    if kind is list:
        return [v if type(v) in _SCALARS else plain(v) for v in value]
    # Subclasses (enums, numpy scalars) could bring methods of their own into the sandbox.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return {plain(k): plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if kind.__module__ == "numpy" and callable(getattr(value, "item", None)) and not getattr(value, "shape", ()):
        return plain(value.item())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if callable(getattr(value, "model_dump", None)):
        return plain(value.model_dump())
    return f"<{kind.__name__}>"


def template_messages(messages: Iterable[Any], where: Callable[[int], str]) -> list[dict[str, Any]]:
    """Messages as a template sees them; `where` gives a message's JSON path for errors.

    Raises:
        UsageError: a message is no mapping, dataclass or pydantic model, or nests deeper than Python can walk.
    """
    out = []
    for index, message in enumerate(messages):
        try:
            seen = plain(message)
        except RecursionError:
            raise UsageError(f"{where(index)}: nested too deeply, or contains itself; give plain JSON data") from None
        if not isinstance(seen, dict):
            raise UsageError(
                f"{where(index)}: a message must be a mapping with role and content, not {type(message).__name__}"
            )
        if None in seen.values():
            calls = seen.get("tool_calls")
            seen = {k: ("" if v is None else v) for k, v in seen.items() if v is not None or (k == "content" and calls)}
        for key in REASONING_KEYS:
            reasoning = seen.get(key)
            if reasoning is not None:
                seen = {"thinking": reasoning, **seen, "reasoning_content": reasoning}
                break
        out.append(seen)
    return out


def tool_schemas(tools: Iterable[Any] | None) -> list[Any] | None:
    """Tools as JSON schemas; Python functions through transformers, which reads type hints and docstring.

    Raises:
        UsageError: a tool is neither a mapping nor a function, or a function lacks the hints or docstring it needs.
    """
    if tools is None:
        return None
    out = []
    for index, tool in enumerate(tools):
        if isinstance(tool, Mapping) or callable(getattr(tool, "model_dump", None)) or dataclasses.is_dataclass(tool):
            out.append(plain(tool))
        elif inspect.isfunction(tool) or inspect.ismethod(tool):
            out.append(plain(_schema_of(tool, index)))
        else:
            raise UsageError(f"tools[{index}]: a tool must be a JSON schema or a function, not {type(tool).__name__}")
    return out


def _schema_of(function: Callable[..., Any], index: int) -> Any:
    try:
        from transformers.utils.chat_template_utils import get_json_schema
    except ImportError:
        raise UsageError(
            f"tools[{index}]: the schema of a Python function comes from transformers: "
            "pip install 'pytest-cachesafe[render]', or give the JSON schema"
        ) from None
    try:
        return get_json_schema(function)
    except Exception as e:
        raise UsageError(f"tools[{index}]: no schema for function {function.__name__}: {e}") from e


def continue_fields(messages: list[dict[str, Any]], field: str, source: str) -> tuple[list[dict[str, Any]], str]:
    """Mark the text of the last message that is to be continued; returns the messages and that text.

    Raises:
        UsageError: no such field in the last message or in the template, or no text in it.
    """
    last = dict(messages[-1])
    value = last.get(field)
    if value is None:
        raise UsageError(f'continue_final_message: the last message has no "{field}" to continue')
    fields = [field]
    if field in REASONING_KEYS:
        fields = [k for k in REASONING_KEYS if last.get(k) == value]
    if not any(f in source for f in fields):
        raise UsageError(f'continue_final_message: the template never reads "{field}"')
    if isinstance(value, (list, tuple)):
        blocks = [dict(b) if isinstance(b, dict) else b for b in value]
        for block in reversed(blocks):
            if isinstance(block, dict) and "text" in block:
                text = str(block["text"])
                block["text"] = text + CONTINUE_TAG
                last[field] = blocks
                return [*messages[:-1], last], text
        raise UsageError("continue_final_message: the last message has no text block to continue")
    if not isinstance(value, str):
        raise UsageError(f'continue_final_message: "{field}" of the last message is {type(value).__name__}, not text')
    for name in fields:
        last[name] = value + CONTINUE_TAG
    return [*messages[:-1], last], value
