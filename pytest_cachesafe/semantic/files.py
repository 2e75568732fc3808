"""Prompts, pairs and logs from files: text with a prompt a line, or JSON lines, plain or gzip. Faults name the line."""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from pytest_cachesafe.semantic.prompts import PromptSet, checked
from pytest_cachesafe.usage import UsageError

__all__ = ["as_name", "json_lines", "prompt_in", "read_log", "read_pairs", "read_prompts"]

# Keys that hold the text of a prompt, in the order they are looked for.
_KEYS = ("prompt", "text", "query", "question", "input", "content")
_JSON_LINES = (".jsonl", ".ndjson")
_GZIP_MAGIC = b"\x1f\x8b"


def read_prompts(path: str, each: Callable[[Any, int], object] | None = None) -> PromptSet:
    """Prompts of a file: a prompt a line (.txt), JSON lines with a text or an object with "prompt" each (.jsonl), or a
    list of such (.json).

    Args:
        each: called with each line as it stands there, a text or a request, and its number.

    Raises:
        UsageError: missing, unreadable, not UTF-8, a blank line or prompt, a prompt that is no text (with its line).
    """
    name = as_name(path)
    found = PromptSet(unit="line", name=name)
    ending = path.lower().removesuffix(".gz")
    if ending.endswith(".json"):
        return _json_list(path, each)
    if ending.endswith(_JSON_LINES):
        for number, value in json_lines(path):
            where = f"{name}: line {number}"
            found.add(checked(prompt_in(value, where), where), number)
            if each is not None:
                each(value, number)
        return found
    blank = 0
    for number, line in _lines(path):
        if not line.strip():
            # Empty lines at the end are how editors save a file.
            blank = blank or number
            continue
        if blank:
            raise UsageError(
                f"{name}: line {blank} is blank: remove it; prompts of several lines go into a .jsonl file"
            )
        found.add(checked(line, f"{name}: line {number}"), number)
        if each is not None:
            each(line, number)
    return found


def _json_list(path: str, each: Callable[[Any, int], object] | None) -> PromptSet:
    """One JSON list of prompts; these have no lines of their own and are counted."""
    name = as_name(path)
    try:
        value = json.loads("\n".join(line for _, line in _lines(path)), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}: line {error.lineno} column {error.colno}: not JSON: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise UsageError(f"{name}: {error}") from None
    if not isinstance(value, list):
        raise UsageError(f"{name}: a list of prompts is meant; a prompt a line goes into a .jsonl file")
    found = PromptSet(name=name)
    for index, item in enumerate(value):
        where = f"{name}: prompt {index}"
        found.add(checked(prompt_in(item, where), where), index)
        if each is not None:
            each(item, index)
    return found


def read_pairs(path: str) -> list[tuple[int, Mapping[str, Any]]]:
    """Objects with "a" and "b" of a JSON-lines file, with their lines.

    Raises:
        UsageError: as `read_prompts`; no object, or no "a" or "b" (with its line); no line at all.
    """
    name = as_name(path)
    found = []
    for number, value in json_lines(path):
        where = f"{name}: line {number}"
        if not isinstance(value, Mapping) or "a" not in value or "b" not in value:
            raise UsageError(f'{where}: an object with "a" and "b" is meant')
        checked(value["a"], f"{where}: prompt a")
        checked(value["b"], f"{where}: prompt b")
        found.append((number, value))
    if not found:
        raise UsageError(f"{name}: is empty; nothing was compared")
    return found


def read_log(path: str, most: int, each: Callable[[Any, int], object] | None = None) -> tuple[PromptSet, int]:
    """Prompts of a log, read line by line; only distinct ones are held.

    Args:
        most: distinct prompts that are held.
        each: called with the JSON value of each line that holds a prompt, and the number of the line.

    Returns:
        The prompts, and how many lines held one that is not among them.

    Raises:
        UsageError: see `read_prompts`.
    """
    name = as_name(path)
    found = PromptSet(unit="line", name=name)
    left_out = 0
    for number, value in json_lines(path):
        where = f"{name}: line {number}"
        text = checked(prompt_in(value, where), where)
        if each is not None:
            each(value, number)
        if len(found) < most or text in found:
            found.add(text, number)
        else:
            left_out += 1
    return found, left_out


