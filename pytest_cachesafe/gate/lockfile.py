"""The lock file: JSON lines, one entry a line, sorted, so that branches which both add lines merge by themselves.

A union merge (`merge=union` in .gitattributes) keeps the lines of both sides: equal ones are one, two that contradict
each other are named.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pytest_cachesafe.gate.entry import SCHEMA, Entry
from pytest_cachesafe.usage import UsageError

__all__ = ["DEFAULT_NAME", "Lock", "dump", "from_dict", "parse", "read", "write"]

DEFAULT_NAME = "cachesafe.lock.jsonl"
_FIELDS = {f.name: f for f in fields(Entry)}
_TYPES: dict[str, tuple[type, ...]] = {
    "test": (str,), "name": (str,), "kind": (str,), "front_end": (str,), "template": (str,), "tokenizer": (str,),
    "requests": (int,), "tokens": (int,), "reusable": (int,), "kept": (dict,), "cause": (str,), "place": (str,),
    "prefix": (str,), "prefix_tokens": (int,), "cost_usd": (int, float),
}  # fmt: skip
_NEEDED = ("test", "name", "kind", "front_end", "requests", "tokens", "reusable", "kept")
_MEND = "run the tests with --cachesafe-update to write it anew"


class Lock:
    """The entries of a lock file, by test and name."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries: dict[tuple[str, str], Entry] = {entry.key: entry for entry in entries}
        # Keys under which a merge left two different lines: (key, line of the first, line of the second).
        self.contradictions: list[tuple[tuple[str, str], int, int]] = []

    def get(self, key: tuple[str, str]) -> Entry | None:
        """The entry of one check."""
        return self.entries.get(key)

    def __len__(self) -> int:
        return len(self.entries)


def read(path: str | os.PathLike[str]) -> Lock | None:
    """The lock file, or None where there is none.

    Raises:
        UsageError: unreadable, not UTF-8, conflict markers, a line that is no entry, a newer schema; names the line.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{os.fspath(path)}: not UTF-8 (byte {error.start}); {_MEND}") from None
    return parse(text, os.path.basename(os.fspath(path)))


def parse(text: str, name: str) -> Lock:
    """The entries in a lock file's text; `name` begins every message.

    Raises:
        UsageError: as `read`.
    """
    lock = Lock()
    rows: dict[tuple[str, str], int] = {}
    lines = text.split("\n")
    for row, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if line.startswith(("<<<<<<<", "=======", ">>>>>>>", "|||||||")):
            raise UsageError(
                f"{name}:{row}: a conflict marker of a merge: keep the lines of both sides and delete the markers"
            )
        entry = _entry(line, f"{name}:{row}", last=row == len(lines))
        before = lock.entries.get(entry.key)
        if before is not None and before != entry:
            lock.contradictions.append((entry.key, rows[entry.key], row))
        lock.entries[entry.key] = entry
        rows[entry.key] = row
    return lock


def _entry(line: str, where: str, *, last: bool) -> Entry:
    try:
        values = json.loads(line)
    except RecursionError:
        raise UsageError(f"{where}: nested too deeply; {_MEND}") from None
    except ValueError as error:
        cut = " (the file seems cut off)" if last else ""
        raise UsageError(f"{where}: not JSON: {error}{cut}; {_MEND}") from None
    if not isinstance(values, dict):
        raise UsageError(f"{where}: a JSON object is meant, one entry a line; {_MEND}")
    schema = values.pop("schema", None)
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise UsageError(f"{where}: no schema number, so no entry of a lock file; {_MEND}")
    if schema > SCHEMA:
        raise UsageError(f"{where}: written by a newer version (schema {schema}, this one reads {SCHEMA}): upgrade")
    exact = not values.pop("estimated", False)
    for key in _NEEDED:
        if key not in values:
            raise UsageError(f"{where}: {key} is missing; {_MEND}")
    for key, value in values.items():
        # Keys of later versions with the same schema are additions.
        if key in _TYPES and (not isinstance(value, _TYPES[key]) or isinstance(value, bool) or _negative(value)):
            raise UsageError(f"{where}: {key} is {json.dumps(value)[:40]}, no such value was ever written; {_MEND}")
    return from_dict({**values, "estimated": not exact})


def from_dict(values: Mapping[str, Any]) -> Entry:
    """An entry from its JSON form, which was checked before or comes from a worker of ours."""
    known = {key: value for key, value in values.items() if key in _FIELDS}
    return Entry(exact=not values.get("estimated", False), **known)


def _negative(value: Any) -> bool:
    if isinstance(value, dict):
        return any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in value.values())
    return isinstance(value, (int, float)) and value < 0


def dump(entries: Mapping[tuple[str, str], Entry]) -> str:
    """The file's text: sorted by test and name, one line each."""
    lines = [json.dumps(entries[key].as_dict(), ensure_ascii=True, separators=(", ", ": ")) for key in sorted(entries)]
    return "".join(line + "\n" for line in lines)


def write(path: str | os.PathLike[str], entries: Mapping[tuple[str, str], Entry]) -> bool:
    """Write the file if it changes, whole or not at all; returns whether it did.

    Raises:
        UsageError: it cannot be written; the old file is still there.
    """
    from pytest_cachesafe.files import write_atomic

    text = dump(entries)
    try:
        if Path(path).read_bytes() == text.encode():
            return False
    except OSError:
        pass
    write_atomic(path, text)
    return True
