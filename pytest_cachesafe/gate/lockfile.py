"""The lock file: JSON lines, one entry a line, sorted, so that branches which both add lines merge by themselves.

A union merge (`merge=union` in .gitattributes) keeps the lines of both sides: equal ones are one, two that contradict
each other are named, and stay until a run of that test tells which is right.

A file that cannot be used stops pytest before the first test, with exit status 4 (pytest's for usage errors); the
command line ends with 2. `--cachesafe-update` mends one: lines that are no entries go, and are told.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from pytest_cachesafe.gate.entry import SCHEMA, Entry
from pytest_cachesafe.gate.lines import Entries, Key, key_of
from pytest_cachesafe.gate.paused import collector_paused
from pytest_cachesafe.usage import UsageError

__all__ = ["Lock", "dump", "from_dict", "parse", "read", "write"]

# "exact" is written as its opposite.
_FIELDS = frozenset(f.name for f in fields(Entry)) - {"exact"}
_TYPES: dict[str, tuple[type, ...]] = {
    "test": (str,), "name": (str,), "kind": (str,), "front_end": (str,), "template": (str,), "tokenizer": (str,),
    "requests": (int,), "tokens": (int,), "reusable": (int,), "kept": (dict,), "cause": (str,), "place": (str,),
    "prefix": (str,), "prefix_tokens": (int,), "cost_usd": (int, float),
}  # fmt: skip
_TEXTS = frozenset(key for key, types in _TYPES.items() if types == (str,))
_NEEDED = frozenset(("test", "name", "kind", "front_end", "requests", "tokens", "reusable", "kept"))
_MEND = "run the tests with --cachesafe-update to write it anew"
# More tokens, or USD, than any run of a test ever has.
_MOST = 10**15
_NONE: Mapping[Key, Sequence[Entry]] = {}


class Lock:
    """The entries of a lock file, by test and name."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries = Entries(_known)
        for entry in entries:
            self.entries.hold(entry.key, entry)
        # Keys under which a merge left two different lines: (key, line of the first, line of the second).
        self.contradictions: list[tuple[Key, int, int]] = []
        # What those lines say, for each such key.
        self.rivals: dict[Key, list[Entry]] = {}
        # Lines that are no entries, where the file was read to be mended: one message each.
        self.dropped: list[str] = []

    def get(self, key: Key) -> Entry | None:
        """The entry of one check."""
        return self.entries.get(key)

    def __len__(self) -> int:
        return len(self.entries)


