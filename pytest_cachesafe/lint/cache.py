"""Results of earlier runs, in the user's cache folder and never in the tree.

Two files per project and way of running (tool, rules, Python, settings): one with the outcome of a whole run, which
holds while no file of the project has another size or time, and one with what was found out file by file, which holds
by content. A file changed within two seconds before a run began could change again without a new time, so its content
is compared instead. Both are written under another name and renamed; one that cannot be read is as good as none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_cachesafe.lint.dependencies import FileSets

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_cachesafe.lint.walk import FileEntry

__all__ = ["Store", "StoredUnit", "content_hash", "open_store", "run_key"]

_VERSION = 2
_RACY_NS = 2_000_000_000
# Of one file, in bytes; a project that needs more is linted without.
_MOST_BYTES = 48 << 20
# Files in the folder: two per project and way of running.
_MOST_FILES = 200
_KEPT_FILES = 150
_UNTRUSTED = -1


class StoredUnit(NamedTuple):
    """What the analysis of one file gave, as JSON values (see `encode`)."""

    hits: list[Any]
    votes: list[Any]
    reports: list[Any]
    used: tuple[str, ...]
    problem: list[Any] | None = None


def content_hash(data: bytes) -> str:
    """32 hex digits."""
    try:
        # hashlib would load OpenSSL for it, which takes longer than all the hashing.
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b

    return blake2b(data, digest_size=16).hexdigest()


def run_key(root: str, settings: str, others: Iterable[object], *more: object) -> str:
    """What a result depends on beside the files: tool, rules (`others`: those of other packages), Python, settings."""
    from pytest_cachesafe import __version__

    words = [root, __version__, sys.implementation.cache_tag or "", repr(sys.version_info[:3]), settings]
    for rule in others:
        module = sys.modules.get(type(rule).__module__)
        words.append(f"{getattr(rule, 'code', '')}:{_stamp(getattr(module, '__file__', None) or '')}")
    words += map(repr, more)
    words += _own_sources()
    return content_hash("\x1f".join(words).encode("utf-8", "surrogatepass"))


def _stamp(path: str) -> str:
    try:
        facts = os.stat(path)
    except OSError:
        return ""
    return f"{facts.st_size}.{facts.st_mtime_ns}"


def _own_sources() -> list[str]:
    """Sizes and times of our own files: whoever works on a rule must not see the results of the last version."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [here, os.path.dirname(here)]
    rules = sys.modules.get("cachesafe_rules")
    if rules is not None and rules.__file__:
        folders.append(os.path.dirname(os.path.abspath(rules.__file__)))
    words: list[str] = []
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as found:
            for item in found:
                if item.name.endswith((".py", ".json", ".toml")):
                    facts = item.stat()
                    words.append(f"{item.name}.{facts.st_size}.{facts.st_mtime_ns}")
                elif folder == here and not item.name.startswith("_") and item.is_dir():
                    folders.append(item.path)
    return sorted(words)


def open_store(root: Path, key: str, started_ns: int) -> Store:
    """The results kept for this project; without a folder that can be trusted and written, nothing is kept."""
    from pytest_cachesafe.models.cache_folder import cache_root, check_shared
    from pytest_cachesafe.usage import UsageError

    try:
        folder = cache_root() / "lint"
        check_shared(folder)
        folder.mkdir(mode=0o700, exist_ok=True)
    except (UsageError, OSError):
        return Store(root, None, started_ns)
    name = content_hash(os.path.realpath(root).encode("utf-8", "surrogateescape"))[:12]
    return Store(root, os.path.join(folder, f"{name}-{key[:20]}"), started_ns)


