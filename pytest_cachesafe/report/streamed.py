"""Results that may be as long as the log they are about: rows wait on the disk, files are whole or untouched."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from json.encoder import encode_basestring_ascii
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any

from pytest_cachesafe.report.jsonout import to_json
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.engines.replay.run import Row

__all__ = ["RowSpool", "replacing"]

# Rows that wait in memory, in bytes.
_IN_MEMORY = 2**22
_CHUNK = 2**18


class RowSpool:
    """Rows of a replay on their way into a JSON result, one a line."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
        self._between = b"\n    "

    def __enter__(self) -> RowSpool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, row: Row) -> None:
        """Keep a row.

        Raises:
            UsageError: the folder for temporary files is full.
        """
        try:
            self._file.write(self._between + _json(row))
        except OSError as error:
            raise UsageError(f"cannot keep the rows per request: {error.strerror or error}; try --summary") from None
        self._between = b",\n    "

    def write(self, head: Mapping[str, Any], path: str | None) -> None:
        """The result with `per_request` as its last key, to a file (whole or untouched) or to standard output.

        Raises:
            UsageError: it cannot be written.
        """
        if path is not None and path != "-":
            with replacing(path) as file:
                for chunk in self._chunks(head):
                    file.write(chunk)
            return
        if sys.stdout is None:
            raise UsageError("standard output is closed; write the result to a file with --output-file FILE")
        try:
            for chunk in self._chunks(head):
                # All of it is ASCII.
                sys.stdout.write(chunk.decode("ascii"))
            sys.stdout.flush()
        except BrokenPipeError:
            # `cachesafe … | head`: the reader has enough; what is still in the buffer goes nowhere.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            raise UsageError(f"cannot write to standard output: {error.strerror or error}") from None

    def _chunks(self, head: Mapping[str, Any]) -> Iterator[bytes]:
        yield to_json(head).rstrip().removesuffix("}").rstrip().encode("ascii") + b',\n  "per_request": ['
        self._file.seek(0)
        while chunk := self._file.read(_CHUNK):
            yield chunk
        yield b"\n  ]\n}\n"


def _json(row: Row) -> bytes:
    """As `Row.as_dict`, several times as fast."""
    text = (
        f'{{"request": {row.request}, "line": {row.line}, "tokens": {row.tokens}, '
        f'"cached_tokens": {row.cached_tokens}, "hit_blocks": {row.hit_blocks}, "admitted": true, '
        f'"waited": {row.waited}, "miss_reason": {_text(row.miss_reason)}, "tag": {_text(row.tag)}, '
        f'"tenant": {_text(row.tenant)}'
    )
    if row.conversation is not None:
        text += f', "conversation": {_text(row.conversation)}'
    if row.replica is not None:
        text += f', "replica": {_text(row.replica)}'
    return (text + "}").encode("ascii")


def _text(value: str | None) -> str:
    if value is None:
        return "null"
    # What a CI would read as a command is escaped; a JSON reader sees the same.
    return encode_basestring_ascii(value).replace("##", "\\u0023#")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of `path` when all went well; otherwise nothing is left of it.

    Raises:
        UsageError: the folder is missing or not writable, or `path` is a folder.
    """
    target = Path(os.path.realpath(path))
    temporary = None
    try:
        if target.is_dir():
            raise UsageError(f"cannot write {os.fspath(path)!r}: it is a directory; name a file")
        if target.exists() and not target.is_file():
            with target.open("wb") as device:
                yield device
            return
        temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(handle, "wb") as file:
            yield file
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise UsageError(f"cannot write {os.fspath(path)!r}: {error.strerror or error}") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
