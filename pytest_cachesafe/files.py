"""Files that are either whole or untouched."""

from __future__ import annotations

import errno
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

from pytest_cachesafe.usage import UsageError

__all__ = ["refuse_unwritable", "write_atomic"]

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
        _sweep(target.parent, f".{target.name[:100]}.")
        temporary = _beside(target)
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


def refuse_unwritable(path: str | os.PathLike[str], shown: str) -> None:
    """Tell before a long run that its result could not be written; what is there is left as it is.

    Whether a file can be made is tried out: a super-user is allowed everything, and some folders take no files.

    Args:
        path: the file; shown: how messages name it.

    Raises:
        UsageError: `path` is a folder, its folder is missing, or neither it nor a file beside it can be written.
    """
    # A link may lead to a folder that is not there.
    target = Path(os.path.realpath(path))
    folder = target.parent
    if target.is_dir():
        raise UsageError(f"{shown}: is a directory; name a file")
    if not folder.is_dir():
        raise UsageError(f"{shown}: its folder {folder.name!r} does not exist; make it")
    device = target.exists() and not target.is_file()
    if (target.exists() and not os.access(target, os.W_OK)) or not (device or os.access(folder, os.W_OK)):
        raise UsageError(f"{shown}: cannot be written: it or its folder is read-only")
    if device:
        return
    temporary = _beside(target)
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        temporary.unlink()
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise UsageError(f"{shown}: cannot be written: it or its folder is read-only") from None
        why = error.strerror or error
        raise UsageError(f"{shown}: cannot be written: no file can be made in {str(folder)!r}: {why}") from None


def _beside(target: Path) -> Path:
    """A name for what will take the target's place."""
    return target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")


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
