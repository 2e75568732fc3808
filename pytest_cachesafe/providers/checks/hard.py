"""What a provider answers with status 400 because of its markers, told before the request is sent.

Sources: Claude Platform Docs, "Prompt caching" (breakpoint limits, what cannot be cached, mixing lifetimes, automatic
caching, pre-warming); Amazon Bedrock User Guide, "Prompt caching" (cachePoint). Read 2026-11-29.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe.providers.blocks.block import Layout
from pytest_cachesafe.providers.checks.markers import Placed, markers_of
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["HardError", "hard_errors"]

_MOST = 4
_TTLS = ("5m", "1h")
# Ids of Claude on Bedrock's older interface that refuse the top-level field: Opus 4.6 and what came before.
_LEGACY = re.compile(r"claude-(?:opus-4(?!-[7-9])|sonnet-4|haiku-4|3)")


@dataclass(frozen=True, slots=True)
class HardError:
    """A request that is refused: where ("system[0]"), why, and the status of the answer."""

    path: str
    message: str
    status: int = 400
    # The finding's code, see `checks.codes`.
    code: str = ""


def hard_errors(
    layout: Layout | None, exchange: Exchange, rules: Any = None, placed: Sequence[Placed] | None = None
) -> list[HardError]:
    """Everything in a request for which the provider refuses it, in the order of the request.

    Args:
        layout: the request's blocks; not needed.
        exchange: the request.
        placed: its markers, where they are known already.
        rules: dated rules; "max_markers" of the provider is read from them, 4 without them.
    """
    # What is refused is read off the body as serialised: blocks do not show every marker.
    if placed is None:
        placed = markers_of(exchange)
    if exchange.api == "converse":
        return list(_converse(exchange, list(placed), rules))
    if exchange.api in ("messages", "invoke"):
        return list(_anthropic(exchange, placed, rules))
    return []


def _most(exchange: Exchange, rules: Any) -> int:
    if rules is None:
        return _MOST
    fact = rules.provider(exchange.provider).facts.get("max_markers")
    return int(fact.value) if fact is not None else _MOST


def _anthropic(exchange: Exchange, found: Sequence[Placed], rules: Any) -> Iterator[HardError]:
    placed = [m for m in found if m.place in ("block", "automatic", "sub")]
    explicit = [m for m in placed if m.place == "block"]
    automatic = next((m for m in placed if m.place == "automatic"), None)
    for marker in placed:
        yield from _one(marker)
    yield from _too_many(placed, _most(exchange, rules))
    yield from _order(explicit)
    if automatic is not None:
        yield from _automatic(exchange, automatic, explicit)
    if exchange.body.get("max_tokens") == 0 and not isinstance(exchange.body.get("max_tokens"), bool):
        yield from _prewarm(exchange.body)


def _one(marker: Placed) -> Iterator[HardError]:
    where = marker.path or "cache_control"
    if marker.place == "sub":
        yield HardError(where, "a part inside a block cannot be marked: mark the block", code="marker-on-sub-block")
    elif marker.thinking:
        yield HardError(where, "a thinking block cannot be marked", code="marker-on-thinking")
    elif marker.place == "block" and marker.empty:
        yield HardError(where, "an empty text block cannot be marked", code="marker-on-empty-text")
    value = marker.value
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind != "ephemeral":
        said = f"type {kind!r}" if isinstance(value, Mapping) else repr(value)
        yield HardError(where, f'cache_control is {said}; {{"type": "ephemeral"}} is meant', code="marker-invalid")
    elif value.get("ttl") is not None and value["ttl"] not in _TTLS:
        yield HardError(where, f"cache_control.ttl is {value['ttl']!r}; 5m or 1h is meant", code="marker-invalid")


def _too_many(placed: list[Placed], most: int) -> Iterator[HardError]:
    total = sum(m.count for m in placed)
    if total <= most:
        return
    seen = 0
    for marker in placed:
        seen += marker.count
        if seen > most:
            automatic = " (automatic caching takes one)" if placed[-1].place == "automatic" else ""
            where = marker.path or "cache_control"
            yield HardError(where, f"{total} markers, at most {most} are taken{automatic}", code="too-many-markers")
            return


def _order(explicit: list[Placed]) -> Iterator[HardError]:
    shorter: Placed | None = None
    for marker in explicit:
        if marker.ttl == "5m":
            shorter = shorter or marker
        elif marker.ttl == "1h" and shorter is not None:
            said = marker_says(shorter)
            yield HardError(
                marker.path, f"a 1h marker stands behind the 5m marker at {shorter.path}{said}", code="marker-ttl-order"
            )
            return


def marker_says(marker: Placed) -> str:
    """Why a marker is one of 5m, where it does not say so itself."""
    named = isinstance(marker.value, Mapping) and marker.value.get("ttl") is not None
    return "" if named else " (without ttl it is 5m)"


def _automatic(exchange: Exchange, automatic: Placed, explicit: list[Placed]) -> Iterator[HardError]:
    if exchange.api == "invoke" and _LEGACY.search(exchange.model or ""):
        yield HardError(
            "cache_control", f"{exchange.model} has no automatic caching here", code="automatic-unsupported"
        )
        return
    last = _last_block(exchange.body)
    on_last = next((m for m in explicit if m.path == last), None)
    if on_last is not None and on_last.ttl != automatic.ttl:
        yield HardError(
            on_last.path,
            f"the last block asks for {on_last.ttl}, automatic caching for {automatic.ttl}",
            code="automatic-ttl-conflict",
        )
        return
    longer = automatic.ttl == "1h"
    shorter = next((m for m in explicit if m.ttl == "5m"), None)
    if longer and shorter is not None:
        yield HardError(
            "cache_control",
            f"automatic caching of 1h stands behind the 5m marker at {shorter.path}{marker_says(shorter)}",
            code="marker-ttl-order",
        )


def _last_block(body: Mapping[str, Any]) -> str | None:
    """Path of the last block of a request, where automatic caching puts its marker."""
    messages = body.get("messages")
    if isinstance(messages, list) and messages and isinstance(messages[-1], Mapping):
        content = messages[-1].get("content")
        if isinstance(content, list) and content:
            return f"messages[{len(messages) - 1}].content[{len(content) - 1}]"
    return None


def _prewarm(body: Mapping[str, Any]) -> Iterator[HardError]:
    thinking, choice, output = (body.get(k) for k in ("thinking", "tool_choice", "output_config"))
    wrong = [
        ("stream", body.get("stream") is True),
        ("thinking", isinstance(thinking, Mapping) and thinking.get("type") == "enabled"),
        ("tool_choice", isinstance(choice, Mapping) and choice.get("type") in ("any", "tool")),
        ("output_config.format", isinstance(output, Mapping) and output.get("format") is not None),
    ]
    for path, found in wrong:
        if found:
            yield HardError(path, f"a request with max_tokens 0 cannot have {path}", code="prewarm-conflict")


def _converse(exchange: Exchange, placed: list[Placed], rules: Any) -> Iterator[HardError]:
    nova = "nova" in (exchange.model or "")
    for marker in placed:
        if nova and marker.path.startswith("toolConfig"):
            yield HardError(marker.path, "Nova takes no cachePoint among its tools", code="cachepoint-in-tools")
        value = marker.value
        if not isinstance(value, Mapping) or value.get("type") != "default":
            yield HardError(marker.path, 'a cachePoint is {"type": "default"}', code="marker-invalid")
        elif value.get("ttl") is not None and value["ttl"] not in _TTLS:
            yield HardError(
                marker.path, f"cachePoint.ttl is {value['ttl']!r}; 5m or 1h is meant", code="marker-invalid"
            )
    for path, content in _contents(exchange.body):
        if not content or not _is_point(content[0]):
            continue
        if all(map(_is_point, content)):
            yield HardError(path.removesuffix(".content"), "nothing but a cachePoint", code="cachepoint-only")
        else:
            yield HardError(
                f"{path}[0]", "a cachePoint needs content before it in its message", code="cachepoint-first"
            )
    yield from _too_many(placed, _most(exchange, rules))
    yield from _order(placed)


def _contents(body: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    config = body.get("toolConfig")
    tools = config.get("tools") if isinstance(config, Mapping) else None
    for path, entries in (("toolConfig.tools", tools), ("system", body.get("system"))):
        if isinstance(entries, list):
            yield path, entries
    messages = body.get("messages")
    for i, message in enumerate(messages if isinstance(messages, list) else []):
        content = message.get("content") if isinstance(message, Mapping) else None
        if isinstance(content, list):
            yield f"messages[{i}].content", content


def _is_point(entry: Any) -> bool:
    return isinstance(entry, Mapping) and entry.get("cachePoint") is not None
