"""When this process began: what a module computes at import is as old as that."""

from __future__ import annotations

import os
import time

from pytest_cachesafe.perturb.node import LOADED_AT

__all__ = ["started_at"]


def started_at() -> float:
    """Seconds since the epoch: the start of the process where the system tells it (Linux), else the time at which
    pytest loaded this plugin, which is before it loads conftest files and tests.
    """
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            # The program's name stands in parentheses and may hold spaces; the start is field 22 of all.
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return LOADED_AT
    # A forked process is younger than the modules it has.
    return min(time.time() - age, LOADED_AT) if age >= 0 else LOADED_AT
