"""Settings that void a cached prefix, and how two requests differ in them.

Which fields count, what their defaults are and from which level on each voids is told by `blocks.settings`, with its
sources. Fields that change by design (ids of earlier responses, metadata, stream, sampling, output limits) are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe.providers.blocks.block import Layout
from pytest_cachesafe.providers.blocks.settings import level_of
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["ALL", "MESSAGES", "MESSAGE_SETTING", "SYSTEM", "SYSTEM_SETTING", "TOOLS", "Change", "Rank", "changes"]

# What a change voids, in the provider's order: everything, tools and behind, system and behind (a setting, the text),
# messages (a setting, their content).
Rank = int
ALL, TOOLS, SYSTEM_SETTING, SYSTEM, MESSAGE_SETTING, MESSAGES = range(6)

_LEVELS: dict[str, Rank] = {"tools": ALL, "system": SYSTEM_SETTING, "messages": MESSAGE_SETTING}
# name in `Layout.settings` -> code
_CODES = {
    "thinking": "thinking-changed",
    "effort": "effort-changed",
    "reasoning_effort": "effort-changed",
    "output_format": "output-format-changed",
    "text_format": "output-format-changed",
    "verbosity": "verbosity-changed",
    "speed": "speed-changed",
    "service_tier": "service-tier-changed",
    "citations": "citations-toggled",
    "images": "images-toggled",
    "tool_choice": "tool-choice-changed",
    "disable_parallel_tool_use": "parallel-tool-use-changed",
    "parallel_tool_calls": "parallel-tool-use-changed",
    "mcp_servers": "tools-changed",
    "cached_content": "cached-content-changed",
    "prompt": "system-changed",
}
# Of no use without tools, with which they go to the model.
_WITH_TOOLS = frozenset(("tool_choice", "disable_parallel_tool_use", "parallel_tool_calls"))


@dataclass(frozen=True, slots=True)
class Change:
    """One setting with another value than in the request before."""

    rank: Rank
    code: str
    path: str
    before: Any
    after: Any


def changes(a: Exchange, one: Layout, b: Exchange, other: Layout) -> list[Change]:
    """Settings of `b` that void what `a` wrote, in the order in which providers render them."""
    if a.provider != b.provider:
        return [Change(ALL, "provider-changed", "", a.provider, b.provider)]
    if a.api != b.api:
        return [Change(ALL, "endpoint-changed", "", a.path or a.api, b.path or b.api)]
    return sorted(_changes(a, one, b, other), key=lambda change: change.rank)


def _changes(a: Exchange, one: Layout, b: Exchange, other: Layout) -> Iterator[Change]:
    if a.model is not None and b.model is not None and a.model != b.model:
        in_body = next((key for key in ("model", "modelId") if b.body.get(key) is not None), None)
        yield Change(ALL, "model-changed", in_body or b.path or "model", a.model, b.model)
    if b.provider == "openai":
        modes = [_mode(exchange.body) for exchange in (a, b)]
        if modes[0] != modes[1]:
            yield Change(ALL, "cache-mode-changed", "prompt_cache_options.mode", *modes)
    with_tools = all(any(block.level == "tools" for block in layout.blocks) for layout in (one, other))
    for name, code in _CODES.items():
        before, after = one.settings.get(name), other.settings.get(name)
        if name in _WITH_TOOLS and not with_tools:
            continue
        values = [found[0] if found is not None else None for found in (before, after)]
        if values[0] != values[1]:
            path = (after or before or ("", name))[1]
            yield Change(_LEVELS[level_of(name)], code, path, *values)


def _mode(body: Mapping[str, Any]) -> str:
    options = body.get("prompt_cache_options")
    mode = options.get("mode") if isinstance(options, Mapping) else None
    return mode if isinstance(mode, str) else "implicit"
