"""In a CI, a lock file that a change takes away: without it nothing is compared, and the run would be green."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["LostLock"]

# Runs that only tell what there is: no check of theirs could be compared with anything.
_LISTING = ("collectonly", "setuponly", "setupplan")


class LostLock:
    """Misses it when tests are about to be collected: pytest's other lists and helps do not come so far.

    Args:
        path: where the lock file is looked for, and is not; informational: tell it, fail nothing.
    """

    def __init__(self, path: str, *, informational: bool) -> None:
        self.path = path
        self.informational = informational
        self.told: str | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Before any test is read."""
        if any(getattr(session.config.option, name, False) for name in _LISTING):
            return
        from pytest_cachesafe.gate.base import lost

        self.told = lost(self.path)
        if self.told is not None and not self.informational:
            raise pytest.UsageError(self.told)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """What would have failed."""
        if self.told is None or not self.informational:
            return
        from pytest_cachesafe.report.visible import visible

        terminalreporter.section("cachesafe gate")
        terminalreporter.line(f"warning: {visible(self.told)}")
