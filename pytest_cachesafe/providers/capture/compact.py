"""A file of exchanges in which what requests repeat stands once: an agent sends its history again with every request.

The first line says what the file is; a line `{"id": 7, "value": …}` gives a value a number before it is first used, and
`{"$": 7}` stands for it where it is an item of a body's list, an item of a message's content, or a member of the body.
Equal means equal as JSON text: key order and number types are kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from pytest_cachesafe.usage import UsageError

__all__ = ["HEAD", "Sharer", "is_compact", "unshared"]

HEAD = '{"cachesafe":"compact","schema":1}'
# Smaller values cost less than a line of their own.
_SMALLEST = 200
_REF = "$"
_CONTENTS = ("content", "parts")


class Sharer:
    """Takes bodies apart; the new values of each body are handed out before its line."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._new: list[str] = []

    def body(self, body: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
        """(lines of the values in it that are new, the body with references)."""
        self._new = []
        return self._new, _members(body, lambda item: self._swap(_inner(item, self._swap)))

    def _swap(self, value: Any) -> Any:
        if not isinstance(value, (str, Mapping, list)):
            return value
        written = json.dumps(value, separators=(",", ":"), allow_nan=False)
        # What holds references is shared whatever its size, and so is what looks like one.
        if len(written) < _SMALLEST and '{"$":' not in written:
            return value
        key = blake2b(written.encode(), digest_size=20).digest()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            self._new.append(f'{{"id":{number},"value":{written}}}')
        return {_REF: number}


def is_compact(first: Any) -> bool:
    """Whether the first value of a file says that what follows is of this form."""
    return isinstance(first, Mapping) and first.get("cachesafe") == "compact"


def unshared(values: Iterable[tuple[int, Any]], name: str) -> Iterator[tuple[int, Any]]:
    """The lines of such a file with their bodies put together again.

    Raises:
        UsageError: another version of the form, or a reference to what did not come before.
    """
    table: dict[int, Any] = {}
    for position, (row, line) in enumerate(values):
        if position == 0:
            if line.get("schema") != 1:
                raise UsageError(f"{name}: written by a newer version (schema {line.get('schema')!r}); update this one")
            continue

        def resolve(value: Any, row: int = row) -> Any:
            if not _is_reference(value):
                return value
            if value[_REF] not in table:
                raise UsageError(f"{name}: line {row} refers to value {value[_REF]!r}, which no line before it gives")
            return table[value[_REF]]

        if isinstance(line, Mapping) and line.keys() == {"id", "value"}:
            table[line["id"]] = _inner(line["value"], resolve)
        elif isinstance(line, Mapping) and isinstance(line.get("body"), Mapping):
            body = _members(line["body"], lambda item: resolve(item) if _is_reference(item) else _inner(item, resolve))
            yield row, {**line, "body": body}
        else:
            yield row, line


def _is_reference(value: Any) -> bool:
    return isinstance(value, Mapping) and len(value) == 1 and _REF in value


def _members(body: Mapping[str, Any], swap: Callable[[Any], Any]) -> dict[str, Any]:
    return {
        key: [swap(item) for item in value] if isinstance(value, (list, tuple)) else swap(value)
        for key, value in body.items()
    }


def _inner(item: Any, swap: Callable[[Any], Any]) -> Any:
    """A message with the items of its content swapped."""
    if not isinstance(item, Mapping):
        return item
    found = {key: [swap(block) for block in item[key]] for key in _CONTENTS if isinstance(item.get(key), list)}
    return {**item, **found} if found else item
