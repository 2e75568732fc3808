"""One copy of what the requests of a file repeat: an agent sends its history again with every request.

Equal means equal as JSON text: key order and number types count, as they do for a cache.
"""

from __future__ import annotations

import marshal
from hashlib import blake2b
from typing import Any

__all__ = ["Pool"]

# Smaller values cost less than a table entry.
_SMALLEST = 256


class Pool:
    """Replaces what was read before by the object read first."""

    def __init__(self) -> None:
        self._seen: dict[bytes, Any] = {}

    def body(self, body: dict[str, Any]) -> dict[str, Any]:
        """A parsed body whose large parts are shared with earlier ones; the lists in it are its own."""
        for key, value in body.items():
            if isinstance(value, list):
                for index, item in enumerate(value):
                    value[index] = self._item(item)
            else:
                body[key] = self._value(value)
        return body

    def _item(self, item: Any) -> Any:
        found = self._value(item)
        if found is item and isinstance(item, dict):
            # New as a whole (a marker has moved here or away): its blocks may be old all the same.
            for key in ("content", "parts"):
                inner = item.get(key)
                if isinstance(inner, list):
                    for index, block in enumerate(inner):
                        inner[index] = self._value(block)
        return found

    def _value(self, value: Any) -> Any:
        if not isinstance(value, (dict, list, str)):
            return value
        try:
            # Order of keys and types of numbers are in it; version 0 knows no references, so that equal means equal.
            written = marshal.dumps(value, 0)
        except ValueError:  # nested too deep for it
            return value
        if len(written) < _SMALLEST:
            return value
        return self._seen.setdefault(blake2b(written, digest_size=16).digest(), value)
