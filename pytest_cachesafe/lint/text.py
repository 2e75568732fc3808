"""The rows of a source file as Python counts them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

__all__ = ["decoded", "read_lines", "split_rows"]

# A form feed, U+2028 and their like end no row, unlike in str.splitlines.
_ROW_END = re.compile(r"\r\n|\r|\n")


def split_rows(text: str) -> list[str]:
    """The rows without their ends; as many as there are ends, plus one."""
    return _ROW_END.split(text)


def decoded(data: bytes) -> str:
    """The text as Python reads it, without a byte order mark; what cannot be decoded shows as U+FFFD."""
    head = data[:400]
    if head.startswith(b"\xef\xbb\xbf") or b"coding" not in head:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    import io
    import tokenize

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding, "replace").removeprefix("\ufeff")
    except (SyntaxError, LookupError, ValueError):
        return data.decode("utf-8", "replace")


def read_lines(path: str | os.PathLike[str], data: bytes | None = None) -> Sequence[str] | None:
    """The rows of a file, of `data` where its text is not on disk; None where it cannot be read."""
    if data is None:
        try:
            with open(path, "rb") as file:
                data = file.read()
        except (OSError, ValueError):
            return None
    return split_rows(decoded(data))
