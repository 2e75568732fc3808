"""Bodies as JSON, read once: an agent sends its whole history again with every request.

What stands in a body letter by letter as it stood in an earlier one is neither parsed again nor kept twice; key order,
numbers and escapes are those of the text, as they are for a cache.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

__all__ = ["BodyReader", "decoded", "json_body"]

# Smaller values cost less than a table entry.
_SMALLEST = 256
# How many lists of one key are remembered: conversations that run side by side.
_RECENT = 32
_BLANKS = " \t\n\r"
# Reads one value at a place and says where it ends; the C version, where there is one.
_DECODER: Any = json.JSONDecoder()
_LIBRARY: Any = json.decoder
_scan, _scan_string = _DECODER.scan_once, _LIBRARY.scanstring


class BodyReader:
    """Parses bodies one after the other; what it gives must not be changed. Not safe to share without a lock."""

    def __init__(self) -> None:
        # Values by their text, whichever key or conversation they first stood in.
        self._seen: dict[str, Any] = {}
        # By key of the body: the newest lists with the texts of their elements, the newest last.
        self._lists: dict[str, list[_Known]] = {}

    def read(self, text: str) -> Any:
        """Whatever `json.loads(text)` gives.

        Raises:
            ValueError: no JSON; RecursionError: nested too deep.
        """
        at = _skip(text, 0)
        if text[at : at + 1] != "{":
            return json.loads(text)
        try:
            return self._object(text, at)
        except (StopIteration, IndexError, _Odd):
            # Not as it should be: let the library say where.
            return json.loads(text)

    def _object(self, text: str, at: int) -> dict[str, Any]:
        body: dict[str, Any] = {}
        at = _skip(text, at + 1)
        if text[at] == "}":
            _end(text, at)
            return body
        while True:
            if text[at] != '"':
                raise _Odd
            key, at = _scan_string(text, at + 1, True)
            at = _skip(text, at)
            if text[at] != ":":
                raise _Odd
            at = _skip(text, at + 1)
            body[key], at = self._list(key, text, at) if text[at] == "[" else self._value(text, at)
            at = _skip(text, at)
            if text[at] == "}":
                _end(text, at)
                return body
            if text[at] != ",":
                raise _Odd
            at = _skip(text, at + 1)

    def _value(self, text: str, at: int) -> tuple[Any, int]:
        value, end = _scan(text, at)
        return (self._shared(text[at:end], value) if end - at >= _SMALLEST else value), end

    def _shared(self, written: str, value: Any) -> Any:
        return self._seen.setdefault(written, value)

    def _list(self, key: str, text: str, at: int) -> tuple[list[Any], int]:
        at = _skip(text, at + 1)
        if text[at] == "]":
            return [], at + 1
        known = self._known(key, text, at)
        texts, values = known.texts, known.values
        items: list[Any] = []
        while True:
            index = len(items)
            # Only what ends by itself: a number could go on.
            if index < len(texts) and text.startswith(texts[index], at):
                at += len(texts[index])
                items.append(values[index])
            else:
                value, end = _scan(text, at)
                written = text[at:end]
                at = end
                if written[0] in '{["':
                    value = self._element(written, value)
                else:
                    # Never equal to what follows a place in a body.
                    written = "\x00"
                items.append(value)
                texts[index : index + 1] = (written,)
                values[index : index + 1] = (value,)
            if text[at] not in ",]":
                at = _skip(text, at)
            if text[at] == "]":
                return items, at + 1
            if text[at] != ",":
                raise _Odd
            at += 1
            if text[at] in _BLANKS:
                at = _skip(text, at)

    def _known(self, key: str, text: str, at: int) -> _Known:
        """The newest list with the same first element, to be read along and brought up to date; else a new one."""
        lists = self._lists.setdefault(key, [])
        for index in range(len(lists) - 1, -1, -1):
            if text.startswith(lists[index].texts[0], at):
                lists.append(lists.pop(index))
                return lists[-1]
        lists.append(_Known())
        del lists[:-_RECENT]
        return lists[-1]

    def _element(self, written: str, value: Any) -> Any:
        """An element that is new at its place; its blocks may be old all the same (a marker has moved)."""
        if len(written) < _SMALLEST:
            return value
        found = self._shared(written, value)
        if found is value and isinstance(value, dict):
            for key in ("content", "parts"):
                inner = value.get(key)
                if isinstance(inner, str):
                    value[key] = self._shared(json.dumps(inner), inner)
                elif isinstance(inner, list):
                    for index, block in enumerate(inner):
                        inner[index] = self._shared(json.dumps(block), block)
        return found


class _Known:
    """A list as it stood in the newest body that began so: its elements and their texts, side by side."""

    __slots__ = ("texts", "values")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.values: list[Any] = []


class _Odd(Exception):
    """The text is not what the reader expects; the library decides."""


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] in _BLANKS and at < len(text):
        at += 1
    return at


def _end(text: str, at: int) -> None:
    if _skip(text, at + 1) != len(text):
        raise _Odd


def decoded(data: bytes, encoding: str) -> bytes | None:
    """A body without its content encoding; None if that is not known or wrong."""
    if encoding in ("", "identity"):
        return data
    if encoding in ("gzip", "deflate", "x-gzip"):
        try:
            return zlib.decompressobj(47).decompress(data)
        except zlib.error:
            return None
    return None


def json_body(data: bytes, headers: Mapping[str, str], reader: BodyReader) -> tuple[dict[str, Any] | None, str | None]:
    """(the JSON object, None), or (None, what is wrong with it)."""
    encoding = headers.get("content-encoding", "")
    plain = decoded(data, encoding)
    if plain is None:
        return None, f"the body's content-encoding {encoding!r} is not read"
    if not plain:
        return None, "the request has no body"
    try:
        body = reader.read(plain.decode("utf-8-sig"))
    except RecursionError:
        return None, "the body is JSON nested too deep to be read"
    except (ValueError, UnicodeDecodeError):
        return None, f"the body is no JSON ({len(plain):,} bytes)"
    if not isinstance(body, dict):
        return None, f"the body is JSON, but no object ({type(body).__name__})"
    return body, None
