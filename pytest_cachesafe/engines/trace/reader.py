"""A log as a stream of `Entry`s, with the lines that are none counted and named."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any, NoReturn

from pytest_cachesafe.engines.trace.entry import BadEntry, Entry
from pytest_cachesafe.engines.trace.formats import WORDS, chat_reader, format_of, read_ids, read_mooncake
from pytest_cachesafe.engines.trace.lines import LONGEST_LINE, LogFile
from pytest_cachesafe.usage import UsageError

__all__ = ["FORMATS", "Trace"]

FORMATS = ("auto", *WORDS)
# Lines that are named; the others are counted.
_NAMED = 1000


class Trace:
    """Iterate over it once: it reads one line, or takes one item, at a time.

    `skipped` counts what was no request; `bad` names the first of them.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Iterable[Any],
        trace_format: str | None = None,
        model: Any = None,
        strict: bool = False,
        longest: int = LONGEST_LINE,
    ) -> None:
        """
        Args:
            source: path of a log (`-` is standard input), or an iterable of token-id lists and dicts.
            trace_format: one of `FORMATS`; None and "auto" go by the first line that can be read.
            model: whose template and tokenizer render chats: name, folder, `.gguf`, or a `ChatTemplate`.
            strict: raise at the first line that is no request.
            longest: bytes that a line may have.

        Raises:
            UsageError: the file cannot be read, or the format is unknown.
        """
        if trace_format not in (None, *FORMATS):
            raise UsageError(f"unknown trace format {trace_format!r}; known: {', '.join(FORMATS)}")
        if not isinstance(source, (str, os.PathLike, Iterable)):
            raise UsageError(f"the trace is {type(source).__name__}: give the path of a log, or a list of requests")
        self.format: str | None = None if trace_format == "auto" else trace_format
        self.file = LogFile(os.fspath(source), longest) if isinstance(source, (str, os.PathLike)) else None
        self.name = self.file.name if self.file is not None else "the trace"
        self.strict = strict
        self.skipped = 0
        # Lines or items so far, whoever counts them.
        self._seen = 0
        self.bad: list[tuple[int, str]] = []
        # Which of the lines that are no request are counted here; None: all. The others are somebody else's.
        self.owns: Callable[[int], bool] | None = None
        self._items = None if self.file is not None else source
        self._model = model
        self._read: Callable[[int, Any], Entry] | None = None

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self.file is not None:
            self.file.close()

    def take_fingerprint(self) -> None:
        """Ask for `fingerprint`, before the first line is read."""
        if self.file is not None:
            self.file.digest = blake2b(digest_size=16)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What tells this log from another one, once it is read: its lines, and a checksum of a file's bytes."""
        if self.file is None:
            return {"lines": self._seen, "blake2b": None}
        return {"lines": self.file.count, "blake2b": None if self.file.digest is None else self.file.digest.hexdigest()}

    def __iter__(self) -> Iterator[Entry]:
        try:
            for line, value in self._values():
                try:
                    if isinstance(value, BadEntry):
                        raise value
                    entry = self._entry(line, value)
                except BadEntry as error:
                    if self.strict or self.owns is None or self.owns(line):
                        self.skip(line, str(error))
                else:
                    yield entry
        finally:
            self.close()

    def skip(self, line: int, words: str) -> None:
        """Count a line that cannot be used.

        Raises:
            UsageError: strict.
        """
        if self.strict:
            raise UsageError(f"{self.place(line)}: {words}")
        self.skipped += 1
        if len(self.bad) < _NAMED:
            self.bad.append((line, words))

    def place(self, line: int) -> str:
        """How a line is named."""
        return f"{self.name}: {'line' if self.file is not None else 'item'} {line}"

    def _values(self) -> Iterator[tuple[int, Any]]:
        if self.file is None:
            for number, item in enumerate(self._items):  # type: ignore[arg-type]
                self._seen = number + 1
                yield number, item
            return
        decode = json.JSONDecoder(parse_constant=_no_constant).decode
        for line, data in self.file.lines():
            if isinstance(data, BadEntry):
                yield line, data
                continue
            try:
                yield line, decode(data.decode("utf-8-sig" if line == 1 else "utf-8"))
            except json.JSONDecodeError as error:
                yield line, BadEntry(f"not JSON (column {error.colno}: {error.msg}); one request a line is meant")
            except UnicodeDecodeError as error:
                yield line, BadEntry(f"not UTF-8 (byte {error.start})")
            except RecursionError:
                yield line, BadEntry("nested too deeply")
            except ValueError as error:
                yield line, BadEntry(str(error).split(";")[0])

    def _entry(self, line: int, value: Any) -> Entry:
        found = format_of(value)
        if self._read is None:
            if self.format is None:
                self.format = found
            self._read = self._reader(line)
        if found != self.format:
            raise BadEntry(f"{WORDS[found]} in a log of {WORDS[self.format or found]}")
        return self._read(line, value)

    def _reader(self, line: int) -> Callable[[int, Any], Entry]:
        if self.format == "ids":
            return read_ids
        if self.format == "mooncake":
            return read_mooncake
        if self._model is None:
            raise UsageError(
                f"{self.place(line)}: messages, and a cache works on token ids: name the model that renders them "
                "(--model M, model=…)"
            )
        return chat_reader(self._model)


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
