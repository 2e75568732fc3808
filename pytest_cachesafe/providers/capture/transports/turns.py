"""A reply takes its time: what else is on its way is sent before the first byte comes back.

Without this, parallel requests would be answered one after the other and each would find what the one before it has
just written to the cache. No clock is asked (tests freeze them), and the main thread, when it works alone, never waits.
"""

from __future__ import annotations

import sys
import time
from threading import current_thread, main_thread
from typing import Any

__all__ = ["others_turn", "others_turn_async"]

# Requests that are started together differ by a few steps of the loop (a first call looks its platform up in a thread).
_ROUNDS = 20
_SLEEP = time.sleep


def others_turn() -> None:
    """Between threads: let the others send theirs, half a millisecond."""
    if current_thread() is not main_thread():
        _SLEEP(0.0005)


async def others_turn_async() -> None:
    """Between tasks: a few rounds of the loop (asyncio or trio)."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        trio: Any = sys.modules.get("trio")
        if trio is not None:
            for _ in range(_ROUNDS):
                await trio.lowlevel.checkpoint()
        return
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)
