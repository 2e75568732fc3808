"""What is written of a body: keys never, users never by name, and texts only as far as they may be shown.

With `hash`, equal texts stay equal and different ones different, so that prefixes can still be compared; nobody can
try candidates against the checksums, because they are keyed with a secret that is thrown away with the writer. Keys of
objects (names of parameters) are kept.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Literal

from pytest_cachesafe.usage import UsageError

__all__ = ["MASK", "Mask", "Redaction"]

Redaction = Literal["none", "text", "hash"]

# First character of everything that was replaced.
MASK = "#"
# Words of the wire formats themselves, shown under every mode.
_WORDS = frozenset(
    ("type", "role", "ttl", "model", "modelId", "anthropic_version", "anthropic_beta", "mode", "effort", "verbosity",
     "media_type", "mime_type", "mimeType", "service_tier", "speed", "tool_choice", "truncation", "detail", "status",
     "summary", "stop_reason", "finish_reason", "finishReason", "stopReason", "object", "prompt_cache_retention",
     "reasoning_effort", "format")
)  # fmt: skip
# Settings, whole.
_SETTINGS = frozenset(("cache_control", "cachePoint", "prompt_cache_breakpoint", "thinking", "usage", "usageMetadata"))
# What the application or the model filled in: every value in it is a text, whatever its key is called.
_DATA = frozenset(("arguments", "args", "response", "json", "metadata", "additionalModelRequestFields"))
# Names under which secrets stand in bodies (MCP servers, headers of tools).
_SECRET = re.compile(r"authorization|api[-_]?key|secret|password|access[-_]?token|auth[-_]?token|cookie", re.IGNORECASE)
_USERS = frozenset(("user_id", "user", "safety_identifier"))
_URLS = frozenset(("url", "uri", "image_url", "file_uri", "fileUri", "server_url"))
_FILLER = "word " * 16


class Mask:
    """Replaces what may not be written; one object for a whole file, so that equal values stay equal in it.

    Args:
        mode: "none" replaces keys, users and the queries of URLs only; "text" every text by its length (nothing can be
            compared any more); "hash" every text by a keyed checksum, filled up to its length so that sizes remain.
        secret: of the checksums; None: a new one, thrown away with the object.

    Raises:
        UsageError: another mode.
    """

    def __init__(self, mode: Redaction = "none", *, secret: bytes | None = None) -> None:
        if mode not in ("none", "text", "hash"):
            raise UsageError(f"redact={mode!r}: one of none, text, hash is meant")
        self.mode = mode
        self._secret = secret or secrets.token_bytes(16)

    def value(self, value: Any) -> Any:
        """A body or reply as it may be written; the given one is left as it is."""
        return self._any(value, "", False)

    def _any(self, value: Any, key: str, data: bool) -> Any:
        if isinstance(value, Mapping):
            if key in _SETTINGS:
                return dict(value)
            # A tool's input is the model's own; the list of that name in a Responses body holds messages.
            inner = data or key in _DATA or key == "input"
            return {name: self._member(name, item, inner) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            inner = data or key in _DATA
            return [self._any(item, key if isinstance(item, str) else "", inner) for item in value]
        if self.mode == "none" or value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return value if key in _WORDS and not data else self._text(value)
        return self._text(repr(value)) if data else value

    def _member(self, name: str, value: Any, data: bool) -> Any:
        if isinstance(value, str) and value:
            if _SECRET.search(name) or name in _USERS:
                return self._checksum(value)
            if name in _URLS and self.mode == "none" and "?" in value and "://" in value[:12]:
                # Signed links: the signature is a key, and new for every request.
                address, query = value.split("?", 1)
                return f"{address}?{self._checksum(query)}"
        return self._any(value, name, data)

    def _text(self, text: str) -> str:
        if not text:
            # Nothing to hide, and a marker on it is an error of its own.
            return text
        if self.mode == "text":
            return f"[{len(text):,} character{'' if len(text) == 1 else 's'}]"
        made = self._checksum(text)
        missing = len(text) - len(made) - 1
        return f"{made} {(_FILLER * (missing // len(_FILLER) + 1))[:missing]}" if missing > 0 else made

    def _checksum(self, text: str) -> str:
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=self._secret)
        return MASK + digest.hexdigest()
