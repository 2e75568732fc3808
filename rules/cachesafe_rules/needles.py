"""Literal bytes of which a file that builds chat requests holds at least one.

Chosen on public code: of the 2,912 files of the transformers library 42 hold one of them; the bare words `messages` and
`history` would be in 160.
"""

from __future__ import annotations

__all__ = ["CHAT", "IN_EXCERPTS", "MARKERS", "SHORT_FILE", "TOOLS"]

CHAT = (
    b"messages=", b'messages"', b"messages'", b".messages", b"messages[", b"return messages", b"contents=",
    b'"system"', b"'system'", b"SystemM", b"history,", b"history)", b"history[", b"+ history", b"*history", b'"input"',
    b".invoke(", b".responses.", b"in messages", b"in history", b"return history", b'"tools"', b"'tools'",
)  # fmt: skip
# Rows of a file that may be an excerpt, complete as it stands.
SHORT_FILE = 40
# A short file that ends before the request holds one of these where it holds messages or parts of a request.
IN_EXCERPTS = (
    b"messages", b"history", b"tools", b"turns", b"conversation", b"transcript", b"contents", b"convo",
    b'"role"', b"'role'", b"role=",
)  # fmt: skip
MARKERS = (b"cache_control", b"cachePoint")
TOOLS = (b"tools=", b'tools"', b"tools'", b"bind_tools", b'"properties"', b"'properties'", b'"required"', b"'required'")
