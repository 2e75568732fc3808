"""Why a request does not continue an earlier one, in the words that providers publish.

Anthropic: `Diagnostics.cache_miss_reason` of the anthropic SDK 2.14; OpenAI: `prompt_cache_diagnostics` of the openai
SDK 3.57 and "Prompt cache diagnostics"; read 2026-11-29. Both compare requests, not what the cache did. Where several
things changed, the first in the order in which a request is rendered is named; the documents do not say which one is.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_cachesafe.providers.blocks.block import Layout
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.fronts import known_front

__all__ = ["compared_id", "first_difference", "miss_reason", "not_found"]

# Where a request names the one to compare with, by API: field, key in it, and what an unknown id is answered with.
_NAMED = {
    "messages": ("diagnostics", "previous_message_id", "previous_message_not_found"),
    "responses": ("prompt_cache_options", "comparison_response_id", "comparison_response_not_found"),
}

_OPENAI = (
    ("text_format", "text_format_changed"),
    ("reasoning_effort", "reasoning_effort_changed"),
    ("verbosity", "verbosity_changed"),
)


def miss_reason(api: str, before: tuple[str | None, Layout], after: tuple[str | None, Layout]) -> str | None:
    """The published reason for which `after` cannot read what `before` wrote; None: it can, or none is published.

    Args:
        api: of both requests; before, after: model id and layout.
    """
    if api == "messages":
        return _anthropic(before, after)
    return _openai(before, after) if api in ("chat", "responses") else None


def compared_id(exchange: Exchange) -> str | None:
    """Id of the reply whose request this one asks to be compared with."""
    field, key, _ = _NAMED.get(exchange.api, ("", "", ""))
    given = exchange.body.get(field)
    value = given.get(key) if isinstance(given, Mapping) else None
    return value if isinstance(value, str) else None


def not_found(api: str) -> str | None:
    """What is said where that request is not known."""
    return _NAMED[api][2] if api in _NAMED else None


def first_difference(before: Layout, after: Layout) -> int | None:
    """Index of the first block that differs; None if the blocks of one begin with those of the other."""
    old, new = before.blocks, after.blocks
    # Blocks that were laid out together are the same objects: what differs is looked for among the others.
    for i in range(known_front(old, new, (after.front,)), min(len(old), len(new))):
        if old[i].key != new[i].key:
            return i
    return None


def _changed(name: str, before: Layout, after: Layout) -> bool:
    a, b = before.settings.get(name), after.settings.get(name)
    return (a[0] if a else None) != (b[0] if b else None)


def _at(level: str, before: Layout, after: Layout) -> bool:
    return [b.key for b in before.blocks if b.level == level] != [b.key for b in after.blocks if b.level == level]


def _lead(layout: Layout) -> Layout:
    n = next((i for i, block in enumerate(layout.blocks) if block.level == "messages"), len(layout.blocks))
    return Layout(layout.blocks[:n])


def _anthropic(before: tuple[str | None, Layout], after: tuple[str | None, Layout]) -> str | None:
    old, new = before[1], after[1]
    if before[0] != after[0] or _changed("speed", old, new):
        return "model_changed"
    at = first_difference(old, new)
    if at is not None:
        a, b = _lead(old), _lead(new)
        if _at("tools", a, b):
            return "tools_changed"
        if _at("system", a, b):
            return "system_changed"
        return "messages_changed"
    names = set(old.settings) | set(new.settings)
    return "unavailable" if any(_changed(name, old, new) for name in names) else None


def _openai(before: tuple[str | None, Layout], after: tuple[str | None, Layout]) -> str | None:
    old, new = before[1], after[1]
    if before[0] != after[0]:
        return "model_changed"
    if _changed("prompt_cache_key", old, new):
        return "prompt_cache_key_changed"
    at = first_difference(old, new)
    if at is not None and _at("tools", _lead(old), _lead(new)):
        return "tools_changed"
    for name, reason in _OPENAI:
        if _changed(name, old, new):
            return reason
    if at is not None:
        compacted = [sum(block.kind == "compaction" for block in layout.blocks) for layout in (old, new)]
        return "context_compacted" if compacted[1] > compacted[0] else "input_changed"
    return "service_tier_changed" if _changed("service_tier", old, new) else None
