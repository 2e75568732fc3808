"""JSON and text for machines, in forms that no terminal, CI log or web page obeys."""

from __future__ import annotations

import json
import re
from typing import Any

from pytest_cachesafe.report.visible import visible

__all__ = ["json_text", "prose"]

# Inside a JSON string a CI would still read the first as a command and a page the second as markup; the escapes mean
# the same to a JSON reader.
_COMMAND = re.compile(r"(##(?:vso|teamcity)?)\[", re.IGNORECASE)


def json_text(value: Any) -> str:
    """The value as indented ASCII JSON with a line end; lone surrogates survive as escapes."""
    text = json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False)
    return _COMMAND.sub(r"\1\\u005b", text).replace("<", "\\u003c") + "\n"


def prose(text: str) -> str:
    """Text of several lines for a machine that shows it to people: hidden characters become escapes."""
    return visible(text, keep_newlines=True)
