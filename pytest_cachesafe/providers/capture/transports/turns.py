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
# How often a millisecond is waited for a task beside, whose thread the machine may not have let run yet.
_MOMENTS = 4
_SLEEP = time.sleep
# Tasks that have sent and wait here, by loop.
_HERE: dict[int, int] = {}


def others_turn() -> None:
    """Between threads: let the others send theirs, half a millisecond."""
    if current_thread() is not main_thread():
        _SLEEP(0.0005)


async def others_turn_async() -> None:
    """Between tasks: a few rounds of the loop (asyncio or trio), and a moment for those who wait for a thread."""
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        trio: Any = sys.modules.get("trio")
        if trio is not None:
            for _ in range(_ROUNDS):
                await trio.lowlevel.checkpoint()
        return
    here = id(loop)
    _HERE[here] = _HERE.get(here, 0) + 1
    try:
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)
        for _ in range(_MOMENTS):
            # One task waits for those that send; whoever is left beside may still be about to send.
            if _HERE[here] >= len(asyncio.all_tasks()) - 1:
                break
            await loop.run_in_executor(None, _SLEEP, 0.001)
    finally:
        _HERE[here] -= 1
        if not _HERE[here]:
            del _HERE[here]
