"""Lines of the lock file that are as this version writes them: known for whole by one pattern, read when asked for.

A big project reads a file of thousands of lines in every run and every worker, and a run asks for few of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, KeysView, Mapping

from pytest_cachesafe.gate.entry import SCHEMA, Entry

__all__ = ["Entries", "Key", "key_of"]

Key = tuple[str, str]

# Every quantifier is followed by a sign that it cannot take: one way to match, linear in the line.
_TEXT = r'[ !#-\[\]-~]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-\[\]-~]*)*'
# Below what no run ever has (`lockfile._MOST`).
_COUNT = r"(?:0|[1-9][0-9]{0,14})"
_USD = r"(?:0|[1-9][0-9]{0,8})(?:\.[0-9]+)?(?:e-[0-9]+)?"
_KEPT = rf'\{{(?:"{_TEXT}": {_COUNT}(?:, "{_TEXT}": {_COUNT})*)?\}}'
# As `Entry.as_dict` orders them; those with "?" are left out where they say nothing.
_ORDER = (
    ("kind", _TEXT), ("front_end", _TEXT), ("template?", _TEXT), ("tokenizer?", _TEXT), ("estimated?", "true"),
    ("requests", _COUNT), ("tokens", _COUNT), ("reusable", _COUNT), ("kept", _KEPT), ("cause?", _TEXT),
    ("place?", _TEXT), ("prefix?", _TEXT), ("cost_usd?", _USD), ("prefix_tokens?", _COUNT),
)  # fmt: skip


def _field(name: str, value: str) -> str:
    made = f', "{name.rstrip("?")}": ' + (f'"{value}"' if value is _TEXT else value)
    return f"(?:{made})?" if name.endswith("?") else made


# git may end lines as the user's system does.
_LINE = re.compile(
    rf'\{{"test": "({_TEXT})", "name": "({_TEXT})"{"".join(_field(*one) for one in _ORDER)}, "schema": {SCHEMA}\}}\r?'
)


def key_of(line: str) -> Key | None:
    """Test and name of a line which is an entry beyond doubt; None: it has to be read to know."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    test, name = match.groups()
    if "\\" in line:
        test, name = json.loads(f'"{test}"'), json.loads(f'"{name}"')
    return test, name


class Entries(Mapping[Key, Entry]):
    """Entries by test and name; a line is read when its entry is first asked for."""

    def __init__(self, read: Callable[[str], Entry]) -> None:
        self._read = read
        self._held: dict[Key, Entry | str] = {}

    def hold(self, key: Key, held: Entry | str) -> Entry | str | None:
        """Put an entry or its line under a key; returns what stood there."""
        before = self._held.get(key)
        self._held[key] = held
        return before

    def __getitem__(self, key: Key) -> Entry:
        held = self._held[key]
        if isinstance(held, str):
            held = self._held[key] = self._read(held)
        return held

    def __iter__(self) -> Iterator[Key]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def keys(self) -> KeysView[Key]:
        """Tests and names; reads nothing."""
        return self._held.keys()

    def differing(self, other: Entries) -> list[Key]:
        """Keys under which the two do not hold the same line, sorted; entries that were read count as other lines."""
        a, b = self._held, other._held
        return sorted(key for key in a.keys() | b.keys() if key not in a or key not in b or a[key] != b[key])
