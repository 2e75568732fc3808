"""JSON out of a text: a value, one value a line, or values one after the other as exporters print them."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from pytest_cachesafe.usage import UsageError

__all__ = ["decoded", "json_values", "read_bytes"]

_BLANK = re.compile(r"[ \t\r\n]*")


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """A file's content, standard input for "-".

    Raises:
        UsageError: missing, a directory, unreadable.
    """
    if path == "-":
        if sys.stdin is None:
            raise UsageError("standard input is closed; name a file, or pipe the requests in")
        return sys.stdin.buffer.read()
    name = os.fspath(path)
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{name}: no such file") from None
    except (OSError, ValueError) as error:
        if Path(path).is_dir():
            raise UsageError(f"{name}: is a directory; name a file in it") from None
        raise UsageError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def decoded(data: bytes, name: str) -> str:
    """UTF-8 text, without a byte order mark.

    Raises:
        UsageError: compressed, or not UTF-8.
    """
    if data[:2] == b"\x1f\x8b":
        raise UsageError(f"{name}: is compressed with gzip; unpack it first")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wide = "; it looks like UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise UsageError(f"{name}: not UTF-8 text (byte {error.start}){wide}; requests are read as JSON") from None


def json_values(text: str, name: str) -> list[tuple[int, Any]]:
    """(number of its first line, value) of each JSON value in a text.

    Raises:
        UsageError: not JSON, with the line; a last line that is cut off.
    """
    lines = [(row, line) for row, line in enumerate(text.split("\n"), 1) if not line.isspace() and line]
    if len(lines) > 1 and _whole(lines[0][1]):
        # `split` and not `splitlines`: U+2028 and its like may stand in a JSON string.
        complete = text.endswith("\n")
        return [
            (row, _parse(line, name, row, cut=n == len(lines) - 1 and not complete))
            for n, (row, line) in enumerate(lines)
        ]
    return _one_after_the_other(text, name)


def _whole(line: str) -> bool:
    """Whether the first of several lines is a value of its own: then each of them is one."""
    try:
        return isinstance(json.loads(line), (dict, list))
    except (ValueError, RecursionError):
        return False


def _parse(line: str, name: str, row: int, *, cut: bool) -> Any:
    try:
        return json.loads(line, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        # Where the text ends early, the parser stops at its end or at the string that does not.
        if cut and (error.pos >= len(line.rstrip()) or error.msg.startswith("Unterminated")):
            raise UsageError(
                f"{name}: line {row} is cut off: its writer was interrupted; write the file again, or delete it"
            ) from None
        raise UsageError(f"{name}: not JSON, line {row} column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise UsageError(f"{name}: line {row}: nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"{name}: line {row}: {error}") from None


def _one_after_the_other(text: str, name: str) -> list[tuple[int, Any]]:
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    out: list[tuple[int, Any]] = []
    at = _skip(text, 0)
    while at < len(text):
        row = text.count("\n", 0, at) + 1
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if out and error.pos >= len(text.rstrip()):
                raise UsageError(f"{name}: the value that begins on line {row} is cut off") from None
            raise UsageError(f"{name}: not JSON, line {error.lineno} column {error.colno}: {error.msg}") from None
        except RecursionError:
            raise UsageError(f"{name}: line {row}: nested too deeply") from None
        except ValueError as error:
            raise UsageError(f"{name}: line {row}: {error}") from None
        out.append((row, value))
        at = _skip(text, end)
    return out


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON; write null or a number")
