"""Frames of AWS event streams (application/vnd.amazon.eventstream): lengths, headers, payload, two checksums.

Source: AWS, "Event stream encoding" (read 2026-11-29).
"""

from __future__ import annotations

from binascii import crc32
from collections.abc import Mapping
from struct import pack
from typing import Any

from pytest_cachesafe.providers.capture.replies.rendered import compact

__all__ = ["event_frame"]

_STRING = 7


def event_frame(kind: str, payload: Mapping[str, Any]) -> bytes:
    """One event with a JSON payload."""
    headers = b"".join(
        _header(name, value)
        for name, value in (
            (":event-type", kind),
            (":content-type", "application/json"),
            (":message-type", "event"),
        )
    )
    body = compact(payload).encode("utf-8", "surrogatepass")
    # Total length counts the 12 bytes of the prelude with its checksum, and the 4 of the last checksum.
    prelude = pack("!II", 12 + len(headers) + len(body) + 4, len(headers))
    frame = prelude + pack("!I", crc32(prelude)) + headers + body
    return frame + pack("!I", crc32(frame))


def _header(name: str, value: str) -> bytes:
    key, data = name.encode(), value.encode()
    return pack("!B", len(key)) + key + pack("!BH", _STRING, len(data)) + data
