"""An answer ready to be sent, and what it says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pytest_cachesafe.providers.capture.raw import RawReply
from pytest_cachesafe.providers.capture.replies.ids import Ids
from pytest_cachesafe.providers.capture.reply import Reply, ToolCall

__all__ = ["Call", "Rendered", "calls_of", "compact", "json_reply", "output_tokens", "pieces", "sse"]


@dataclass(frozen=True, slots=True)
class Rendered:
    """One answer in its provider's form."""

    raw: RawReply
    # The whole reply as JSON, also where it was streamed.
    message: Mapping[str, Any]
    # What the model said, without thinking and calls; None if it said nothing.
    text: str | None = None
    # The provider's own counters in it, output included.
    usage: Mapping[str, Any] = field(default_factory=dict)


class Call(NamedTuple):
    """A tool call with its id, and its arguments as the model wrote them."""

    id: str
    name: str
    input: Mapping[str, Any]
    arguments: str


def calls_of(tools: Sequence[ToolCall], ids: Ids, prefix: str) -> list[Call]:
    """Calls with the ids they lack; arguments that are no JSON object leave `input` empty."""
    made = []
    for tool in tools:
        written = tool.arguments
        given: Any = tool.input
        if written is None:
            written = compact(dict(tool.input))
        elif not tool.input:
            try:
                given = json.loads(written)
            except ValueError:
                given = {}
        made.append(Call(tool.id or ids.next(prefix), tool.name, given if isinstance(given, Mapping) else {}, written))
    return made


# Made once: `json.dumps` makes one a call when it is given options.
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


def compact(value: Any) -> str:
    """JSON without blanks, characters as they are."""
    return _ENCODER.encode(value)


def output_tokens(reply: Reply) -> int:
    """Tokens of an answer: as scripted, else about one for four characters."""
    if reply.output_tokens is not None:
        return reply.output_tokens
    said = (reply.text or "") + (reply.thinking or "")
    called = sum(len(tool.name) + len(tool.arguments or compact(dict(tool.input))) for tool in reply.tools)
    return max(1, -(-(len(said) + called) // 4))


def pieces(text: str, size: int = 24) -> Iterator[str]:
    """A text in the pieces a stream brings: several, so that whoever reads only the first is found out."""
    for start in range(0, len(text), size):
        yield text[start : start + size]


def sse(events: Iterable[tuple[str | None, Any]]) -> Iterator[bytes]:
    """Server-sent events, one chunk each; a string is sent as it is, everything else as JSON."""
    for name, data in events:
        head = f"event: {name}\n" if name else ""
        yield f"{head}data: {data if isinstance(data, str) else compact(data)}\n\n".encode()


def json_reply(message: Mapping[str, Any], headers: Mapping[str, str], status: int = 200) -> RawReply:
    """A whole body in one chunk."""
    body = compact(message).encode("utf-8", "surrogatepass")
    return RawReply(status, {"content-type": "application/json", **headers}, [body])
