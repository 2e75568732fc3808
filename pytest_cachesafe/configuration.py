"""`[tool.cachesafe]` in a `pyproject.toml`: found, parsed once and held against the keys that all readers know.

Imported by the linter in every start: nothing here costs more than a file that is read.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from pytest_cachesafe.usage import UsageError

__all__ = ["KEYS", "LINT_KEYS", "PREFIX_KEYS", "SEMANTIC_KEYS", "closest", "file_stamp", "read_table"]

# Read by `pytest_cachesafe.prefix.accept`.
PREFIX_KEYS = ("accept",)
# Read by `pytest_cachesafe.lint.settings`.
LINT_KEYS = (
    "select",
    "ignore",
    "extend-select",
    "per-file-ignores",
    "exclude",
    "extend-exclude",
    "tests",
    "baseline",
    "rules",
    "prompt-names",
    "safe-names",
    "sink-keywords",
    "sink-calls",
    "sources",
    "sanitizers",
    "flags",
)
# Read by `pytest_cachesafe.semantic.tables`.
SEMANTIC_KEYS = ("semantic",)
# Read by `pytest_cachesafe.providers.rules.load`.
PROVIDER_KEYS = ("providers",)
KEYS = PREFIX_KEYS + LINT_KEYS + SEMANTIC_KEYS + PROVIDER_KEYS


def closest(word: object, known: Iterable[str], *, names: bool = True) -> str:
    """`did you mean 'x'?`, or the known words where none is near (with `names`)."""
    import difflib

    words = list(known)
    folded = {w.lower().replace("_", "-"): w for w in words}
    near = difflib.get_close_matches(str(word).lower().replace("_", "-"), folded, 1)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    return f"known: {', '.join(words)}" if names else ""


def file_stamp(path: str) -> tuple[int, int] | None:
    """(mtime in nanoseconds, size in bytes) of a regular file; None where there is none.

    Raises:
        UsageError: a link that leads nowhere, which somebody meant to be read.
    """
    try:
        found = os.stat(path)
    except OSError:
        if os.path.islink(path):
            raise UsageError(f"{path}: a link that leads nowhere: mend or remove it") from None
        return None
    return (found.st_mtime_ns, found.st_size) if stat.S_ISREG(found.st_mode) else None


def read_table(path: str, stamp: tuple[int, int], *, strict: bool = False) -> Mapping[str, Any] | None:
    """The table `[tool.cachesafe]` of a file, None where it has none; parsed again only when `stamp` changed.

    Args:
        path: the `pyproject.toml`.
        stamp: its `file_stamp`.
        strict: parse a file that does not mention the table as well, so that broken TOML is always told.

    Raises:
        UsageError: unreadable, not TOML (with line and column), not a table, an unknown key (with the closest one).
    """
    return _read(path, stamp, strict)


@lru_cache(maxsize=256)
def _read(path: str, stamp: tuple[int, int], strict: bool) -> Mapping[str, Any] | None:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not strict and b"cachesafe" not in data:
        return None
    tool = _parse(path, data).get("tool", {})
    section = tool.get("cachesafe") if isinstance(tool, dict) else None
    if section is None:
        return None
    if not isinstance(section, dict):
        raise UsageError(f"{path}: tool.cachesafe must be a table: write [tool.cachesafe] and its keys below")
    for key in section:
        if key not in KEYS:
            raise UsageError(f"{path}: [tool.cachesafe] has no key {key!r}; {closest(key, KEYS)}")
    return section


def _parse(path: str, data: bytes) -> dict[str, Any]:
    # The import takes longer than the parsing; a project without the file does without.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if data.startswith(b"\xef\xbb\xbf"):
        raise UsageError(f"{path}:1:1: not valid TOML: begins with a byte order mark; save it as UTF-8 without one")
    try:
        parsed: dict[str, Any] = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        place = _position(data[: error.start].decode("utf-8"))
        raise UsageError(f"{path}:{place}: not valid TOML: not UTF-8 ({error.reason})") from None
    except ValueError as error:
        # TOMLDecodeError, and what Python says of a number with too many digits.
        words = str(error)
        found = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", words)
        if found is None:
            raise UsageError(f"{path}: not valid TOML: {words}") from None
        place = f"{found[1]}:{found[2]}" if found[1] else _position(data.decode("utf-8"))
        raise UsageError(f"{path}:{place}: not valid TOML: {words[: found.start()]}") from None
    except RecursionError:
        raise UsageError(f"{path}: not valid TOML: nested too deeply") from None
    return parsed


def _position(before: str) -> str:
    """`line:column`, both from 1, of the place behind this text."""
    line = before.count("\n") + 1
    return f"{line}:{len(before) - (before.rfind(chr(10)) + 1) + 1}"
