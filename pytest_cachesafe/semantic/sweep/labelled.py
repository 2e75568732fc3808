"""Pairs with a label: may one answer serve both, or not; from tuples, mappings or lines of a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_cachesafe.semantic.prompts import as_pair
from pytest_cachesafe.usage import UsageError

__all__ = ["LABELS", "LabelError", "LabelledPair", "LabelledPairs", "check_label"]

# What a label may be. None: people do not agree.
LABELS: Mapping[str, bool | None] = {
    "same": True, "mergeable": True, "duplicate": True, "paraphrase": True,
    "different": False, "distinct": False, "collision": False,
    "ambiguous": None,
}  # fmt: skip
# Keys that hold it, in the order they are looked for.
_KEYS = ("same_answer", "label", "is_duplicate", "same")


class LabelError(UsageError):
    """An unknown label; `where` and `value` as given, since the value of a wrong column may be a prompt's text."""

    def __init__(self, where: str, value: object, shown: str | None = None) -> None:
        said = repr(value)[:60] if shown is None else shown
        super().__init__(f"{where} {said} is unknown: true, false, null, or one of {', '.join(LABELS)}")
        self.where, self.value = where, value

    def __reduce__(self) -> tuple[type[LabelError], tuple[str, object]]:
        return type(self), (self.where, self.value)


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two prompts, and whether one answer serves both; None: ambiguous."""

    a: str
    b: str
    same: bool | None
    # Index (from 0) or line of a file (from 1).
    at: int


@dataclass(slots=True)
class LabelledPairs:
    """Distinct labelled pairs, in their order."""

    pairs: list[LabelledPair] = field(default_factory=list)
    # Pairs that were given again with the same label, in either order, and pairs that hold one text twice.
    repeats: int = 0
    identical: int = 0
    # "pair" or "line": what `at` counts.
    unit: str = "pair"
    name: str = ""

    @classmethod
    def of(cls, given: object, *, places: Sequence[int] | None = None, name: str = "") -> LabelledPairs:
        """From `(a, b, label)` tuples or mappings with "a", "b" and "same_answer" or "label".

        Args:
            places: lines of a file, one a pair; without them pairs count from 0.
            name: the file.

        Raises:
            UsageError: another form, an unknown label, a pair labelled both ways, one text twice labelled different;
                with its place.
        """
        if isinstance(given, LabelledPairs):
            return given
        if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
            raise UsageError(f"labelled pairs: a list of (a, b, label) is meant, not {type(given).__name__}")
        found = cls(unit="line" if places is not None else "pair", name=name)
        known: dict[frozenset[str], LabelledPair] = {}
        for index, entry in enumerate(given):
            at = places[index] if places is not None else index
            where = f"{f'{name}: ' if name else ''}{found.unit} {at}"
            pair = _pair(entry, at, where)
            if pair.a == pair.b:
                if pair.same is False:
                    raise UsageError(f"{where}: one text twice, labelled different: an exact match is always merged")
                found.identical += 1
                continue
            key = frozenset((pair.a, pair.b))
            before = known.setdefault(key, pair)
            if before is not pair:
                if before.same is not pair.same:
                    raise UsageError(f"{where}: labelled otherwise at {found.unit} {before.at}: keep the right one")
                found.repeats += 1
                continue
            found.pairs.append(pair)
        return found

    def __len__(self) -> int:
        return len(self.pairs)

    def count(self, same: bool | None) -> int:
        """Pairs with a label."""
        return sum(pair.same is same for pair in self.pairs)


def _pair(entry: Any, at: int, where: str) -> LabelledPair:
    if isinstance(entry, LabelledPair):
        a, b, label = entry.a, entry.b, entry.same
        return LabelledPair(*as_pair(a, b, where), label, at)
    if isinstance(entry, Mapping):
        missing = [key for key in ("a", "b") if key not in entry]
        if missing:
            raise UsageError(f"{where}: has no {missing[0]!r}; a, b and same_answer are needed")
        keys = [key for key in _KEYS if key in entry]
        if not keys:
            raise UsageError(f'{where}: has no label; "same_answer": true or false is needed')
        a, b, label = entry["a"], entry["b"], check_label(entry[keys[0]], f"{where}: {keys[0]}")
        for key in keys[1:]:
            # A label of another sort ("billing") is nobody's business here.
            if _is_label(entry[key]) and check_label(entry[key], where) is not label:
                raise UsageError(f"{where}: {keys[0]} and {key} say different things: keep the right one")
    elif isinstance(entry, (tuple, list)) and len(entry) == 3:
        a, b, label = entry[0], entry[1], check_label(entry[2], f"{where}: label")
    else:
        raise UsageError(f'{where}: (a, b, label) or {{"a", "b", "same_answer"}} is meant')
    return LabelledPair(*as_pair(a, b, where), label, at)


def _is_label(value: object) -> bool:
    try:
        check_label(value, "")
    except LabelError:
        return False
    return True


def check_label(value: object, where: str) -> bool | None:
    """Whether one answer serves both, from a label; None: ambiguous.

    Raises:
        UsageError: no label; `where` begins the message.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return value == 1
    if isinstance(value, str) and value.strip().lower() in LABELS:
        return LABELS[value.strip().lower()]
    raise LabelError(where, value)
