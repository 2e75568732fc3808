"""The lines of a log as bytes, in bounded memory: plain or gzip, a file or standard input."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from pytest_cachesafe.engines.trace.entry import BadEntry
from pytest_cachesafe.usage import UsageError

__all__ = ["LONGEST_LINE", "LogFile"]

# A million token ids take about 7 MB, a request with pictures may take more; what is longer is no request.
LONGEST_LINE = 32 * 2**20
_GZIP_MAGIC = b"\x1f\x8b"


class LogFile:
    """An opened log; `lines()` gives its lines once."""

    def __init__(self, path: str, longest: int = LONGEST_LINE) -> None:
        """Open a log; `-` is standard input. gzip is recognised by its first bytes, whatever the name says.

        Raises:
            UsageError: missing, a directory, unreadable.
        """
        self.name = "standard input" if path == "-" else path
        self.longest = longest
        # Lines so far, blank ones included; and a checksum of all bytes, where one is wanted before they are read.
        self.count = 0
        self.digest: Any = None
        # Bytes in the file, as it is on the disk; None where that is not known.
        self.size: int | None = None
        self._raw = self._open(path)
        buffered = io.BufferedReader(cast("io.RawIOBase", self._raw), 2**18)
        self._stream: IO[bytes] = buffered
        try:
            if buffered.peek(2)[:2] == _GZIP_MAGIC:
                self._stream = cast("IO[bytes]", gzip.GzipFile(fileobj=buffered))
        except OSError as error:
            raise UsageError(f"{self.name}: cannot be read: {error.strerror or error}") from None

    def _open(self, path: str) -> IO[bytes]:
        if path == "-":
            if sys.stdin is None:
                raise UsageError("standard input is closed; name a file, or pipe the log in")
            stream = sys.stdin.buffer
            return cast("IO[bytes]", getattr(stream, "raw", stream))
        try:
            if Path(path).is_dir():
                raise UsageError(f"{path}: is a directory; name a file in it")
            raw = Path(path).open("rb", buffering=0)  # noqa: SIM115
            self.size = Path(path).stat().st_size or None
        except FileNotFoundError:
            raise UsageError(f"{path}: no such file") from None
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
        return cast("IO[bytes]", raw)

    @property
    def position(self) -> int | None:
        """Bytes of the file that were read so far; None for a stream that cannot tell."""
        try:
            return self._raw.tell()
        except (OSError, ValueError, AttributeError):
            return None

    def lines(self) -> Iterator[tuple[int, bytes | BadEntry]]:
        """Number (from 1) and bytes of every line that is not blank.

        A line that is too long is passed over and given as a `BadEntry`; so is the end of a file that breaks off in
        the middle of its compressed data.

        Raises:
            UsageError: the file cannot be read any further.
        """
        number = 0
        readline, limit = self._stream.readline, self.longest + 1
        try:
            while line := readline(limit):
                self.count = number = number + 1
                if self.digest is not None:
                    self.digest.update(line)
                if len(line) == limit and not line.endswith(b"\n"):
                    while (rest := readline(2**20)) and not rest.endswith(b"\n"):
                        if self.digest is not None:
                            self.digest.update(rest)
                    yield number, BadEntry(f"longer than {self.longest // 2**20} MiB; no request is that long")
                elif not line.isspace():
                    yield number, line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield number + 1, BadEntry(f"the compressed data break off here ({error})")
        except OSError as error:
            raise UsageError(f"{self.name}: cannot be read after line {number}: {error.strerror or error}") from None

    def close(self) -> None:
        """Standard input stays open."""
        if self.name != "standard input":
            self._stream.close()
            self._raw.close()
