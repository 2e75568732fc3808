"""Entries of the user's cache folder: each built once and put in place whole, or read where nothing can be written.

`CACHESAFE_CACHE` names the folder; without it, it is `pytest-cachesafe` in the platform's cache folder. Entries are
folders named after what they were made from, so that none is ever changed: a new source gives a new entry. Since they
appear whole, reading one takes no lock, which a read-only folder could not give.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from pytest_cachesafe.models.cache_folder import CacheUnusable, cache_root, check_shared, writing

__all__ = ["build_once", "cache_root", "file_sha256", "keep", "locked", "write_synced"]

# Below this, reading a file costs about as much as asking for its remembered checksum.
_REMEMBER_FROM_BYTES = 4 << 20


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


def keep(kind: str, key: str, build: Callable[[Path], None]) -> Path:
    """The entry `kind`/`key` of the cache folder, made by `build(empty folder)` unless it is there.

    Raises:
        CacheUnusable: it is not there and cannot be kept.
        UsageError: see `cache_root` and `check_shared`.
    """
    target = cache_root(create=False) / kind / key
    if os.path.isdir(target):
        check_shared(target)
        return target
    cache_root()
    return build_once(target, build)


def build_once(target: Path, build: Callable[[Path], None]) -> Path:
    """The folder `target`, made by `build(empty folder)` unless it exists; other processes see all of it or nothing.

    Whatever `build` raises is passed on and leaves no entry behind.

    Raises:
        CacheUnusable: it does not exist and cannot be put there.
    """
    if os.path.isdir(target):
        return target
    with ExitStack() as stack:
        with writing(target.parent):
            stack.enter_context(locked(target.with_name(target.name + ".lock")))
        if target.is_dir():
            return target
        for left_over in target.parent.glob(f"{target.name}.*.tmp"):
            # We hold the lock, so whoever began this was killed.
            shutil.rmtree(left_over, ignore_errors=True)
        with writing(target.parent):
            work = Path(tempfile.mkdtemp(prefix=f"{target.name}.", suffix=".tmp", dir=target.parent))
        try:
            build(work)
            with writing(target.parent):
                _put(work, target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return target


def _put(work: Path, target: Path) -> None:
    for file in work.rglob("*"):
        if file.is_file():
            _sync(file)
    try:
        work.rename(target)
    except OSError:
        # Only where locks do not work: another process was faster with the same entry.
        if not target.is_dir():
            raise


def _sync(file: Path) -> None:
    # A rename may reach the disk before the data does; a crash would leave an entry of empty files for good.
    with file.open("rb+") as handle:
        os.fsync(handle.fileno())


def write_synced(path: Path, text: str) -> None:
    """Write one file so that others see the old content or the new one, never a part.

    Raises:
        CacheUnusable: it cannot be written.
    """
    with writing(path.parent):
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
    """SHA-256 of a file. For large files it is remembered by size, times and inode, so that a 100 MB file is read once;
    where nothing can be kept, it is read by each process.

    Raises:
        OSError: the file cannot be read.
        UsageError: see `cache_root` and `check_shared`: a forged checksum would let a forged file pass.
    """
    facts = path.stat()
    if not remember or facts.st_size < _REMEMBER_FROM_BYTES:
        return _digest(path)
    # The change time is in it: unlike the modification time it cannot be set back by hand.
    state = [facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, facts.st_dev]
    where = str(path.resolve())
    name = f"{sha256(where.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"
    note = cache_root(create=False) / "checksums" / name
    check_shared(note)
    with suppress(OSError, ValueError):
        known = json.loads(note.read_text(encoding="utf-8"))
        if isinstance(known, dict) and known.get("state") == state and isinstance(known.get("sha256"), str):
            return str(known["sha256"])
    found = _digest(path)
    with suppress(CacheUnusable):
        cache_root()
        write_synced(note, json.dumps({"state": state, "sha256": found}))
    return found


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
