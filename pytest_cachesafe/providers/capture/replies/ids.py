"""Ids counted up: frameworks replay them in later requests, so a run must give the same ones every time."""

from __future__ import annotations

from collections import defaultdict
from threading import Lock

__all__ = ["Ids"]


class Ids:
    """Gives `msg_0001`, `msg_0002`, … for each prefix; safe to share between threads."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._lock = Lock()

    def next(self, prefix: str) -> str:
        """The next id of a kind, such as `toolu_cachesafe_0001`."""
        with self._lock:
            self._counts[prefix] += 1
            return f"{prefix}_cachesafe_{self._counts[prefix]:04}"
