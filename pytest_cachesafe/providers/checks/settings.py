"""Settings that void a cached prefix, read off a body with its defaults filled in, and how two requests differ in them.

Sources: Claude Platform Docs, "Prompt caching" (what invalidates the cache) and "Effort"; OpenAI Developers, "Prompt
caching" (what breaks the prefix); Amazon Bedrock User Guide, "Prompt caching". Read 2026-11-29. Fields that change by
design (ids of earlier responses, metadata, stream, sampling, output limits) are not settings of the prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["Change", "Rank", "changes", "has_web_tools"]

# What a change voids, in the provider's order: everything, tools and behind, system and behind (a setting, the text),
# messages (a setting, their content).
Rank = int
ALL, TOOLS, SYSTEM_SETTING, SYSTEM, MESSAGE_SETTING, MESSAGES = range(6)

_WEB = ("web_search", "web_fetch")
_IMAGES = frozenset(("image", "image_url", "input_image"))


@dataclass(frozen=True, slots=True)
class Change:
    """One setting with another value than in the request before."""

    rank: Rank
    code: str
    path: str
    before: Any
    after: Any


def changes(a: Exchange, b: Exchange) -> list[Change]:
    """Settings of `b` that void what `a` wrote, in the order in which providers render them."""
    if a.api != b.api:
        return [Change(ALL, "endpoint-changed", "", _endpoint(a), _endpoint(b))]
    out: list[Change] = []
    if a.model is not None and b.model is not None and a.model != b.model:
        out.append(Change(ALL, "model-changed", _model_path(b), a.model, b.model))
    reader = _READERS[b.api]
    before = {code: (value, path) for _, code, path, value in reader(a.body)}
    for rank, code, path, value in reader(b.body):
        old, old_path = before[code]
        if old != value:
            out.append(Change(rank, code, path or old_path, old, value))
    return sorted(out, key=lambda change: change.rank)


def _endpoint(exchange: Exchange) -> str:
    return exchange.path or exchange.api


def _model_path(exchange: Exchange) -> str:
    return "model" if exchange.body.get("model") is not None or exchange.path is None else exchange.path


_Setting = tuple[Rank, str, str, Any]


def _anthropic(body: Mapping[str, Any]) -> Iterator[_Setting]:
    thinking = body.get("thinking")
    # How much of it is shown is no part of the prompt; not asked for is switched off.
    shown = _pick(thinking, "type", "budget_tokens")
    yield ALL, "thinking-changed", "thinking", None if shown == {"type": "disabled"} else shown
    output = _mapping(body.get("output_config"))
    # "high" is what is used where nothing is said ("Effort").
    effort = output.get("effort")
    yield ALL, "effort-changed", "output_config.effort", None if effort == "high" else effort
    schema = output.get("format", body.get("output_format"))
    yield ALL, "output-format-changed", "output_config.format", schema
    speed = body.get("speed")
    yield SYSTEM_SETTING, "speed-changed", "speed", None if speed == "standard" else speed
    yield SYSTEM_SETTING, "citations-toggled", *_citations(body)
    choice = _mapping(body.get("tool_choice"))
    picked = {k: v for k, v in choice.items() if k != "disable_parallel_tool_use"}
    with_tools = bool(body.get("tools"))
    yield MESSAGE_SETTING, "tool-choice-changed", "tool_choice", _default(picked if with_tools else None)
    parallel = choice.get("disable_parallel_tool_use") is True and with_tools
    yield MESSAGE_SETTING, "parallel-tool-use-changed", "tool_choice.disable_parallel_tool_use", parallel
    yield MESSAGE_SETTING, "images-toggled", *_images(body.get("messages"), "messages")


def _default(choice: Any) -> Any:
    return None if choice in ({}, {"type": "auto"}) else choice


def _converse(body: Mapping[str, Any]) -> Iterator[_Setting]:
    extra = _mapping(body.get("additionalModelRequestFields"))
    thinking = _pick(extra.get("thinking", extra.get("reasoning_config")), "type", "budget_tokens")
    where = "additionalModelRequestFields"
    yield ALL, "thinking-changed", f"{where}.thinking", None if thinking == {"type": "disabled"} else thinking
    effort = _mapping(extra.get("output_config")).get("effort")
    yield ALL, "effort-changed", f"{where}.output_config.effort", None if effort == "high" else effort
    config = _mapping(body.get("toolConfig"))
    choice = config.get("toolChoice")
    yield MESSAGE_SETTING, "tool-choice-changed", "toolConfig.toolChoice", None if choice == {"auto": {}} else choice
    yield MESSAGE_SETTING, "images-toggled", *_images(body.get("messages"), "messages")


def _openai_chat(body: Mapping[str, Any]) -> Iterator[_Setting]:
    yield from _openai(body)
    yield ALL, "effort-changed", "reasoning_effort", body.get("reasoning_effort")
    verbosity = body.get("verbosity")
    yield ALL, "verbosity-changed", "verbosity", None if verbosity == "medium" else verbosity
    form = body.get("response_format")
    yield ALL, "output-format-changed", "response_format", None if form == {"type": "text"} else form


def _responses(body: Mapping[str, Any]) -> Iterator[_Setting]:
    yield from _openai(body)
    yield ALL, "effort-changed", "reasoning.effort", _mapping(body.get("reasoning")).get("effort")
    text = _mapping(body.get("text"))
    verbosity = text.get("verbosity")
    yield ALL, "verbosity-changed", "text.verbosity", None if verbosity == "medium" else verbosity
    form = text.get("format")
    yield ALL, "output-format-changed", "text.format", None if form == {"type": "text"} else form


def _openai(body: Mapping[str, Any]) -> Iterator[_Setting]:
    tier = body.get("service_tier")
    yield ALL, "service-tier-changed", "service_tier", None if tier in ("auto", "default") else tier
    mode = _mapping(body.get("prompt_cache_options")).get("mode")
    yield ALL, "cache-mode-changed", "prompt_cache_options.mode", None if mode == "implicit" else mode
    parallel = body.get("parallel_tool_calls")
    with_tools = bool(body.get("tools"))
    yield ALL, "parallel-tool-use-changed", "parallel_tool_calls", parallel is False and with_tools


def _gemini(body: Mapping[str, Any]) -> Iterator[_Setting]:
    cached = body.get("cachedContent", body.get("cached_content"))
    yield ALL, "cached-content-changed", "cachedContent", cached


_READERS = {
    "messages": _anthropic,
    "invoke": _anthropic,
    "converse": _converse,
    "chat": _openai_chat,
    "responses": _responses,
    "gemini": _gemini,
}


def has_web_tools(tool: Any) -> bool:
    """Whether a tool definition is the provider's own web search or fetch."""
    return isinstance(tool, Mapping) and str(tool.get("type")).startswith(_WEB)


def _citations(body: Mapping[str, Any]) -> tuple[str, bool]:
    """(path of the first block that asks for citations, whether there is one)."""
    for path, block in _blocks(body.get("messages"), "messages"):
        if _mapping(block.get("citations")).get("enabled") is True:
            return path, True
    return "", False


def _images(messages: Any, name: str) -> tuple[str, bool]:
    for path, block in _blocks(messages, name):
        if block.get("type") in _IMAGES or isinstance(block.get("image"), Mapping):
            return path, True
    return "", False


def _blocks(messages: Any, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Content blocks of all messages with those inside tool results."""
    for i, message in enumerate(messages if isinstance(messages, list) else []):
        content = message.get("content") if isinstance(message, Mapping) else None
        yield from _inside(content, f"{name}[{i}].content")


def _inside(content: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for i, block in enumerate(content if isinstance(content, list) else []):
        if not isinstance(block, Mapping):
            continue
        yield f"{path}[{i}]", block
        result = block.get("toolResult")
        inner = result.get("content") if isinstance(result, Mapping) else block.get("content")
        if isinstance(inner, list):
            yield from _inside(inner, f"{path}[{i}].content")


def _pick(value: Any, *keys: str) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {key: value[key] for key in keys if value.get(key) is not None} or None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
