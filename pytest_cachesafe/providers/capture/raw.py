"""What the transports hand to the session and get back: HTTP without any library's types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["RawReply", "RawRequest"]


@dataclass(slots=True)
class RawRequest:
    """A request on its way out, as the library's transport got it."""

    method: str
    url: str
    # In order, names as sent; values may be secrets and must not outlive the session's answer.
    headers: list[tuple[str, str]]
    body: bytes
    # "httpx2", "httpx", "aiohttp", "requests", "botocore"
    library: str
    # Whether somebody else's mock stands beneath the transport: then an unknown host need not be a real one.
    mocked: bool = False


@dataclass(slots=True)
class RawReply:
    """What the transport turns into its library's response."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    # Whole bodies are one chunk; a stream is one chunk per event. The transport calls `session.began` through the
    # iterator itself: the first chunk is only made when it is read.
    chunks: Iterable[bytes] = ()
    stream: bool = False
