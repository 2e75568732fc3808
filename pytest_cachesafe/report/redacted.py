"""A report's JSON form without prompt text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pytest_cachesafe.report.visible import Redact, redact

__all__ = ["INNER_KEYS", "PROMPT_TEXT", "redacted"]

# Keys of reports that hold prompt text, in every kind of report. People quote prompts in reasons to allow a pair.
PROMPT_TEXT = frozenset(("before", "after", "lead", "a", "b", "text", "detail", "value", "raised", "allowed"))
# Names inside arguments and results are prompt content as well.
INNER_KEYS = re.compile(r"(\.(?:arguments|input|args|response|functionResponse|metadata))[.\[][^\s,;)]+")


def redacted(value: Any, mode: str) -> Any:
    """The same with every text under a prompt-text key shortened to its length, or length and checksum.

    Sentences that quote such a text have it shortened as well.
    """
    if mode == "none":
        return value
    kept = cast("Redact", mode)
    # Longest first: one may be part of another.
    quoted = {text: redact(text, kept) for text in sorted(set(_quoted(value)), key=len, reverse=True)}
    return _without(value, kept, quoted)


def _quoted(value: Any) -> Iterator[str]:
    """Texts that sentences of the same report may hold: a template's own words, the beginning of what it left out."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            beginning = key == "name" and value.get("what") not in (None, "tools")
            if isinstance(item, str) and item and (key == "raised" or beginning):
                yield f"({item})" if beginning else item
            else:
                yield from _quoted(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _quoted(item)


def _without(value: Any, mode: Redact, quoted: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        pair = "a" in value and "b" in value
        return {
            key: redact(item, mode)
            if isinstance(item, str)
            and (
                key in PROMPT_TEXT
                or (key == "reason" and pair)
                or (key == "name" and value.get("what") not in (None, "tools"))
            )
            else _without(item, mode, quoted)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_without(item, mode, quoted) for item in value]
    if isinstance(value, str):
        for text, instead in quoted.items():
            value = value.replace(text, instead)
        return INNER_KEYS.sub(r"\1.…", value)
    return value
