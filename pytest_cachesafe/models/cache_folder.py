"""Where the user's cache folder is, and whether what stands in it can be trusted.

Written by us it is private (mode 0700). One that was filled when an image was built may belong to root and be readable
by all, on a file system that nobody can write: it is read as it is, as long as no other user could have changed it.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_cachesafe.usage import UsageError

__all__ = ["CacheUnusable", "cache_root", "check_shared", "home", "must_write", "prepared_folder", "writing"]

_WAY_OUT = "set CACHESAFE_CACHE to a folder you can write"
# The superuser could change any file of this process anyway.
_ROOT_USER = 0


class CacheUnusable(UsageError):
    """The cache folder cannot be written; whoever can do without keeping anything catches this and goes on."""


def home() -> Path:
    """The user's home folder; in a container whose user has none, a path that does not exist."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/nonexistent")


def _default_root() -> Path:
    given = os.environ.get("CACHESAFE_CACHE")
    if given:
        try:
            return Path(given).expanduser()
        except RuntimeError as error:
            raise UsageError(f"cache folder {given}: {error}; set CACHESAFE_CACHE to a full path") from None
    if os.environ.get("XDG_CACHE_HOME"):
        base = Path(os.environ["XDG_CACHE_HOME"])
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home() / "Library" / "Caches"
    else:
        base = home() / ".cache"
    return base / "pytest-cachesafe"


def cache_root(*, create: bool = True) -> Path:
    """The cache folder, made with mode 0700 if missing.

    `create=False` makes nothing and asks for no right to write; a folder that is missing or closed to this user is then
    simply one in which nothing is found.

    Raises:
        CacheUnusable: it cannot be made or written (with `create`).
        UsageError: it is no folder, belongs to another user than this one and root, is a link that such a user made, or
            can be written by others.
    """
    root = _default_root()
    _check_is_folder(root)
    if create:
        with writing(root):
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The functions of os.path, here and elsewhere: those of Path raise PermissionError below a closed folder.
    elif not os.path.isdir(root):
        return root
    if hasattr(os, "geteuid"):
        _check_owner(root, os.geteuid())
    if create and not os.access(root, os.W_OK | os.X_OK):
        raise CacheUnusable(f"cache folder {root} cannot be written; {_WAY_OUT}")
    return root


def prepared_folder(name: str) -> Path:
    """Where a tokenizer put into our cache folder under a name of its own is ("owner/name" -> models/owner--name)."""
    return cache_root(create=False) / "models" / name.replace("/", "--")


def _check_is_folder(root: Path) -> None:
    # A home folder that is a device or a file (HOME=/dev/null) is the system's doing; a wrong setting is the user's.
    above = root.parents if os.environ.get("CACHESAFE_CACHE") else ()
    for path in (root, *above):
        if os.path.lexists(path) and not os.path.isdir(path):
            where = "it" if path == root else path
            raise UsageError(f"cache folder {root}: {where} is no folder; {_WAY_OUT}")


def _check_owner(root: Path, user: int) -> None:
    # Someone who owns the folder, or the link that leads to it, could put another tokenizer under our name.
    for what in (root.lstat(), root.stat()):
        if what.st_uid not in (user, _ROOT_USER):
            kind = "is a link that" if stat.S_ISLNK(what.st_mode) else "belongs to"
            tail = f"user {what.st_uid} made" if stat.S_ISLNK(what.st_mode) else f"user {what.st_uid}"
            raise UsageError(f"cache folder {root} {kind} {tail}, not you; set CACHESAFE_CACHE to a folder of your own")
    facts = root.stat()
    if facts.st_uid == user and stat.S_IMODE(facts.st_mode) & 0o077:
        # A read-only file system refuses: fine if nobody else could write before it became one.
        with suppress(OSError):
            root.chmod(0o700)
        facts = root.stat()
    if stat.S_IMODE(facts.st_mode) & 0o022:
        raise _writable_by_others(root, root)


def _writable_by_others(root: Path, path: Path) -> UsageError:
    what = "it" if path == root else path
    return UsageError(
        f"cache folder {root}: {what} can be changed by other users; chmod -R go-w it, or set CACHESAFE_CACHE to a"
        " folder of your own"
    )


def check_shared(entry: Path) -> None:
    """In a cache folder that others can enter, refuse an entry that they could have written or changed.

    Raises:
        UsageError: the entry, a folder above it or a file in it belongs to another user or can be written by others.
    """
    root = cache_root(create=False)
    if not hasattr(os, "geteuid") or not os.path.isdir(root):
        return
    user = os.geteuid()
    facts = root.stat()
    if facts.st_uid == user and not stat.S_IMODE(facts.st_mode) & 0o077:
        return
    for path in (*(above for above in entry.parents if above.is_relative_to(root)), entry, *_below(entry)):
        try:
            facts = path.stat()
        # What cannot be looked at cannot be read either.
        except OSError:
            continue
        if facts.st_uid not in (user, _ROOT_USER) or stat.S_IMODE(facts.st_mode) & 0o022:
            raise _writable_by_others(root, path)


def _below(entry: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(entry):
        for name in (*folders, *files):
            yield Path(folder, name)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Around the steps that write below `folder`: their OSError is one line.

    Raises:
        CacheUnusable: read-only, not permitted, full.
    """
    try:
        yield
    except OSError as error:
        raise CacheUnusable(f"cache folder {folder}: {error.strerror or error}; {_WAY_OUT}") from error


@contextmanager
def must_write(what: str) -> Iterator[None]:
    """Around work that is lost unless it can be kept; `what` is the subject of the sentence.

    Raises:
        UsageError: the cache folder cannot be written.
    """
    try:
        yield
    except CacheUnusable as error:
        raise UsageError(f"{what} needs to write: {error}") from error
