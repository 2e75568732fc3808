"""A request as a client handed it over, and how it is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe.providers.capture.bodies import BodyReader
from pytest_cachesafe.providers.capture.recognise import recognise, target_of
from pytest_cachesafe.providers.capture.redact import attempt_of, kept_headers, lower_headers, scope_of
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["Headers", "Sent", "exchange_of"]

# Names and values, as bytes where the library holds them so.
Headers = Sequence[tuple[str, str]] | Sequence[tuple[bytes, bytes]]


@dataclass(slots=True)
class Sent:
    """A request as it was handed over, read when its test ends: until then it is one object for the collector."""

    method: str
    url: str
    # Name, value, name, value.
    headers: list[str | bytes]
    body: bytes
    library: str
    line: str | None
    status: int | None = None
    reply: bytes | None = None


def exchange_of(sent: Sent, reader: BodyReader, unread: dict[str, int]) -> Exchange | None:
    """The request read; None where it is none, with the reason counted in `unread` if it should have been one."""
    lower = lower_headers(_named(sent.headers))
    try:
        parsed = reader.read(sent.body.decode("utf-8"))
    except (ValueError, RecursionError):
        parsed, words = None, "a body that is no JSON"
    else:
        words = "a body that is no JSON object"
    found = recognise(sent.method, sent.url, lower, parsed if isinstance(parsed, dict) else None)
    if found.kind != "generate" or found.provider is None or found.api is None:
        return None
    if not isinstance(parsed, dict):
        unread[f"{found.name}: {words}"] = unread.get(f"{found.name}: {words}", 0) + 1
        return None
    target = target_of(sent.url)
    return Exchange(
        found.provider, found.api, parsed, model=found.model, path=found.path, host=target.host,
        headers=kept_headers(lower), scope=scope_of(target, lower), attempt=attempt_of(lower), stream=found.stream,
        library=sent.library, line=sent.line, status=sent.status, reply=_reply(sent.reply),
    )  # fmt: skip


def _reply(body: bytes | None) -> dict[str, Any] | None:
    try:
        whole = None if body is None else json.loads(body)
    except (ValueError, RecursionError):
        return None
    return whole if isinstance(whole, dict) else None


def _named(flat: Sequence[str | bytes]) -> Iterator[tuple[str, str]]:
    texts = [said if isinstance(said, str) else str(said, "utf-8", "replace") for said in flat]
    return zip(texts[::2], texts[1::2], strict=True)
