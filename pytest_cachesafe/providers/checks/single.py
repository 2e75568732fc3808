"""Rules for one request by itself, beside those for which the provider refuses it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe.providers.checks.markers import count_anywhere
from pytest_cachesafe.providers.checks.requests import Asked

__all__ = ["Fault", "faults"]

_PLACES = {
    "message": "a message cannot carry a marker; its content blocks can",
    "source": "a source cannot carry a marker; the block that holds it can",
    "kwargs": "additional_kwargs are not sent on; the marker is not seen",
    "member": "a member of a toolset cannot carry a marker; the toolset can",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one request, and where in it."""

    code: str
    path: str
    message: str


def faults(item: Asked) -> Iterator[Fault]:
    """What is wrong with a request, in its order."""
    exchange = item.exchange
    for error in item.refused:
        yield Fault(error.code, error.path, error.message)
    if exchange.api in ("messages", "invoke"):
        for marker in item.placed:
            words = _PLACES.get(marker.place)
            if words is not None:
                yield Fault("marker-misplaced", marker.path, words)
    if exchange.source is not None:
        asked, sent = count_anywhere(exchange.source), count_anywhere(exchange.body)
        if sent < asked:
            yield Fault(
                "marker-lost-in-conversion",
                _first(exchange.source),
                f"markers in the source: {asked}, on the wire: {sent}",
            )
    elif exchange.provider == "openai":
        yield from _foreign(item)
    if exchange.provider == "openai":
        options = exchange.body.get("prompt_cache_options")
        if isinstance(options, dict) and options.get("mode") == "explicit" and not item.placed:
            yield Fault(
                "explicit-without-marker", "prompt_cache_options.mode", "mode is explicit and no block is marked"
            )


def _foreign(item: Asked) -> Iterator[Fault]:
    """`cache_control` in a request to OpenAI's own host; gateways may read it."""
    exchange = item.exchange
    if exchange.host not in (None, "api.openai.com"):
        return
    path = _first(exchange.body, "cache_control")
    if path:
        yield Fault("marker-of-another-provider", path, "cache_control is no field of OpenAI's interface")


def _first(value: Any, key: str | None = None, path: str = "") -> str:
    """Path of the first holder of a marker, "" if there is none."""
    keys = (key,) if key else ("cache_control", "cachePoint", "prompt_cache_breakpoint")
    if isinstance(value, dict):
        if any(value.get(k) is not None for k in keys):
            return path or keys[0]
        inner = (_first(v, key, f"{path}.{k}" if path else str(k)) for k, v in value.items())
        return next(filter(None, inner), "")
    if isinstance(value, list):
        return next(filter(None, (_first(v, key, f"{path}[{i}]") for i, v in enumerate(value))), "")
    return ""
