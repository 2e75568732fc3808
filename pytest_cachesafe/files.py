"""Files that are either whole or untouched."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from pytest_cachesafe.usage import UsageError

__all__ = ["write_atomic"]


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
        temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
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
