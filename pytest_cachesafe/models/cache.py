"""The user's cache folder: private to its owner, each entry built once and put in place whole.

`CACHESAFE_CACHE` names the folder; without it, it is `pytest-cachesafe` in the platform's cache folder. Entries are
folders named after what they were made from, so that none is ever changed: a new source gives a new entry.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from pytest_cachesafe.prompt import UsageError

__all__ = ["build_once", "cache_root", "file_sha256", "locked", "write_synced"]

# Below this, reading a file costs about as much as asking for its remembered checksum.
_REMEMBER_FROM_BYTES = 4 << 20


def _default_root() -> Path:
    given = os.environ.get("CACHESAFE_CACHE")
    if given:
        return Path(given).expanduser()
    if os.environ.get("XDG_CACHE_HOME"):
        base = Path(os.environ["XDG_CACHE_HOME"])
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path.home() / ".cache"
    return base / "pytest-cachesafe"


def cache_root(*, create: bool = True) -> Path:
    """The cache folder, made with mode 0700 if missing (`create=False` leaves the disk alone).

    Raises:
        UsageError: it belongs to another user, is a link that another user made, or cannot be written.
    """
    root = _default_root()
    try:
        if create:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif not root.exists():
            return root
        if hasattr(os, "geteuid"):
            _check_owner(root, os.geteuid())
    except OSError as error:
        words = error.strerror or str(error)
        raise UsageError(f"cache folder {root}: {words}; set CACHESAFE_CACHE to a folder you can write") from error
    if create and not os.access(root, os.W_OK | os.X_OK):
        raise UsageError(f"cache folder {root} cannot be written; set CACHESAFE_CACHE to a folder you can write")
    return root


def _check_owner(root: Path, user: int) -> None:
    # Someone who owns the folder, or the link that leads to it, could put another tokenizer under our name.
    for what in (root.lstat(), root.stat()):
        if what.st_uid != user:
            kind = "is a link that" if stat.S_ISLNK(what.st_mode) else "belongs to"
            tail = f"user {what.st_uid} made" if stat.S_ISLNK(what.st_mode) else f"user {what.st_uid}"
            raise UsageError(f"cache folder {root} {kind} {tail}, not you; set CACHESAFE_CACHE to a folder of your own")
    if stat.S_IMODE(root.stat().st_mode) & 0o077:
        root.chmod(0o700)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path` between processes; the system frees it when its holder dies."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        if sys.platform == "win32":
            import msvcrt

            while True:
                # LK_LOCK gives up after ten seconds; a conversion may take longer.
                with suppress(OSError):
                    msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
                    break
        else:
            import fcntl

            # Some network file systems have no locks. Building twice is waste, not damage: entries appear whole.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def build_once(target: Path, build: Callable[[Path], None]) -> Path:
    """The folder `target`, made by `build(empty folder)` unless it exists; other processes see all of it or nothing.

    Whatever `build` raises is passed on and leaves no entry behind.
    """
    if target.is_dir():
        return target
    with locked(target.with_name(target.name + ".lock")):
        if target.is_dir():
            return target
        for left_over in target.parent.glob(f"{target.name}.*.tmp"):
            # We hold the lock, so whoever began this was killed.
            shutil.rmtree(left_over, ignore_errors=True)
        work = Path(tempfile.mkdtemp(prefix=f"{target.name}.", suffix=".tmp", dir=target.parent))
        try:
            build(work)
            for file in work.rglob("*"):
                if file.is_file():
                    _sync(file)
            try:
                work.rename(target)
            except OSError:
                # Only where locks do not work: another process was faster with the same entry.
                if not target.is_dir():
                    raise
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return target


def _sync(file: Path) -> None:
    # A rename may reach the disk before the data does; a crash would leave an entry of empty files for good.
    with file.open("rb+") as handle:
        os.fsync(handle.fileno())


def write_synced(path: Path, text: str) -> None:
    """Write one file so that others see the old content or the new one, never a part."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def file_sha256(path: Path, *, remember: bool = True) -> str:
    """SHA-256 of a file. For large files it is remembered by size, times and inode, so that a 100 MB file is read once.

    Raises:
        OSError: the file cannot be read.
    """
    facts = path.stat()
    if not remember or facts.st_size < _REMEMBER_FROM_BYTES:
        return _digest(path)
    # The change time is in it: unlike the modification time it cannot be set back by hand.
    state = [facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, facts.st_dev]
    where = str(path.resolve())
    note = cache_root() / "checksums" / f"{sha256(where.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"
    with suppress(OSError, ValueError):
        known = json.loads(note.read_text(encoding="utf-8"))
        if isinstance(known, dict) and known.get("state") == state and isinstance(known.get("sha256"), str):
            return str(known["sha256"])
    found = _digest(path)
    write_synced(note, json.dumps({"state": state, "sha256": found}))
    return found


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
