"""The metadata of a GGUF file, read with the standard library.

Layout: the GGUF specification in ggml's documentation, versions 2 and 3, little endian. The usual readers need numpy
or torch, which a tokenizer does not.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any

from pytest_cachesafe.prompt import UsageError

__all__ = ["GGUF_VERSIONS", "read_metadata"]

GGUF_VERSIONS = (2, 3)
# struct letters of the value types of fixed size: integers of 8 to 64 bits, float, bool, double.
_FIXED = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING = 8
_ARRAY = 9


class _Cursor:
    """Reads values one after the other; every length is checked by the slice or by struct, none is trusted."""

    def __init__(self, blob: mmap.mmap) -> None:
        self.blob = blob
        self.at = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self.blob, self.at)
        self.at += struct.calcsize(layout)
        return values

    def string(self) -> str:
        (length,) = self.take("<Q")
        end = self.at + length
        if end > len(self.blob):
            raise EOFError
        raw = self.blob[self.at : end]
        self.at = end
        return raw.decode("utf-8")

    def value(self, kind: int) -> Any:
        if kind in _FIXED:
            return self.take("<" + _FIXED[kind])[0]
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            raise ValueError(f"value type {kind} is unknown")
        inner, count = self.take("<IQ")
        if inner in _FIXED:
            if count * struct.calcsize(_FIXED[inner]) > len(self.blob) - self.at:
                raise EOFError
            return list(self.take(f"<{count}{_FIXED[inner]}"))
        # A list inside a list takes at least 12 bytes, a string at least 8: a larger count cannot be true.
        if count * 8 > len(self.blob) - self.at:
            raise EOFError
        if inner == _ARRAY:
            raise ValueError("arrays inside arrays are not used by any model known here")
        return [self.value(inner) for _ in range(count)]


def read_metadata(path: Path) -> dict[str, Any]:
    """Every metadata key with its value, arrays as lists; tensor data is not touched.

    Raises:
        UsageError: not a GGUF file of version 2 or 3, or damaged.
    """
    try:
        with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as blob:
            cursor = _Cursor(blob)
            magic, version, _tensors, keys = cursor.take("<4sIQQ")
            if magic != b"GGUF":
                raise UsageError(f"{path} is not a GGUF file: it does not begin with the letters GGUF")
            if version not in GGUF_VERSIONS:
                raise UsageError(f"{path} is GGUF version {version} or big endian; versions 2 and 3 can be read")
            found: dict[str, Any] = {}
            for _ in range(keys):
                key = cursor.string()
                (kind,) = cursor.take("<I")
                found[key] = cursor.value(kind)
            return found
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    # mmap raises ValueError for an empty file, struct.error and EOFError stand for a file that ends too early.
    except (ValueError, EOFError, struct.error) as error:
        raise UsageError(f"{path} is a damaged GGUF file: {error or 'it ends too early'}") from error