class Store:
    """One project's results. `stem` is the path both files begin with; None keeps nothing.

    `started_ns` is when the run began, before any file was looked at.
    """

    def __init__(self, root: Path, stem: str | None, started_ns: int) -> None:
        self.root = os.fspath(root)
        self.stem = stem
        self.started_ns = started_ns
        self._old: dict[str, Any] | None = None
        self._hashes: dict[str, str | None] = {}
        self._entries: dict[str, FileEntry] = {}
        self._files: dict[str, list[Any]] = {}
        self._units: dict[str, Any] = {}
        self._done: dict[str, Any] = {}
        self._sets = FileSets(self._digest)
        self._changed = False

    # The whole run

    def whole(self, entries: Sequence[FileEntry]) -> Any | None:
        """The outcome of the last whole run if no file has changed since."""
        stored = self._read("run")
        if stored is None or stored.get("table") != _table(entries):
            return None
        hashes = stored.get("hashes")
        if not isinstance(hashes, dict) or any(self._hash_on_disk(n) != h for n, h in hashes.items()):
            return None
        still = self._racy(entries)
        if stored.get("racy") and not still:
            # Two seconds have passed: the next run need not read these files again.
            kept = {n: h for n, h in hashes.items() if n not in stored["racy"]}
            self._write("run", {**stored, "hashes": kept, "racy": []})
        return stored.get("result")

    def save_whole(self, entries: Sequence[FileEntry], extra: Iterable[str], result: Any) -> None:
        """Keep the outcome of a whole run; `extra` are files it depends on that are not in `entries`."""
        if self.stem is None:
            return
        racy = self._racy(entries)
        names = dict.fromkeys((*racy, *sorted(extra)))
        hashes = {name: self.hash(name) for name in names}
        self._write("run", {"table": _table(entries), "hashes": hashes, "racy": racy, "result": result})

    def _racy(self, entries: Iterable[FileEntry]) -> list[str]:
        limit = self.started_ns - _RACY_NS
        return [entry.name for entry in entries if entry.mtime_ns >= limit]

    # File by file

    def begin(self, entries: Sequence[FileEntry]) -> None:
        """Look at what is kept of each file; needed before the methods below."""
        self._entries = {entry.name: entry for entry in entries}
        self._old = self._read("units") or {}
        files = self._old.get("files")
        self._files = files if isinstance(files, dict) else {}
        for kept, name in ((self._units, "units"), (self._done, "done")):
            values = self._old.get(name)
            if isinstance(values, dict):
                kept.update(values)
        try:
            self._sets.load(self._old["used"])
        except (KeyError, TypeError, ValueError, IndexError):
            self._units.clear()
        changed = self._files.keys() ^ self._entries.keys()
        if changed:
            self._changed = True
            # Now, and not when they are asked for: the next run will not know any more that these files were new.
            self._drop_concerned(sorted(changed))
            for name in self._files.keys() - self._entries.keys():
                for kept in (self._files, self._units, self._done):
                    kept.pop(name, None)

    def _drop_concerned(self, changed: Sequence[str]) -> None:
        """Forget the results of files in which, or in what they use, an import may mean another file now."""
        from pytest_cachesafe.lint.dependencies import may_import

        used: dict[int, tuple[str, ...]] = {}
        for unit in self._units.values():
            with suppress(KeyError, TypeError, IndexError):
                used[unit["used"]] = self._sets.names(unit["used"])
        concerned = may_import(changed, {name for names in used.values() for name in names}, self._bytes)
        lost = used.keys() if concerned is None else {n for n, names in used.items() if not concerned.isdisjoint(names)}
        self._units = {name: unit for name, unit in self._units.items() if unit.get("used") not in lost}

    def flags(self, name: str) -> int | None:
        """What `set_flags` said of this file, if it is unchanged."""
        known = self._known(name)
        return None if known is None else known[3]

    def set_flags(self, name: str, data: bytes, flags: int) -> None:
        """Remember what the pre-filter said of this content."""
        entry = self._entries.get(name)
        if self.stem is None or entry is None:
            return
        self._changed = True
        found = self._hashes[name] = content_hash(data)
        when = entry.mtime_ns if entry.mtime_ns < self.started_ns - _RACY_NS else _UNTRUSTED
        self._files[name] = [entry.size, when, found, flags]

    def _known(self, name: str) -> list[Any] | None:
        known, entry = self._files.get(name), self._entries.get(name)
        if entry is None or not isinstance(known, list) or [type(x) for x in known] != [int, int, str, int]:
            return None
        if known[0] == entry.size and known[1] == entry.mtime_ns:
            return known
        if known[0] == entry.size and self._hash_on_disk(name) == known[2]:
            # Touched only. The time is believed from now on, unless it is too young again.
            if entry.mtime_ns < self.started_ns - _RACY_NS:
                known[1] = entry.mtime_ns
                self._changed = True
            return known
        return None

    def hash(self, name: str) -> str | None:
        """The content hash of a file below the root, None where it cannot be read."""
        if name not in self._hashes:
            known = self._known(name)
            self._hashes[name] = known[2] if known is not None else self._hash_on_disk(name)
        return self._hashes[name]

    def _bytes(self, name: str) -> bytes | None:
        try:
            with open(os.path.join(self.root, name), "rb") as file:
                return file.read()
        except (OSError, ValueError):
            return None

    def _hash_on_disk(self, name: str) -> str | None:
        data = self._bytes(name)
        return None if data is None else content_hash(data)

    def _digest(self, names: tuple[str, ...]) -> str:
        return content_hash("\n".join(str(self.hash(name)) for name in names).encode("ascii"))

    def unit(self, name: str) -> StoredUnit | None:
        """What the last analysis of this file gave, if nothing it looked at has changed."""
        stored = self._units.get(name)
        if stored is None:
            return None
        try:
            used = self._sets.names(stored["used"])
            if not self._sets.holds(stored["used"]):
                return None
            return StoredUnit(stored["hits"], stored["votes"], stored["reports"], used, stored["problem"])
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            return None

    def put_unit(self, name: str, unit: StoredUnit) -> None:
        """Keep what the analysis of a file gave."""
        if self.stem is None:
            return
        self._changed = True
        used = self._sets.add(tuple(dict.fromkeys((name, *unit.used))))
        self._units[name] = {**unit._asdict(), "used": used}

    def done(self, name: str, key: str) -> Any | None:
        """What `put_done` kept for this file under this key."""
        stored = self._done.get(name)
        return stored[1] if isinstance(stored, list) and len(stored) == 2 and stored[0] == key else None

    def put_done(self, name: str, key: str, value: Any) -> None:
        """Keep the last stages' outcome for a file; `key` names everything it was made from."""
        self._changed = True
        self._done[name] = [key, value]

    def save(self) -> None:
        """Write what was learnt."""
        if self.stem is not None and self._changed:
            units = {name: unit for name, unit in self._units.items() if isinstance(unit.get("used"), int)}
            sets, numbers = self._sets.dump(unit["used"] for unit in units.values())
            units = {name: {**unit, "used": numbers[unit["used"]]} for name, unit in units.items()}
            self._write("units", {"files": self._files, "used": sets, "units": units, "done": self._done})

    # Files

    def _read(self, kind: str) -> dict[str, Any] | None:
        if self.stem is None:
            return None
        import json

        try:
            with open(f"{self.stem}.{kind}.json", "rb") as file:
                stored = json.loads(file.read())
        except (OSError, ValueError, RecursionError):
            return None
        return stored if isinstance(stored, dict) and stored.get("version") == _VERSION else None

    def _write(self, kind: str, value: Mapping[str, Any]) -> None:
        if self.stem is None:
            return
        import json

        data = json.dumps({"version": _VERSION, **value}, separators=(",", ":")).encode("ascii")
        if len(data) > _MOST_BYTES:
            return
        path = f"{self.stem}.{kind}.json"
        temporary = f"{self.stem}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
        with suppress(OSError):
            try:
                handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                os.replace(temporary, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
            _prune(os.path.dirname(path))


def _prune(folder: str) -> None:
    """Drop the oldest files once there are too many, left-overs of killed processes among them."""
    with os.scandir(folder) as found:
        items = [(item.stat().st_mtime_ns, item.path) for item in found if item.is_file()]
    if len(items) > _MOST_FILES:
        for _, path in sorted(items)[: len(items) - _KEPT_FILES]:
            with suppress(OSError):
                os.unlink(path)


def _table(entries: Sequence[FileEntry]) -> str:
    words = [f"{entry.name}\0{entry.size}\0{entry.mtime_ns}" for entry in entries]
    return content_hash("\n".join(sorted(words)).encode("utf-8", "surrogatepass"))
