"""A progress bar on standard error, for people who wait in front of a terminal."""

from __future__ import annotations

import sys
import time
from typing import TextIO

__all__ = ["Progress"]

# Seconds before the first bar, and between two.
_PATIENCE = 1.0
_PAUSE = 0.2
_WIDTH = 30


class Progress:
    """Shows nothing where standard error is no terminal, and nothing of what is done within a second."""

    def __init__(self, stream: TextIO | None = None, *, wanted: bool = True) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self.on = wanted and self._stream is not None and self._stream.isatty()
        self._next = time.monotonic() + _PATIENCE
        self._shown = False

    def due(self) -> bool:
        """Whether it is time for the next bar."""
        return self.on and time.monotonic() >= self._next

    def show(self, part: int | None, whole: int | None, words: str) -> None:
        """Draw `words` and, where both numbers are known, how much of the whole is done."""
        self._next = time.monotonic() + _PAUSE
        bar = ""
        if part is not None and whole:
            done = min(part / whole, 1.0)
            filled = int(done * _WIDTH)
            bar = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {int(done * 100):3d}% "
        self._write(f"\r\x1b[K{bar}{words}")
        self._shown = True

    def clear(self) -> None:
        """Take the bar away."""
        if self._shown:
            self._write("\r\x1b[K")
            self._shown = False

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # A terminal that went away is no reason to stop.
            self.on = False
