"""In one line: where a changing value was built, what was written there, and what the linter says of that line."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["told"]

# Causes whose value some line of code made; others were edited, reordered or left out.
_MADE = frozenset(("timestamp", "date", "time", "id", "hash", "number", "path", "host", "locale", "user"))


@lru_cache(maxsize=256)
def told(lead: str, before: str, cause: str | None, root: str, near: str = "") -> str | None:
    """ "agent.py:7, now_text() (CSF101 clock-in-prefix)"; None where no line is known.

    Args:
        lead: shared text in front of the divergence; before: what stood behind it.
        root: the project's folder; near: a file whose folder is looked through in any case.
    """
    from pytest_cachesafe.source.built import built_at
    from pytest_cachesafe.source.rule import rule_at

    if cause not in _MADE or not lead + before:
        return None
    found = built_at(lead + before, len(lead), root, near)
    if found is None:
        return None
    words = f"{found}, {found.value}"
    if not found.filename.endswith(".py"):
        return words
    rule = rule_at(found.filename, found.row, root)
    return words if rule is None else f"{words} ({rule.code}: {rule.help})" if rule.help else f"{words} ({rule.code})"
