"""How our own failures look in pytest: no frames of ours, a message that stands alone. Loaded when a test fails."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

__all__ = ["forget_our_frames", "kind", "plain_message"]

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def kind(error: BaseException) -> str | None:
    """`failure` for a failed assertion of ours, `usage` for a mistake of the user's, None for anything else."""
    vocabulary = sys.modules.get("pytest_cachesafe.prompt")
    if vocabulary is None:
        return None
    if isinstance(error, vocabulary.UsageError):
        return "usage"
    ours = any(base.__module__.startswith("pytest_cachesafe.") for base in type(error).__mro__)
    return "failure" if ours and isinstance(error, AssertionError) else None


def forget_our_frames(traceback: TracebackType | None) -> None:
    """Cut what lies behind the last frame that is not ours: the user's line comes last."""
    last = None
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_HERE):
            last = traceback
        traceback = traceback.tb_next
    if last is not None:
        last.tb_next = None


def plain_message(longrepr: Any, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Take the class's dotted name off: the short summary has room for one line and shows the message alone."""
    crash = getattr(longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = str(excinfo.value)
    prefix = f"{excinfo.type.__module__}.{excinfo.type.__qualname__}: "
    for entry in getattr(getattr(longrepr, "reprtraceback", None), "reprentries", ()):
        if hasattr(entry, "lines"):
            entry.lines = [line.replace(prefix, "", 1) for line in entry.lines]
