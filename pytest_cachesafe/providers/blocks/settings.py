"""Fields of a request that void what is cached, beside its blocks: which they are, and where each enters the chain.

Anthropic: Claude Platform Docs, "Prompt caching", what invalidates the cache, and "Tool use with prompt caching"; rows
that depend on the model are taken as void, as the docs advise. OpenAI: OpenAI Developers, "Prompt caching", what breaks
the prefix. Both read 2026-11-29. A default that is written out is the same as none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_cachesafe.messages.gemini import config_of
from pytest_cachesafe.providers.blocks.block import Level
from pytest_cachesafe.providers.blocks.builder import mapping

__all__ = ["Settings", "level_of", "settings_of"]

# name -> (value, path in the body)
Settings = dict[str, tuple[Any, str]]

# The first level that a change voids; "tools" is everything.
_LEVELS: dict[str, Level] = {
    "speed": "system",
    "web_search": "system",
    "web_fetch": "system",
    "citations": "system",
    "tool_choice": "messages",
    "disable_parallel_tool_use": "messages",
    "images": "messages",
}


def level_of(name: str) -> Level:
    """The first level that a change of this setting voids."""
    return _LEVELS.get(name, "tools")


def settings_of(api: str, body: Mapping[str, Any], traits: Mapping[str, str]) -> Settings:
    """Every setting of a request that counts; `traits` are those that stand in its blocks (name -> path)."""
    found = _READERS[api](body)
    if api in ("messages", "invoke", "converse"):
        found.update({name: (True, path) for name, path in traits.items()})
    return found


def _put(found: Settings, name: str, value: Any, path: str, *defaults: Any) -> None:
    if value is not None and value not in defaults:
        found[name] = (value, path)


def _thinking(value: Any) -> Any:
    """Mode and budget; how thinking is shown in the reply does not reach the prompt."""
    if not isinstance(value, Mapping):
        return value
    if value.get("type") == "disabled":
        return None
    return {key: value[key] for key in sorted(value) if key != "display" and value[key] is not None} or None


def _choice(found: Settings, choice: Any, path: str) -> None:
    if not isinstance(choice, Mapping):
        _put(found, "tool_choice", choice, path, "auto")
        return
    if choice.get("disable_parallel_tool_use") is True:
        found["disable_parallel_tool_use"] = (True, f"{path}.disable_parallel_tool_use")
    rest = {key: choice[key] for key in sorted(choice) if key != "disable_parallel_tool_use"}
    _put(found, "tool_choice", rest, path, {}, {"type": "auto"}, {"auto": {}})


def _output(found: Settings, config: Any, path: str) -> None:
    # "high" is the documented default of effort.
    _put(found, "effort", mapping(config).get("effort"), f"{path}.effort", "high")
    for key in ("format", "textFormat"):
        _put(found, "output_format", mapping(config).get(key), f"{path}.{key}")


def _anthropic(body: Mapping[str, Any]) -> Settings:
    found: Settings = {}
    _put(found, "thinking", _thinking(body.get("thinking")), "thinking")
    _output(found, body.get("output_config"), "output_config")
    _put(found, "speed", body.get("speed"), "speed", "standard")
    _choice(found, body.get("tool_choice"), "tool_choice")
    servers = body.get("mcp_servers")
    if isinstance(servers, list) and servers:
        # Tokens to log in with are no part of the prompt.
        shown = [{k: v for k, v in mapping(s).items() if k != "authorization_token"} for s in servers]
        found["mcp_servers"] = (shown, "mcp_servers")
    return found


def _converse(body: Mapping[str, Any]) -> Settings:
    found: Settings = {}
    extra = mapping(body.get("additionalModelRequestFields"))
    for name in ("thinking", "reasoning_config"):
        _put(found, "thinking", _thinking(extra.get(name)), f"additionalModelRequestFields.{name}")
    _output(found, extra.get("output_config"), "additionalModelRequestFields.output_config")
    _output(found, body.get("outputConfig"), "outputConfig")
    _choice(found, mapping(body.get("toolConfig")).get("toolChoice"), "toolConfig.toolChoice")
    return found


def _openai(body: Mapping[str, Any]) -> Settings:
    found: Settings = {}
    _put(found, "prompt_cache_key", body.get("prompt_cache_key"), "prompt_cache_key", "")
    _put(found, "parallel_tool_calls", body.get("parallel_tool_calls"), "parallel_tool_calls", True)
    _put(found, "service_tier", body.get("service_tier"), "service_tier", "auto")
    return found


def _chat(body: Mapping[str, Any]) -> Settings:
    found = _openai(body)
    _put(found, "text_format", body.get("response_format"), "response_format", {"type": "text"})
    _put(found, "reasoning_effort", body.get("reasoning_effort"), "reasoning_effort")
    _put(found, "verbosity", body.get("verbosity"), "verbosity", "medium")
    return found


def _responses(body: Mapping[str, Any]) -> Settings:
    found = _openai(body)
    text = mapping(body.get("text"))
    _put(found, "text_format", text.get("format"), "text.format", {"type": "text"})
    _put(found, "reasoning_effort", mapping(body.get("reasoning")).get("effort"), "reasoning.effort")
    _put(found, "verbosity", text.get("verbosity"), "text.verbosity", "medium")
    _put(found, "prompt", body.get("prompt"), "prompt")
    return found


def _gemini(body: Mapping[str, Any]) -> Settings:
    found: Settings = {}
    path, value = config_of(body, "cachedContent", "cached_content")
    _put(found, "cached_content", value, path)
    return found


_READERS: dict[str, Callable[[Mapping[str, Any]], Settings]] = {
    "messages": _anthropic,
    "invoke": _anthropic,
    "converse": _converse,
    "chat": _chat,
    "responses": _responses,
    "gemini": _gemini,
}