def prompt_in(value: Any, where: str) -> str:
    """The prompt that a line holds: a text, one of the usual keys, or the last user message.

    Raises:
        UsageError: none is found.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        for key in _KEYS:
            if isinstance(value.get(key), str):
                return str(value[key])
            if key == "prompt" and key in value:
                raise UsageError(f"{where}: prompt is not a text")
        if isinstance(value.get("messages"), list):
            return _last_user(value["messages"], where)
        raise UsageError(f"{where}: no prompt in it; a text, or an object with {', '.join(_KEYS[:4])} or messages")
    raise UsageError(f"{where}: a prompt is text, not {json.dumps(value)[:40]}")


def _last_user(messages: list[Any], where: str) -> str:
    for message in reversed(messages):
        if isinstance(message, Mapping) and message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return content
            if isinstance(content, list):
                parts = [part.get("text") for part in content if isinstance(part, Mapping)]
                if not (texts := [part for part in parts if isinstance(part, str)]):
                    raise UsageError(f"{where}: the last message of the user's holds no text, only images or the like")
                return "\n".join(texts)
    raise UsageError(f"{where}: no message of the user's in it")


def json_lines(path: str) -> Iterator[tuple[int, Any]]:
    """The JSON values of a file, one a line, with their lines; empty lines are skipped.

    Raises:
        UsageError: missing, unreadable, not UTF-8, not JSON (with its line).
    """
    name = as_name(path)
    for number, line in _lines(path):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line, parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            raise UsageError(f"{name}: line {number} column {error.colno}: not JSON: {error.msg}") from None
        except RecursionError:
            raise UsageError(f"{name}: line {number}: nested too deeply") from None
        except ValueError as error:
            raise UsageError(f"{name}: line {number}: {error}") from None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON; write null or a number")


def as_name(path: str) -> str:
    """A file in messages."""
    return "standard input" if path == "-" else path


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    name = as_name(path)
    if path == "-":
        if sys.stdin is None:
            raise UsageError("standard input is closed; name a file, or pipe the prompts in")
        yield _unpacked(sys.stdin.buffer)
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115
    except FileNotFoundError:
        raise UsageError(f"{name}: no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{name}: is a directory; name a file in it") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    with file:
        yield _unpacked(file)


def _unpacked(file: Any) -> IO[bytes]:
    """gzip is recognised by its first bytes, whatever the name says."""
    packed = hasattr(file, "peek") and file.peek(2)[:2] == _GZIP_MAGIC
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if packed else cast("IO[bytes]", file)


def _bytes(file: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        for number, data in enumerate(file, 1):
            yield number, data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{name}: the compressed data break off after line {number} ({error})") from None


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Lines from 1, without their ends; only LF and CR LF end a line."""
    name = as_name(path)
    with _opened(path) as file:
        for number, data in _bytes(file, name):
            if number == 1:
                if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
                    raise UsageError(f"{name}: not UTF-8, it looks like UTF-16; save it as UTF-8")
                data = data.removeprefix(b"\xef\xbb\xbf")
            try:
                line = data.decode("utf-8")
            except UnicodeDecodeError as error:
                raise UsageError(
                    f"{name}: line {number}: not UTF-8 (byte {data[error.start]:#04x} at column {error.start + 1}); "
                    "save the whole file as UTF-8"
                ) from None
            if "\0" in line:
                raise UsageError(f"{name}: line {number}: holds a null character: is it a text file in UTF-8?")
            yield number, line.rstrip("\n").rstrip("\r")
