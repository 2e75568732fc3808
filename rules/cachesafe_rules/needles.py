"""Literal bytes of which a file that builds chat requests holds at least one.

Chosen on public code: of the 2,912 files of the transformers library 42 hold one of them; the bare words `messages` and
`history` would be in 160.
"""

from __future__ import annotations

__all__ = ["CHAT", "MARKERS", "TOOLS"]

CHAT = (
    b"messages=", b'messages"', b"messages'", b".messages", b"messages[", b"return messages", b"contents=",
    b'"system"', b"'system'", b"SystemM", b"history,", b"history)", b"history[", b"+ history", b"*history", b'"input"',
    b".invoke(", b".responses.",
)  # fmt: skip
MARKERS = (b"cache_control", b"cachePoint")
TOOLS = (b"tools=", b'tools"', b"tools'", b"bind_tools", b'"properties"', b"'properties'", b'"required"', b"'required'")
