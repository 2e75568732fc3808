"""One process at a time loads a model, and none takes more cores than its share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import RLock

from pytest_cachesafe.models.cache import cache_root, locked
from pytest_cachesafe.models.cache_folder import CacheUnusable, writing

__all__ = ["default_threads", "loading_alone", "threads_set", "working"]

# One check at a time in a process: counters, torch's number of threads and seconds belong to one.
_CHECK = RLock()


@contextmanager
def loading_alone() -> Iterator[None]:
    """Hold the lock under which models are loaded: while it is read, a model takes twice its memory for a moment."""
    with ExitStack() as stack:
        try:
            path = cache_root() / "kv" / "loading.lock"
            with writing(path.parent):
                stack.enter_context(locked(path))
        except CacheUnusable:
            # Where nothing can be written, workers load side by side: slower, not wrong.
            pass
        yield


def default_threads() -> int | None:
    """This worker's share of the cores under pytest-xdist; None, torch's own choice, elsewhere."""
    workers = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "")
    if not workers.isdigit() or int(workers) < 2:
        return None
    return max(1, (os.cpu_count() or 1) // int(workers))


@contextmanager
def working(threads: int | None = None) -> Iterator[None]:
    """A check alone in this process, with that many threads (see `threads_set`)."""
    with _CHECK, threads_set(threads):
        yield


@contextmanager
def threads_set(number: int | None) -> Iterator[None]:
    """torch with `number` threads, and with as many as before afterwards; None changes nothing."""
    if number is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
