"""A report's JSON form without prompt text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pytest_cachesafe.report.visible import Redact, redact

__all__ = ["PROMPT_TEXT", "redacted"]

# Keys of reports that hold prompt text, in every kind of report.
PROMPT_TEXT = frozenset(("before", "after", "lead", "a", "b", "text", "detail", "value"))


def redacted(value: Any, mode: str) -> Any:
    """The same with every text under a prompt-text key shortened to its length, or length and checksum."""
    if mode == "none":
        return value
    if isinstance(value, Mapping):
        return {
            key: redact(item, cast("Redact", mode))
            if key in PROMPT_TEXT and isinstance(item, str)
            else redacted(item, mode)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redacted(item, mode) for item in value]
    return value
