"""The user's line that made a call: the first frame, from the transport outwards, that is no library's."""

from __future__ import annotations

import os
import sys
from functools import lru_cache

__all__ = ["users_line"]

# Frameworks put a few dozen frames between a transport and its caller; a recursion may put thousands.
_DEEPEST = 400


@lru_cache(maxsize=1)
def _folders() -> tuple[str, ...]:
    """Folders whose code is not the user's, with a separator at the end."""
    import sysconfig

    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    stdlib = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")} | {os.path.dirname(os.__file__)}
    return (here + os.sep, *(path + os.sep for path in sorted(stdlib)))


@lru_cache(maxsize=4096)
def _is_users(filename: str) -> bool:
    # Code without a file (generated methods, the import machinery) is a library's.
    if filename.startswith("<"):
        return False
    parts = filename.replace("\\", "/").split("/")
    if "site-packages" in parts or "dist-packages" in parts:
        return False
    return not filename.startswith(_folders())


def users_line(depth: int = 1) -> str | None:
    """ "tests/test_agent.py:12", relative to the current folder where it lies below; None if a library's task called.

    Works inside coroutines too: one that awaits another is the caller of its frame while that runs.
    """
    frame = sys._getframe(depth)
    for _ in range(_DEEPEST):
        if _is_users(frame.f_code.co_filename):
            return f"{_shown(frame.f_code.co_filename)}:{frame.f_lineno}"
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


def _shown(filename: str) -> str:
    try:
        folder = os.getcwd() + os.sep
    except OSError:
        return os.path.basename(filename)
    # Absolute paths name machines and people.
    return filename[len(folder) :] if filename.startswith(folder) else os.path.basename(filename)
