"""Path patterns of the configuration: `exclude`, `extend-exclude` and the keys of `per-file-ignores`.

A pattern without a slash names a file or folder at any depth (`migrations`, `*_pb2.py`); one with a slash is a path
from the folder of the `pyproject.toml` (`src/legacy`, `docs/**/*.py`). `*` and `?` stay inside one name, `**` crosses
folders. A folder that matches covers everything below it.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["Globs", "compile_globs", "pattern_fault"]

# A character class as `_translate` reads it; a bracket right behind the first one stands for itself.
_CLASS = re.compile(r"\[[\s\S][^\]]*\]")


class Globs:
    """A set of patterns."""

    __slots__ = ("_expression", "patterns")

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns
        self._expression = re.compile("|".join(f"(?:{_translate(p)})" for p in patterns)) if patterns else None

    def match(self, name: str) -> bool:
        """Whether a pattern names this very file or folder (forward slashes, no slash at the ends)."""
        return self._expression is not None and self._expression.fullmatch(name) is not None

    def covers(self, name: str) -> bool:
        """Whether a pattern names this file or a folder it lies in."""
        return self._expression is not None and any(map(self.match, _with_parents(name)))

    def covering(self, name: str) -> str | None:
        """The first pattern that covers this file, as it was written."""
        return next((p for p in self.patterns if compile_globs((p,)).covers(name)), None)


@lru_cache(maxsize=256)
def compile_globs(patterns: tuple[str, ...]) -> Globs:
    """The patterns, translated once."""
    return Globs(patterns)


def pattern_fault(pattern: str) -> str | None:
    """What is wrong with a pattern, None where nothing is."""
    if not pattern.strip("/ "):
        return "is empty"
    if pattern.startswith("!"):
        return "starts with '!': patterns cannot be negated"
    if ".." in pattern.split("/"):
        return "contains '..': patterns are paths below the pyproject.toml"
    if "\\" in pattern:
        return "contains a backslash: write forward slashes"
    if "[" in _CLASS.sub("", pattern):
        return "has a '[' without its ']': write [[] for the character itself"
    try:
        re.compile(_translate(pattern))
    except re.error as error:
        return f"is not a pattern: {error.msg}"
    return None


def _with_parents(name: str) -> list[str]:
    """The name and the folders above it."""
    parts = name.split("/")
    return ["/".join(parts[:i]) for i in range(len(parts), 0, -1)]


def _translate(pattern: str) -> str:
    """A regular expression for a whole relative path."""
    body = pattern.removeprefix("./").rstrip("/")
    anchored = "/" in body
    body = body.lstrip("/")
    out = "" if anchored else "(?:.*/)?"
    i = 0
    while i < len(body):
        rest = body[i:]
        if rest.startswith("**/") and (i == 0 or body[i - 1] == "/"):
            out += "(?:.*/)?"
            i += 3
        elif rest.startswith("**"):
            out += ".*"
            i += 2
        elif rest[0] == "*":
            out += "[^/]*"
            i += 1
        elif rest[0] == "?":
            out += "[^/]"
            i += 1
        elif rest[0] == "[" and (end := body.find("]", i + 2)) > 0:
            out += _one_of(body[i + 1 : end])
            i = end + 1
        else:
            out += re.escape(rest[0])
            i += 1
    # A name may hold a line end.
    return f"(?s:{out})"


def _one_of(inside: str) -> str:
    """A character class; what `re` may one day read as a set operation is escaped."""
    negated = inside[0] in "!^"
    inside = re.sub(r"[\\\[&~|]|-(?=-)", r"\\\g<0>", inside[negated:])
    return f"(?!/)[{'^' * negated}{inside}]"
