"""Embeddings kept on disk, by model and text hash: encoding is what takes the time.

A folder per model holds segments. Each is a file that is written once and put in place whole, so that readers need no
lock and a process that dies leaves nothing half done: a header, then rows of a text's key and its vector. No pickle;
what cannot be read, or is no unit vector, is made anew.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.models.cache_folder import CacheUnusable, cache_root, check_shared, writing

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["VectorStore"]

_MAGIC = b"CSVEC\x00\x01\x00"
_HEADER = 16
_KEY = 16
_SUFFIX = ".vec"
# Per model; MiniLM's vectors take 1.5 KB each.
_MOST_BYTES = 256 << 20
# More files than that are made into one, more models than that and the one not used for longest goes.
_MOST_SEGMENTS = 48
_MOST_MODELS = 8
# A stored vector is a unit vector to this precision, or damaged.
_NEAR_ONE = 1e-3


class VectorStore:
    """Unit vectors of one model, as far as they were kept.

    Args:
        model: what decides the vectors: checksums of the weights and of the settings, never a name alone.
    """

    def __init__(self, model: str, *, most_bytes: int = _MOST_BYTES) -> None:
        self._name = sha256(model.encode("utf-8")).hexdigest()[:32]
        self._most = most_bytes
        self._rows: dict[bytes, tuple[int, int]] | None = None
        self._segments: list[Array] = []

    def get(self, texts: Sequence[str]) -> dict[int, Array]:
        """Vectors that are kept, by the index of their text.

        Raises:
            UsageError: the cache folder is not the user's own (see `cache_root`).
        """
        import numpy as np

        rows = self._opened()
        found: dict[int, Array] = {}
        for index, text in enumerate(texts):
            place = rows.get(_key(text))
            if place is None:
                continue
            vector = np.array(self._segments[place[0]]["vector"][place[1]])
            # NaN fails the comparison as well.
            if abs(float(vector @ vector) - 1.0) <= _NEAR_ONE:
                found[index] = vector
        return found

    def put(self, texts: Sequence[str], vectors: Array) -> None:
        """Keep unit vectors, one row a text; where nothing can be written, nothing is kept."""
        rows = self._opened()
        new = [index for index, text in enumerate(texts) if _key(text) not in rows]
        if not new:
            return
        import numpy as np

        records = np.empty(len(new), dtype=_row_type(vectors.shape[1]))
        records["key"] = [np.void(_key(texts[index])) for index in new]
        records["vector"] = vectors[new]
        number = len(self._segments)
        self._segments.append(records)
        for row, index in enumerate(new):
            rows[_key(texts[index])] = (number, row)
        with suppress(CacheUnusable):
            cache_root()
            folder = self._folder()
            with writing(folder):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                _write(folder / f"{time.time_ns():020d}-{secrets.token_hex(4)}{_SUFFIX}", records)
                self._bound(folder)

    def _folder(self) -> Path:
        return cache_root(create=False) / "vectors" / self._name

    def _opened(self) -> dict[bytes, tuple[int, int]]:
        if self._rows is None:
            self._rows = {}
            folder = self._folder()
            if os.path.isdir(folder):
                check_shared(folder)
                for path in sorted(folder.glob(f"*{_SUFFIX}")):
                    segment = _read(path)
                    if segment is None:
                        # Another version's, damaged, or just thrown out by another process.
                        continue
                    number = len(self._segments)
                    self._segments.append(segment)
                    self._rows.update((key.tobytes(), (number, row)) for row, key in enumerate(segment["key"]))
        return self._rows

    def _bound(self, folder: Path) -> None:
        """Few files, few bytes, few models: the oldest go first."""
        files = sorted(folder.glob(f"*{_SUFFIX}"))
        if len(files) > _MOST_SEGMENTS:
            _merge(files[: _MOST_SEGMENTS // 2])
            files = sorted(folder.glob(f"*{_SUFFIX}"))
        sizes = [_size(file) for file in files]
        total = sum(sizes)
        for file, size in zip(files[:-1], sizes, strict=False):
            if total <= self._most:
                break
            file.unlink(missing_ok=True)
            total -= size
        os.utime(folder)
        others = sorted((path for path in folder.parent.iterdir() if path != folder), key=_used)
        for path in others[: max(0, len(others) + 1 - _MOST_MODELS)]:
            shutil.rmtree(path, ignore_errors=True)


def _key(text: str) -> bytes:
    return sha256(text.encode("utf-8")).digest()[:_KEY]


def _row_type(dimension: int) -> Any:
    import numpy as np

    return np.dtype([("key", f"V{_KEY}"), ("vector", "<f4", (dimension,))])


def _read(path: Path) -> Array | None:
    """The rows of a segment, mapped, not read; None where it is none of ours."""
    import numpy as np

    try:
        with path.open("rb") as file:
            header = file.read(_HEADER)
            size = os.fstat(file.fileno()).st_size - _HEADER
        dimension = int.from_bytes(header[len(_MAGIC) : len(_MAGIC) + 4], "little")
        if not header.startswith(_MAGIC) or not dimension:
            return None
        kind = _row_type(dimension)
        if size <= 0 or size % kind.itemsize:
            return None
        rows: Array = np.memmap(path, dtype=kind, mode="r", offset=_HEADER)
        return rows
    except (OSError, ValueError):
        return None


def _write(path: Path, records: Array) -> None:
    temporary = path.with_suffix(".tmp")
    header = _MAGIC + records["vector"].shape[1].to_bytes(4, "little")
    try:
        with temporary.open("xb") as file:
            file.write(header.ljust(_HEADER, b"\0"))
            file.write(records.tobytes())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _merge(files: list[Path]) -> None:
    """Several segments as one, which takes the oldest one's place in the order."""
    import numpy as np

    read = [(file, segment) for file in files if (segment := _read(file)) is not None]
    for file in files:
        if all(file != other for other, _ in read):
            file.unlink(missing_ok=True)
    shapes = {segment.dtype for _, segment in read}
    if len(read) < 2 or len(shapes) != 1:
        return
    merged = np.concatenate([np.asarray(segment) for _, segment in read])
    _write(read[0][0].with_name(f"{read[0][0].stem.partition('-')[0]}-{secrets.token_hex(4)}{_SUFFIX}"), merged)
    for file, _ in read:
        # A file that is mapped cannot be removed on Windows; it is read twice, and tried again next time.
        with suppress(PermissionError):
            file.unlink(missing_ok=True)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