def read(path: str | os.PathLike[str], *, mend: bool = False) -> Lock | None:
    """The lock file, or None where there is none.

    Args:
        path: the file; mend: lines that are no entries are noted in `Lock.dropped` instead of raised.

    Raises:
        UsageError: unreadable, not UTF-8, conflict markers, a line that is no entry, a newer schema; names the line.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{os.path.basename(os.fspath(path))}: cannot be read: {error.strerror or error}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if not mend:
            raise UsageError(f"{os.path.basename(os.fspath(path))}: not UTF-8 (byte {error.start}); {_MEND}") from None
        # Lines with such bytes are no entries, the others are.
        text = data.decode("utf-8-sig", "surrogateescape")
    return parse(text, os.path.basename(os.fspath(path)), mend=mend)


def parse(text: str, name: str, *, mend: bool = False) -> Lock:
    """The entries in a lock file's text; `name` begins every message, `mend` as in `read`.

    Raises:
        UsageError: as `read`.
    """
    with collector_paused():
        return _parsed(text, name, mend=mend)


def _parsed(text: str, name: str, *, mend: bool) -> Lock:
    lock = Lock()
    rows: dict[Key, int] = {}
    lines = text.removeprefix("\ufeff").split("\n")
    for row, line in enumerate(lines, 1):
        key = key_of(line)
        held: Entry | str = line
        if key is None:
            if not line.strip():
                continue
            try:
                held = _entry(line, f"{name}:{row}", last=row == len(lines))
            except _Newer:
                raise
            except UsageError as error:
                if not mend:
                    raise
                lock.dropped.append(str(error).removesuffix(f"; {_MEND}"))
                continue
            key = held.key
        before = lock.entries.hold(key, held)
        if before is not None and before != held:
            _twice(lock, key, before, rows[key], row)
        rows[key] = row
    return lock


def _twice(lock: Lock, key: Key, before: Entry | str, earlier: int, row: int) -> None:
    """Two lines of one key that are not written alike: they contradict each other if they do not say the same."""
    first, second = _known(before) if isinstance(before, str) else before, lock.entries[key]
    if first == second:
        return
    lock.contradictions.append((key, earlier, row))
    rivals = lock.rivals.setdefault(key, [first])
    if second not in rivals:
        rivals.append(second)


class _Newer(UsageError):
    """Written by a later version: never to be mended, only to be read by that version."""


def _entry(line: str, where: str, *, last: bool) -> Entry:
    if line.startswith(("<<<<<<<", "=======", ">>>>>>>", "|||||||")):
        raise UsageError(f"{where}: a conflict marker of a merge: keep the lines of both sides and delete the markers")
    if not line.isascii() and any("\udc80" <= char <= "\udcff" for char in line):
        raise UsageError(f"{where}: not UTF-8; {_MEND}")
    try:
        values = json.loads(line)
    except RecursionError:
        raise UsageError(f"{where}: nested too deeply; {_MEND}") from None
    except ValueError as error:
        cut = " (the file seems cut off)" if last else ""
        raise UsageError(f"{where}: not JSON: {str(error)[:80]}{cut}; {_MEND}") from None
    if not isinstance(values, dict):
        raise UsageError(f"{where}: a JSON object is meant, one entry a line; {_MEND}")
    schema = values.pop("schema", None)
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise UsageError(f"{where}: no schema number, so no entry of a lock file; {_MEND}")
    if schema > SCHEMA:
        raise _Newer(f"{where}: written by a newer version (schema {schema}, this one reads {SCHEMA}): upgrade")
    if not values.keys() >= _NEEDED:
        missing = next(key for key in _TYPES if key in _NEEDED and key not in values)
        raise UsageError(f"{where}: {missing} is missing; {_MEND}")
    for key, value in values.items():
        if type(value) is str and key in _TEXTS:
            # Most values: a big file is read in every run.
            continue
        # Keys of later versions with the same schema are additions.
        if not _possible(key, value):
            shown = json.dumps(value)
            shown = shown if len(shown) <= 40 else shown[:39] + "…"
            raise UsageError(f"{where}: {key} is {shown}, no such value was ever written; {_MEND}")
    return from_dict(values)


def _known(line: str) -> Entry:
    """The entry of a line that `key_of` has seen to be one."""
    return from_dict(json.loads(line))


def from_dict(values: Mapping[str, Any]) -> Entry:
    """An entry from its JSON form, which was checked before or comes from a worker of ours."""
    known = {key: value for key, value in values.items() if key in _FIELDS}
    return Entry(exact=not values.get("estimated", False), **known)


def _possible(key: str, value: Any) -> bool:
    """Whether a value may stand under a key; keys that are not known may hold anything."""
    if key == "estimated":
        return value is True
    types = _TYPES.get(key)
    if types is None:
        return True
    if type(value) is int and int in types:
        return 0 <= value < _MOST
    if not isinstance(value, types) or isinstance(value, bool):
        return False
    if isinstance(value, dict):
        return all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < _MOST for n in value.values())
    # NaN is neither.
    return isinstance(value, (int, float)) and 0 <= value < _MOST


def dump(entries: Mapping[Key, Entry], rivals: Mapping[Key, Sequence[Entry]] = _NONE) -> str:
    """The file's text: sorted by test and name, one line each; of `rivals`, which nothing has settled, all."""
    lines: list[str] = []
    for key in sorted(entries):
        if key in rivals:
            # Whichever branch was merged into which: the same bytes.
            lines += sorted({_line(entry) for entry in rivals[key]})
        else:
            lines.append(_line(entries[key]))
    return "".join(line + "\n" for line in lines)


def _line(entry: Entry) -> str:
    return json.dumps(entry.as_dict(), ensure_ascii=True, separators=(", ", ": "))


def write(
    path: str | os.PathLike[str],
    entries: Mapping[Key, Entry],
    rivals: Mapping[Key, Sequence[Entry]] = _NONE,
) -> bool:
    """Write the file if it changes, whole or not at all; returns whether it did. Arguments as `dump`.

    Raises:
        UsageError: it cannot be written; the old file is still there.
    """
    from pytest_cachesafe.files import write_atomic

    text = dump(entries, rivals)
    try:
        if Path(path).read_bytes() == text.encode():
            return False
    except OSError:
        pass
    write_atomic(path, text)
    return True
