"""What a report says as plain JSON values, with the lines that built what changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["locate", "plain"]

# Each may read the project's files; what stands behind these is not shown first anyway.
_MOST = 8


def plain(value: Any) -> Any:
    """The same in values that every writer can write, and that one process can send to another.

    Lone surrogates become escapes, and numbers that JSON does not have become None.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, Mapping):
        return {plain(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return plain(str(value))


def locate(data: Mapping[str, Any], root: str) -> None:
    """Put under `built` of each divergence the line that built the changing value, where the source shows it.

    Args:
        data: a report in JSON form, before it is redacted: text leads to the line.
        root: the project's folder.
    """
    from pytest_cachesafe.source import told

    seen: set[tuple[str, str]] = set()
    for found in _divergences(data):
        lead, before = found["lead"], str(found.get("before") or "")
        if (lead, before) not in seen and len(seen) >= _MOST:
            return
        seen.add((lead, before))
        words = told(lead, before, found.get("cause"), root)
        if words is not None:
            found["built"] = words


def _divergences(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        if isinstance(data.get("lead"), str) and data["lead"]:
            yield data
        for item in data.values():
            yield from _divergences(item)
    elif isinstance(data, list):
        for item in data:
            yield from _divergences(item)
