"""The keys of `[tool.cachesafe]` that the linter reads, held against their types."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pytest_cachesafe.configuration import closest
from pytest_cachesafe.lint.globs import pattern_fault
from pytest_cachesafe.usage import UsageError

__all__ = ["GRANULARITIES", "KINDS", "read_values", "split_kind"]

# As in `cachesafe_rules.model.Source`; a flag adds one of the others.
KINDS = (
    "clock", "random", "temp", "user", "session", "memory", "file", "host", "cwd", "env", "locale", "build", "repr",
    "state", "set", "listing", "mutable",
)  # fmt: skip
GRANULARITIES = (
    "microsecond", "second", "minute", "hour", "day", "month", "year", "call", "session", "user", "process", "host",
)  # fmt: skip

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")

Reader = Callable[[Any, str], Any]


def read_values(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The linter's part of a table, as fields of `Settings`; keys of other readers are passed over.

    Args:
        table: the parsed `[tool.cachesafe]`.
        where: the file (or an option), for messages.

    Raises:
        UsageError: a value of the wrong type or form, naming file and key.
    """
    out = {}
    for key, value in table.items():
        reader = _READERS.get(key)
        if reader is not None:
            place = where if where.startswith("--") else f"{where}: [tool.cachesafe] {key}"
            out[key.replace("-", "_")] = reader(value, place)
    return out


def split_kind(value: str) -> tuple[str, str | None]:
    """`kind:granularity` in its two parts; None where the granularity is left open."""
    kind, colon, granularity = value.partition(":")
    return kind, granularity if colon else None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise UsageError(f"{where} must be a list of strings, got {_shown(value)}")
    for item in value:
        if not isinstance(item, str):
            raise UsageError(f"{where} must be a list of strings, got {_shown(item)} in it")
    return tuple(value)


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where} must be a table, got {_shown(value)}")
    return value


def _calls(value: Any, where: str) -> dict[str, Any]:
    """A table whose keys are dotted names; without quotes TOML reads `a.b = 1` as a table in a table."""
    table = _table(value, where)
    for name, inner in table.items():
        if isinstance(inner, dict):
            raise UsageError(f'{where} {name!r} is a table; put a name with dots into quotes: "package.function" = …')
        _is_dotted(name, where, "a dotted name (package.module.function)")
    return table


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{where} must be true or false, got {_shown(value)}")
    return value


def _path(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise UsageError(f"{where} must be the path of a file, got {_shown(value)}")
    return value


def _check_glob(pattern: str, where: str) -> None:
    fault = pattern_fault(pattern)
    if fault:
        raise UsageError(f"{where}: pattern {_shown(pattern)} {fault}")


def _globs(value: Any, where: str) -> tuple[str, ...]:
    patterns = _strings(value, where)
    for pattern in patterns:
        _check_glob(pattern, where)
    return patterns


def _ignores(value: Any, where: str) -> dict[str, tuple[str, ...]]:
    out = {}
    for pattern, selectors in _table(value, where).items():
        _check_glob(pattern, where)
        out[pattern] = _strings(selectors, f"{where} {pattern!r}")
    return out


def _expressions(value: Any, where: str) -> tuple[str, ...]:
    """Names or regular expressions; both are matched against a whole name."""
    words = _strings(value, where)
    for word in words:
        if not word:
            raise UsageError(f"{where}: an empty name matches nothing; take it out")
        try:
            re.compile(word)
        except (re.error, OverflowError, RecursionError) as error:
            raise UsageError(f"{where}: {_shown(word)} is not a regular expression: {error}") from None
    return words


def _is_dotted(name: str, where: str, what: str) -> None:
    if not _DOTTED.fullmatch(name):
        raise UsageError(f"{where}: {_shown(name)} is not {what}")


def _keywords(value: Any, where: str) -> tuple[str, ...]:
    words = _strings(value, where)
    for word in words:
        if not word.isidentifier():
            raise UsageError(f"{where}: {_shown(word)} is not the name of an argument")
    return words


def _dotted(value: Any, where: str) -> tuple[str, ...]:
    names = _strings(value, where)
    for name in names:
        _is_dotted(name, where, "a dotted name (package.module.function)")
    return names


def _sink_calls(value: Any, where: str) -> dict[str, str | int]:
    table = _calls(value, where)
    for name, argument in table.items():
        position = isinstance(argument, int) and not isinstance(argument, bool) and argument >= 0
        if not position and not (isinstance(argument, str) and argument.isidentifier()):
            raise UsageError(
                f"{where} {name!r} must be the name of an argument or its position from 0, got {_shown(argument)}"
            )
    return table


def _kinds(value: Any, where: str) -> dict[str, str]:
    table = _calls(value, where)
    for name, words in table.items():
        if not isinstance(words, str):
            raise UsageError(f"{where} {name!r} must be a kind such as 'clock' or 'clock:second', got {_shown(words)}")
        kind, granularity = split_kind(words)
        for word, known, what in ((kind, KINDS, "kind"), (granularity, GRANULARITIES, "granularity")):
            if word is not None and word not in known:
                raise UsageError(f"{where} {name!r}: unknown {what} {_shown(word)}; {closest(word, known)}")
    return table


_READERS: dict[str, Reader] = {
    "select": _strings,
    "ignore": _strings,
    "extend-select": _strings,
    "per-file-ignores": _ignores,
    "exclude": _globs,
    "extend-exclude": _globs,
    "tests": _flag,
    "baseline": _path,
    "rules": _strings,
    "prompt-names": _expressions,
    "safe-names": _expressions,
    "sink-keywords": _keywords,
    "sink-calls": _sink_calls,
    "sources": _kinds,
    "sanitizers": _dotted,
    "flags": _kinds,
}
