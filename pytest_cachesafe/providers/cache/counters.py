"""Token counts under the provider's own names, as its replies carry them, and back.

Anthropic: `Usage` and `MessageDeltaUsage` of the anthropic SDK 2.14; OpenAI: `CompletionUsage` and `ResponseUsage` of
the openai SDK 3.57; Gemini: `usageMetadata` of REST; Bedrock: `TokenUsage` of botocore's service model. OpenAI and
Gemini count cached tokens in their input totals, Anthropic and Bedrock do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any

from pytest_cachesafe.providers.blocks.block import Block
from pytest_cachesafe.providers.blocks.builder import mapping
from pytest_cachesafe.providers.cache.cleared import cleared
from pytest_cachesafe.providers.cache.usage import Usage
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["counters", "from_counters", "looped", "told", "unreadable"]


def counters(usage: Usage, exchange: Exchange, event: str | None = None) -> dict[str, Any]:
    """The provider's own usage object.

    Args:
        usage: tokens; exchange: the request (its API decides names and shape).
        event: None: as in a whole reply. Anthropic's streams: "message_start" (which also has the split by lifetime)
            or "message_delta" (totals only).
    """
    return _WRITERS[exchange.api](usage, event)


def from_counters(given: Mapping[str, Any], exchange: Exchange) -> Usage:
    """Tokens of a provider's usage object, whole or of a stream; counters that are absent or null are 0.

    The numbers are the provider's, so `exact` is True. Bedrock's InvokeModel headers are not read.
    """
    return _READERS[exchange.api](given)


def told(exchange: Exchange) -> int | None:
    """All input tokens of a request as its provider counted them; None where it did not, or counted something else.

    That is so where the count is predicted, and where the provider took something out of the request.
    """
    if exchange.usage is None or exchange.predicted or cleared(exchange) is not None:
        return None
    if unreadable(exchange.usage) is not None:
        return None
    return from_counters(exchange.usage, exchange).total or None


def unreadable(given: Any) -> str | None:
    """What of a recorded usage is no count, in words; None where all counters are counts, absent or null."""
    if not isinstance(given, Mapping):
        return f"it is {type(given).__name__}, and an object is meant"
    for holder in (given, *(value for value in given.values() if isinstance(value, Mapping))):
        for name, value in holder.items():
            if not str(name).endswith(_COUNTERS) or value is None:
                continue
            number = isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
            if not number or value < 0:
                return f"{name} is {_short(value)}, and a count is meant"
    return None


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, (str, int, float, bool)) else type(value).__name__
    return text if len(text) <= 40 else f"{text[:39]}…"


# How the names of all counters end.
_COUNTERS = ("tokens", "Tokens", "token_count", "TokenCount")
# Tools that a provider defines and the caller runs.
_CALLERS = ("bash_", "text_editor_", "memory_", "computer_")


def looped(blocks: Iterable[Block]) -> bool:
    """Whether a provider may ask its model several times for one request, to run its own tools in between.

    What is counted then holds their results as well, and what was sent is only a part of it.
    """
    return any(b.level == "tools" and b.kind != "tool" and not b.kind.startswith(_CALLERS) for b in blocks)


def _n(given: Mapping[str, Any], *names: str) -> int:
    for name in names:
        value = given.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return int(value)
    return 0


def _split(written: Mapping[str, int], write: int, default: str) -> tuple[tuple[str, int], ...]:
    """By lifetime; what a reply does not split has the default one."""
    rest = write - sum(written.values())
    whole = {**written, default: written.get(default, 0) + max(rest, 0)}
    return tuple((ttl, n) for ttl, n in whole.items() if n)


def _anthropic(usage: Usage, event: str | None) -> dict[str, Any]:
    written = dict(usage.written)
    found: dict[str, Any] = {
        "input_tokens": usage.uncached,
        "cache_creation_input_tokens": usage.write,
        "cache_read_input_tokens": usage.read,
    }
    if event != "message_delta":
        found["cache_creation"] = {
            "ephemeral_5m_input_tokens": written.get("5m", 0),
            "ephemeral_1h_input_tokens": written.get("1h", 0),
        }
    return {**found, "output_tokens": usage.output}


def _from_anthropic(given: Mapping[str, Any]) -> Usage:
    split = mapping(given.get("cache_creation"))
    written = {ttl: _n(split, f"ephemeral_{ttl}_input_tokens") for ttl in ("5m", "1h")}
    write = max(_n(given, "cache_creation_input_tokens"), sum(written.values()))
    read, uncached = _n(given, "cache_read_input_tokens"), _n(given, "input_tokens")
    output = _n(given, "output_tokens")
    return Usage(uncached + read + write, read, uncached, _split(written, write, "5m"), exact=True, output=output)


def _openai_details(usage: Usage, prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {"cached_tokens": usage.read, "cache_write_tokens": usage.write}
    if usage.written and prefix == "input":
        split = dict(usage.written)
        found["cache_write_tokens_details"] = {f"ttl_{ttl}_tokens": split.get(ttl, 0) for ttl in ("30m", "12h")}
    return found


def _chat(usage: Usage, event: str | None) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.total,
        "completion_tokens": usage.output,
        "total_tokens": usage.total + usage.output,
        "prompt_tokens_details": _openai_details(usage, "prompt"),
    }


def _responses(usage: Usage, event: str | None) -> dict[str, Any]:
    return {
        "input_tokens": usage.total,
        "input_tokens_details": _openai_details(usage, "input"),
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total + usage.output,
    }


def _from_openai(prefix: str, output: str) -> Callable[[Mapping[str, Any]], Usage]:
    def read(given: Mapping[str, Any]) -> Usage:
        details = mapping(given.get(f"{prefix}_tokens_details"))
        split = mapping(details.get("cache_write_tokens_details"))
        written = {ttl: _n(split, f"ttl_{ttl}_tokens") for ttl in ("30m", "12h")}
        write = max(_n(details, "cache_write_tokens"), sum(written.values()))
        total, cached = _n(given, f"{prefix}_tokens"), _n(details, "cached_tokens")
        said = _n(given, f"{output}_tokens")
        return Usage(total, cached, total - cached - write, _split(written, write, "30m"), exact=True, output=said)

    return read


def _gemini(usage: Usage, event: str | None) -> dict[str, Any]:
    found = {"promptTokenCount": usage.total}
    if usage.read:
        # Left out where nothing was cached.
        found["cachedContentTokenCount"] = usage.read
    return {**found, "candidatesTokenCount": usage.output, "totalTokenCount": usage.total + usage.output}


def _from_gemini(given: Mapping[str, Any]) -> Usage:
    total = _n(given, "promptTokenCount", "prompt_token_count")
    read = _n(given, "cachedContentTokenCount", "cached_content_token_count")
    output = _n(given, "candidatesTokenCount", "candidates_token_count")
    output += _n(given, "thoughtsTokenCount", "thoughts_token_count")
    return Usage(total, read, total - read, exact=True, output=output)


def _converse(usage: Usage, event: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "inputTokens": usage.uncached,
        "outputTokens": usage.output,
        "totalTokens": usage.total + usage.output,
        "cacheReadInputTokens": usage.read,
        "cacheWriteInputTokens": usage.write,
    }
    if usage.written:
        # Longest lifetime first.
        split = dict(usage.written)
        found["cacheDetails"] = [{"ttl": ttl, "inputTokens": split[ttl]} for ttl in ("1h", "5m") if split.get(ttl)]
    return found


def _from_converse(given: Mapping[str, Any]) -> Usage:
    written: dict[str, int] = {}
    for detail in given.get("cacheDetails") or ():
        if isinstance(detail, Mapping) and isinstance(detail.get("ttl"), str):
            written[detail["ttl"]] = written.get(detail["ttl"], 0) + _n(detail, "inputTokens")
    write = max(_n(given, "cacheWriteInputTokens"), sum(written.values()))
    read, uncached = _n(given, "cacheReadInputTokens"), _n(given, "inputTokens")
    output = _n(given, "outputTokens")
    return Usage(uncached + read + write, read, uncached, _split(written, write, "5m"), exact=True, output=output)


_WRITERS: dict[str, Callable[[Usage, str | None], dict[str, Any]]] = {
    "messages": _anthropic,
    "invoke": _anthropic,
    "chat": _chat,
    "responses": _responses,
    "gemini": _gemini,
    "converse": _converse,
}
_READERS: dict[str, Callable[[Mapping[str, Any]], Usage]] = {
    "messages": _from_anthropic,
    "invoke": _from_anthropic,
    "chat": _from_openai("prompt", "completion"),
    "responses": _from_openai("input", "output"),
    "gemini": _from_gemini,
    "converse": _from_converse,
}
