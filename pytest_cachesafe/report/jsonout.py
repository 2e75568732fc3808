"""JSON for machines."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["SCHEMA", "to_json"]

SCHEMA = 1
# Inside a JSON string a CI would still read these as commands; the escape means the same to a JSON reader.
_COMMAND = re.compile(r"(##(?:vso|teamcity)?)\[", re.IGNORECASE)


def to_json(result: Mapping[str, Any]) -> str:
    """One JSON object in ASCII, `schema` first, keys in the order given, with a line end.

    Lone surrogates survive as escapes.

    Raises:
        TypeError, ValueError: the object holds something that is not JSON (NaN included): a fault of ours.
    """
    text = json.dumps({"schema": SCHEMA, **result}, indent=2, ensure_ascii=True, allow_nan=False)
    return _COMMAND.sub(r"\1\\u005b", text) + "\n"
