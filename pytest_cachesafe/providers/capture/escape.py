"""The outcome that no SDK swallows: raised where a request may not go out, or cannot be answered as scripted.

SDKs wrap an `Exception` of the transport into a "connection error", try again and hide the cause; agents catch
`Exception`. Outcomes of pytest are `BaseException`s: they pass through both, and pytest reports them as a failed test.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["CaptureStopped", "is_ours", "stop"]


class CaptureStopped(BaseException):
    """A request was about to leave for an unknown host, or could not be answered. One line says what to do.

    While pytest runs, it is one of pytest's own outcomes as well (`pytest.fail.Exception`).
    """


_inside_pytest: type[BaseException] | None = None


def stop(message: str, *, traceback: bool = False) -> BaseException:
    """The exception to raise: pytest's own outcome of a failed test if pytest runs, `CaptureStopped` otherwise.

    Args:
        message: one line: what, where, what to do.
        traceback: whether pytest shows where it was raised (a fault, not a mistake of the user's).
    """
    global _inside_pytest
    if "pytest" not in sys.modules:
        return CaptureStopped(message)
    if _inside_pytest is None:
        import pytest

        failed: Any = pytest.fail.Exception
        _inside_pytest = type("CaptureStopped", (failed, CaptureStopped), {"__module__": __name__})
    made: Any = _inside_pytest
    out: BaseException = made(message, pytrace=traceback)
    return out


def is_ours(error: BaseException | None) -> bool:
    """Whether an exception is one of these, or a group that holds one."""
    if error is None:
        return False
    if isinstance(error, CaptureStopped):
        return True
    members = getattr(error, "exceptions", None)
    return isinstance(members, tuple) and any(is_ours(member) for member in members)
