"""A fleet's log over several workers: which worker takes which requests, and their results put together again."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from pytest_cachesafe.engines.cache import check_size
from pytest_cachesafe.engines.trace.entry import Entry
from pytest_cachesafe.usage import UsageError

__all__ = ["KEYS", "Shards"]

KEYS = ("replica", "tenant")


class Shards:
    """Requests with the same key share a cache of their own, and all of them are one worker's.

    What is no request belongs to a worker by its line, so that sums over all workers count it once.
    """

    def __init__(self, by: str, index: int = 0, count: int = 1) -> None:
        """
        Args:
            by: the field that is the key: `replica` or `tenant`; requests without it share one cache.
            index: this worker, from 0.
            count: workers.

        Raises:
            UsageError: an unknown key, or no such worker.
        """
        if by not in KEYS:
            raise UsageError(f"shard_by={by!r}: one of {', '.join(KEYS)}")
        check_size("shards", count)
        if check_size("shard", index, 0) >= count:
            raise UsageError(f"shard {index}/{count}: shards count from 0 to {max(count - 1, 0)}")
        self.by = by
        self.index = index
        self.count = count

    @classmethod
    def parse(cls, by: str, text: str | None) -> Shards:
        """`I/N` of `--shard`.

        Raises:
            UsageError: not of that form.
        """
        if text is None:
            return cls(by)
        index, slash, count = text.partition("/")
        if not slash or not index.isdecimal() or not count.isdecimal():
            raise UsageError(f"--shard {text!r}: expected I/N, the worker (from 0) and how many there are, e.g. 0/4")
        return cls(by, int(index), int(count))

    def key(self, entry: Entry) -> str:
        """The key of a request."""
        return getattr(entry, self.by) or ""

    def owns(self, key: str) -> bool:
        """Whether a key is this worker's; the same on every machine."""
        if self.count == 1:
            return True
        digest = sha256(key.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.index

    def owns_line(self, line: int) -> bool:
        """Whether a line that is no request is this worker's to count."""
        return line % self.count == self.index

    def as_dict(self) -> Mapping[str, Any]:
        """For JSON."""
        return {"by": self.by, "index": self.index, "count": self.count}
