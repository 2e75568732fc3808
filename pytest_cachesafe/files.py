"""Files that are either whole or untouched."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

from pytest_cachesafe.usage import UsageError

__all__ = ["write_atomic"]

# Seconds after which a temporary file is what a killed process left; no write takes that long.
_STALE = 3600


def write_atomic(path: str | os.PathLike[str], text: str) -> None:
    """Write a file so that readers see the old or the new content, never a part; the mode follows the umask.

    A link is followed, its target replaced; a device or pipe is written to.

    Raises:
        UsageError: the folder is missing or not writable, or `path` is a folder.
    """
    target = Path(os.path.realpath(path))
    data = text.encode("utf-8", "backslashreplace")
    try:
        if target.is_dir():
            raise UsageError(f"cannot write {os.fspath(path)!r}: it is a directory; name a file")
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        start = f".{target.name[:100]}."
        _sweep(target.parent, start)
        temporary = target.with_name(f"{start}{secrets.token_hex(4)}.tmp")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"cannot write {os.fspath(path)!r}: {error.strerror or error}") from None


def _sweep(folder: Path, start: str) -> None:
    """Remove what writes of the same file left that were killed: nothing else can."""
    with suppress(OSError):
        for name in os.listdir(folder):
            middle = name.removeprefix(start).removesuffix(".tmp")
            if name != f"{start}{middle}.tmp" or len(middle) != 8:
                continue
            path = folder / name
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE:
                    path.unlink()
