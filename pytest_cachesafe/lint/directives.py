"""Suppression comments as text: `# cachesafe: ignore[...]`, `# cachesafe: ignore-file[...]`, `# noqa: ...`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cachesafe_rules.patterns import lazy_pattern

__all__ = ["Directive", "Part", "codes_for", "directives", "may_hold"]

# What any directive holds, for a look at a whole file before its comments are searched.
_HINT = lazy_pattern(r"#[^\n\r]*?(?:cachesafe\s*:|noqa\b)", re.IGNORECASE)
_OWN = lazy_pattern(r"#\s*cachesafe\s*:\s*(?P<word>[a-z][a-z_-]*)(?P<rest>[^#]*)", re.IGNORECASE)
_LIST = lazy_pattern(r"\s*\[(?P<parts>[^\[\]]*)\]")
_CODE = r"[a-z]+[0-9]+"
# A bare `noqa` ends there; `noqa: words` is no directive, as ruff sees it, and silences nothing.
_NOQA = lazy_pattern(
    rf"#\s*noqa(?:\s*:\s*(?P<parts>{_CODE}\b(?:[,\s]\s*{_CODE}\b)*)[^#]*|(?![\w:-])[^#]*)", re.IGNORECASE
)
_WORD = lazy_pattern(r"[^\s,]+")
_SHAPE = lazy_pattern(r"([A-Za-z]+)(\d+)")


class Part(NamedTuple):
    """One code, prefix or name in a directive; `start` and `end` count characters from the start of the comment."""

    text: str
    start: int
    end: int


class Directive(NamedTuple):
    """One directive in a comment.

    `word`: ignore, ignore-file, noqa, or what stands there instead. `parts` is None for a bare one. `broken` says in
    words why it cannot be read. `start` and `end` count characters from the start of the comment.
    """

    word: str
    parts: tuple[Part, ...] | None
    start: int
    end: int
    broken: str | None = None


def may_hold(row: str) -> bool:
    """Whether a row, or a whole text, may hold a directive."""
    return _HINT.search(row) is not None


def directives(comment: str) -> Iterator[Directive]:
    """The directives of one comment, in order."""
    for found in _OWN.finditer(comment):
        word, end = found["word"].lower(), found.start() + len(found[0].rstrip())
        listed = _LIST.match(found["rest"])
        if listed is not None:
            parts = _parts(listed["parts"], found.start("rest") + listed.start("parts"))
            broken = None if parts else "an empty list names no rule"
            yield Directive(word, parts, found.start(), end, broken)
        elif found["rest"].lstrip().startswith("["):
            yield Directive(word, (), found.start(), end, "the list has no closing bracket")
        else:
            yield Directive(word, None, found.start(), end)
    for found in _NOQA.finditer(comment):
        listed_codes = _parts(found["parts"], found.start("parts")) if found["parts"] else None
        yield Directive("noqa", listed_codes, found.start(), found.start() + len(found[0].rstrip()))


def _parts(text: str, offset: int) -> tuple[Part, ...]:
    return tuple(Part(m[0], offset + m.start(), offset + m.end()) for m in _WORD.finditer(text))


def codes_for(text: str, known: Mapping[str, str]) -> frozenset[str]:
    """The codes that a code, a prefix (`CSF1`, `CSF`) or a name stands for; case is no matter. Empty where unknown."""
    folded = text.upper()
    if folded in known:
        return frozenset((folded,))
    lowered = text.lower()
    by_name = frozenset(code for code, name in known.items() if name == lowered)
    if by_name:
        return by_name
    shape = _SHAPE.fullmatch(folded)
    letters, digits = shape.groups() if shape else (folded, "")
    out = set()
    for code in known:
        own = _SHAPE.fullmatch(code)
        if own and own[1] == letters and own[2].startswith(digits):
            out.add(code)
    return frozenset(out)
