"""Read what a user hands over: UTF-8 text, JSON, JSON lines. Every fault is one line with file and place."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pytest_cachesafe.prompt import UsageError

__all__ = ["as_requests", "parse_json", "read_json", "read_text"]


def read_text(path: str) -> str:
    """The text of a file, or of standard input for `-`; a byte order mark is dropped.

    Raises:
        UsageError: missing, a directory, unreadable, not UTF-8.
    """
    name = _name(path)
    if path == "-" and sys.stdin is None:
        raise UsageError("standard input is closed; name a file, or pipe the JSON in")
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{name}: no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{name}: is a directory; name a file in it") from None
    except (OSError, ValueError) as error:
        if Path(path).is_dir():
            raise UsageError(f"{name}: is a directory; name a file in it") from None
        raise UsageError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wide = "; it looks like UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise UsageError(f"{name}: not UTF-8 (byte {error.start}){wide}; save it as UTF-8") from None


def read_json(path: str) -> Any:
    """One JSON value, or the list of values of a JSON-lines file.

    Raises:
        UsageError: as `read_text`; bad JSON (line and column), NaN, a key twice in one object, nothing in it.
    """
    return parse_json(read_text(path), path)


def parse_json(text: str, path: str) -> Any:
    """The JSON in a text that was read from `path`; see `read_json`."""
    name = _name(path)
    if not text.strip():
        raise UsageError(f"{name}: is empty; a JSON chat or request body is meant")
    lines = [(i, line) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
    several = len(lines) > 1 and (path.endswith((".jsonl", ".ndjson")) or _stands_alone(lines[0][1]))
    if several:
        return [_parse(line, name, row) for row, line in lines]
    return _parse(text, name, 1)


def _stands_alone(line: str) -> bool:
    """Whether the first line of a longer file is a whole object or list: then each line is one."""
    try:
        return isinstance(json.loads(line), (dict, list))
    except (ValueError, RecursionError):
        return False


def _parse(text: str, name: str, row: int) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}: not JSON, line {row + error.lineno - 1} column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise UsageError(f"{name}: line {row}: nested too deeply") from None
    except ValueError as error:
        at = f"line {row}: " if row > 1 else ""
        raise UsageError(f"{name}: {at}{error}") from None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON; write null or a number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands twice in one object; readers disagree which one counts")
    return found


def as_requests(value: Any, path: str) -> Any:
    """What `stable` checks: `{"requests": […]}` unwrapped, everything else as it is.

    Raises:
        UsageError: a lone string or number, or an empty list of requests.
    """
    name = _name(path)
    if isinstance(value, dict) and isinstance(value.get("requests"), list):
        if not value["requests"]:
            raise UsageError(f"{name}: requests is an empty list: nothing to compare")
        return value["requests"]
    if isinstance(value, (str, int, float, bool)) or value is None:
        kind = "a lone string" if isinstance(value, str) else json.dumps(value)
        raise UsageError(f"{name}: {kind} is no chat; a message list, a request body or a list of them is meant")
    return value


def _name(path: str) -> str:
    return "standard input" if path == "-" else path
