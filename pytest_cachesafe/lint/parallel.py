"""Work on many files in several processes (`--jobs`).

A forked child has everything in memory that its parent has, and sends its results back as JSON. Where there is no
`fork`, or a child dies, the parent does the work itself.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["spread"]

# Fewer files are done sooner than a child has started.
_FEWEST = 16


def spread(names: Sequence[str], work: Callable[[Sequence[str]], Any], jobs: int) -> list[Any]:
    """What `work` gives (JSON values) for parts of `names`, in order; neighbours stay together, since files of one
    folder use the same modules."""
    parts = min(jobs, len(names) // _FEWEST)
    if parts < 2 or not hasattr(os, "fork"):
        return [work(names)]
    size = -(-len(names) // parts)
    slices = [names[start : start + size] for start in range(0, len(names), size)]
    children = [_start(part, work) for part in slices[1:]]
    results = [work(slices[0])]
    for part, child in zip(slices[1:], children, strict=True):
        given = _finish(child)
        results.append(work(part) if given is None else given[0])
    return results


def _start(part: Sequence[str], work: Callable[[Sequence[str]], Any]) -> tuple[int, int]:
    """A child at work: its process id, and where to read its result."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Threads of a host (a test runner's, say) do nothing with what we read here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    status = 1
    try:
        os.close(reading)
        data = json.dumps([work(part)]).encode("ascii")
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(data)
        status = 0
    finally:
        # Without what the parent wants to do at its own exit.
        os._exit(status)


def _finish(child: tuple[int, int]) -> list[Any] | None:
    process, reading = child
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(process, 0)
    if status:
        return None
    try:
        given = json.loads(data)
    except ValueError:
        return None
    return given if isinstance(given, list) and len(given) == 1 else None
