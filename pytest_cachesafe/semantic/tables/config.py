"""`[tool.cachesafe.semantic]` of a `pyproject.toml`, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.configuration import closest, file_stamp, read_table
from pytest_cachesafe.semantic.tables.tables import KEYS, Tables
from pytest_cachesafe.usage import UsageError

__all__ = ["read_tables", "tables_from"]


def read_tables(path: str) -> Tables:
    """The shipped tables with the entries of a `pyproject.toml`; the shipped ones where the file or section is missing.

    Raises:
        UsageError: what cannot be read, named by file, key and what to write instead.
    """
    stamp = file_stamp(path)
    table = read_table(path, stamp) if stamp else None
    section = (table or {}).get("semantic")
    return Tables.default() if section is None else tables_from(section, path)


def tables_from(section: object, where: str) -> Tables:
    """Tables of the parsed section.

    Raises:
        UsageError: an unknown key, or an entry that is not of the form `Tables.with_user` takes.
    """
    if not isinstance(section, Mapping):
        raise UsageError(
            f"{where}: tool.cachesafe.semantic must be a table: write [tool.cachesafe.semantic] and its keys"
        )
    for key in section:
        if key not in KEYS:
            raise UsageError(f"{where}: [tool.cachesafe.semantic] has no key {key!r}; {closest(key, KEYS)}")
    for key, value in section.items():
        if not isinstance(value, dict if key == "units" else list):
            form = "a table of names" if key == "units" else "a list"
            raise UsageError(f"{where}: [tool.cachesafe.semantic] {key} must be {form}, not {value!r}")
    given: dict[str, Any] = dict(section)
    try:
        return Tables.default().with_user(**given)
    except UsageError as error:
        raise UsageError(f"{where}: [tool.cachesafe.semantic] {str(error).removeprefix('semantic tables: ')}") from None
