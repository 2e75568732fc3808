"""The garbage collector paused around work of our own that makes many objects at once.

Beside the heaps of SDKs and test suites, a collection that such work sets off costs more than the work.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]


@contextmanager
def collector_paused() -> Iterator[None]:
    """No collection in between; afterwards as it was before."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
