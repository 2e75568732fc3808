"""Bodies as JSON, read once: an agent sends its whole history again with every request.

What stands in a body letter by letter as it stood in an earlier one is neither parsed again nor kept twice; key order,
numbers and escapes are those of the text, as they are for a cache.
"""

from __future__ import annotations

import codecs
import json
import zlib
from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.providers.capture.trunk import CLOSED, Trunk, shared_blocks
from pytest_cachesafe.providers.fronts import Front

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
        # The longest lists of these with the bodies that they were last read in, the newest last.
        self._trunks: list[_Known] = []
        # What lists of the latest body share with those of an earlier one.
        self.fronts: list[Front] = []

    def load(self, data: bytes) -> Any:
        """Whatever `json.loads(data.decode("utf-8-sig"))` gives.

        Raises:
            ValueError: no JSON, or no UTF-8; RecursionError: nested too deep.
        """
        for index in range(len(self._trunks) - 1, -1, -1):
            known = self._trunks[index]
            found = known.trunk.read(data, self._element) if known.trunk is not None else None
            if found is not None:
                if index != len(self._trunks) - 1:
                    self._trunks.append(self._trunks.pop(index))
                self.fronts = [found[1]]
                return found[0]
        text = data.decode("utf-8-sig")
        body = self.read(text)
        self._follow(data, text, body)
        return body

    def _follow(self, data: bytes, text: str, body: Any) -> None:
        """Expect the next body to go on from this one."""
        newest = ((key, lists[-1]) for key, lists in self._lists.items() if isinstance(body, dict) and key in body)
        read = [(key, known) for key, known in newest if known.text is text and known.values is body[key]]
        if not read:
            return
        key, known = max(read, key=lambda item: item[1].ends[-1])
        if len(text) == len(data):
            begin, ends = known.begin, [known.begin + end for end in known.ends]
        else:
            # Counted in bytes.
            past = begin = len(text[: known.begin].encode()) + (
                len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
            )
            last, ends = known.begin, []
            for end in known.ends:
                past += len(text[last : known.begin + end].encode())
                last = known.begin + end
                ends.append(past)
        known.trunk = Trunk(data, body, key, begin, ends)
        if known in self._trunks:
            self._trunks.remove(known)
        self._trunks.append(known)
        del self._trunks[:-_RECENT]

    def read(self, text: str) -> Any:
        """Whatever `json.loads(text)` gives.

        Raises:
            ValueError: no JSON; RecursionError: nested too deep.
        """
        self.fronts = []
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
        begin = _skip(text, at + 1)
        if text[begin] == "]":
            return [], begin + 1
        lists = self._lists.setdefault(key, [])
        before = lists[-1].values if lists else []
        old, n = self._known(lists, text, begin)
        items, starts, ends = old.values[:n], old.starts[:n], old.ends[:n]
        end = begin + ends[-1] if n else -1
        while True:
            if end >= 0:
                at = end if text[end] in ",]" else _skip(text, end)
                if text[at] == "]":
                    break
                if text[at] != ",":
                    raise _Odd
                at = _skip(text, at + 1) if text[at + 1] in _BLANKS else at + 1
            else:
                at = begin
            index = len(items)
            written = old.written(index)
            if written is not None and text.startswith(written, at):
                items.append(old.values[index])
                end = at + len(written)
            else:
                value, end = _scan(text, at)
                if text[at] in CLOSED:
                    value = self._element(text[at:end], value, before[index] if index < len(before) else None)
                items.append(value)
            starts.append(at - begin)
            ends.append(end - begin)
        if n == len(items) == len(old.values):
            items = old.values
        self.fronts.append(Front(old.values, items, n))
        if len(items) >= len(old.ends) or n < len(items):
            # What is but a front of the known list leaves that as it is; an equal one lets the older body go.
            old.text, old.begin, old.values, old.starts, old.ends = text, begin, items, starts, ends
        return items, at + 1

    def _known(self, lists: list[_Known], text: str, at: int) -> tuple[_Known, int]:
        """The list that is to be read along, and how many elements at the front are the same; else a new one."""
        best, most = -1, 0
        for index in range(len(lists) - 1, -1, -1):
            shared = lists[index].shared(text, at)
            if shared > most:
                best, most = index, shared
                # All but the newest turn: there is none better.
                if shared >= len(lists[index].ends) - 2:
                    break
        if best < 0:
            lists.append(_Known())
            del lists[:-_RECENT]
        else:
            lists.append(lists.pop(best))
        return lists[-1], most

    def _element(self, written: str, value: Any, old: Any) -> Any:
        """An element that is new at its place; its blocks may be old all the same (a marker has moved)."""
        if len(written) < _SMALLEST:
            return value
        found = self._shared(written, value)
        if found is value and isinstance(value, dict):
            shared_blocks(old, value)
        return found


class _Known:
    """A list as it stood in an earlier body: its text, and where in it which element stands."""

    __slots__ = ("begin", "ends", "starts", "text", "trunk", "values")

    def __init__(self) -> None:
        # The whole body, and where in it the first element stands; the other places are counted from there.
        self.text = ""
        self.begin = 0
        self.values: list[Any] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        # The body that went on from it.
        self.trunk: Trunk | None = None

    def written(self, index: int) -> str | None:
        """The text of an element; None where there is none, or where what follows could belong to it (a number)."""
        if index >= len(self.starts) or self.text[self.begin + self.starts[index]] not in CLOSED:
            return None
        return self.text[self.begin + self.starts[index] : self.begin + self.ends[index]]

    def shared(self, text: str, at: int) -> int:
        """How many elements at the front stand at a place of another text, letter by letter."""
        ends = self.ends
        # In most bodies all but the last few elements are those of the body before: looked for from the end.
        low, high, step, first = 0, len(ends), 0, 0
        while low < high:
            n = max(high - step, low + 1)
            begin = ends[low - 1] if low else 0
            if text.startswith(self.text[self.begin + begin : self.begin + ends[n - 1]], at + begin):
                low = n
                step = (high - low) // 2
            else:
                high = n - 1
                step, first = 2 * step or first, 1
        # A number could go on.
        while low and self.text[self.begin + self.starts[low - 1]] not in CLOSED:
            low -= 1
        return low


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
        body = reader.load(plain)
    except RecursionError:
        return None, "the body is JSON nested too deep to be read"
    except (ValueError, UnicodeDecodeError):
        return None, f"the body is no JSON ({len(plain):,} bytes)"
    if not isinstance(body, dict):
        return None, f"the body is JSON, but no object ({type(body).__name__})"
    return body, None
