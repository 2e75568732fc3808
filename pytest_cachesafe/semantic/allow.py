"""Pairs that a user allows to share an answer, each with a reason; what is no longer needed is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe.semantic.prompts import checked
from pytest_cachesafe.usage import UsageError

__all__ = ["Allow", "Allowances"]


@dataclass(frozen=True, slots=True)
class Allow:
    """One pair of prompts, in either order, that may share an answer."""

    a: str
    b: str
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"a": self.a, "b": self.b, "reason": self.reason}


class Allowances:
    """Allowed pairs, and which of them were needed.

    Args:
        entries: `Allow`, `(a, b, reason)`, or mappings with these keys.
        where: the option or file, for messages.
        places: lines of the file, one an entry; without them entries count from 0.

    Raises:
        UsageError: another form, a blank prompt, no reason, both prompts equal, or a pair twice.
    """

    def __init__(
        self, entries: Iterable[Any] = (), where: str = "allow", *, places: Sequence[int] | None = None
    ) -> None:
        if isinstance(entries, (str, bytes, Mapping)) or not isinstance(entries, Iterable):
            raise UsageError(f"{where}: a list of (a, b, reason) is meant, not {type(entries).__name__}")
        self._entries: dict[frozenset[str], Allow] = {}
        self._used: set[frozenset[str]] = set()
        for number, entry in enumerate(entries):
            at = f"{where}[{number}]" if places is None else f"{where}: line {places[number]}"
            made = _entry(entry, at)
            key = frozenset((made.a, made.b))
            if key in self._entries:
                raise UsageError(f"{at}: this pair is allowed before already: keep one entry")
            self._entries[key] = made

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, a: str, b: str) -> Allow | None:
        """The entry for a pair that would be reported; it counts as needed from now on."""
        key = frozenset((a, b))
        found = self._entries.get(key)
        if found is not None:
            self._used.add(key)
        return found

    def names(self, a: str, b: str) -> bool:
        """Whether there is an entry for a pair."""
        return frozenset((a, b)) in self._entries

    def __iter__(self) -> Any:
        return iter(self._entries.values())

    @property
    def unused(self) -> list[Allow]:
        """Entries that hid nothing."""
        return [entry for key, entry in self._entries.items() if key not in self._used]


def _entry(entry: Any, where: str) -> Allow:
    if isinstance(entry, Allow):
        a, b, reason = entry.a, entry.b, entry.reason
    elif isinstance(entry, Mapping):
        missing = [key for key in ("a", "b", "reason") if key not in entry]
        if missing:
            raise UsageError(f"{where}: has no {missing[0]!r}; a, b and reason are needed")
        a, b, reason = entry["a"], entry["b"], entry["reason"]
    elif isinstance(entry, (tuple, list)) and len(entry) == 3:
        a, b, reason = entry
    else:
        short = isinstance(entry, (tuple, list)) and len(entry) == 2
        raise UsageError(f"{where}: (a, b, reason) is meant{': say why the pair may share an answer' if short else ''}")
    a, b = checked(a, f"{where}: prompt a"), checked(b, f"{where}: prompt b")
    if not isinstance(reason, str) or not reason.strip():
        raise UsageError(f"{where}: needs a reason: say why the pair may share an answer")
    if a == b:
        raise UsageError(f"{where}: both prompts are the same text, which needs no entry")
    return Allow(a, b, reason.strip())
