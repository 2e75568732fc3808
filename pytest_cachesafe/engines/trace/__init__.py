"""Logs of requests in: files of JSON lines and Python iterables become `Entry`s, one at a time.

`lines` reads bytes, `formats` knows what a line may hold, `reader` puts both together.
"""

from __future__ import annotations

from pytest_cachesafe.engines.trace.entry import BadEntry, Entry
from pytest_cachesafe.engines.trace.reader import FORMATS, Trace

__all__ = ["FORMATS", "BadEntry", "Entry", "Trace"]
