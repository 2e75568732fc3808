"""`--cachesafe-observe`: watches the requests an unchanged suite makes and tells one screen at the end."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import pytest

from pytest_cachesafe.gate.paused import collector_paused
from pytest_cachesafe.gate.workers import hand_over, is_worker, take_from_workers
from pytest_cachesafe.providers.observe.clients import Observing
from pytest_cachesafe.providers.observe.observer import Observer, Seen

__all__ = ["ObserveHooks"]

_PAYLOAD = "cachesafe_observe"


class ObserveHooks:
    """Watches from the first import of a test to the last tear-down. Never fails a test."""

    def __init__(self, config: pytest.Config, redact: str, *, fail: bool) -> None:
        self.config = config
        self.redact = redact
        self.fail = fail
        self.observer = Observer()
        self.observing = Observing(self.observer)
        self.seen = Seen()
        self.observing.start()
        config.add_cleanup(self.observing.stop)
        take_from_workers(config, _PAYLOAD, self.take)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Requests belong to the test that runs, its fixtures included."""
        try:
            return (yield)
        finally:
            with collector_paused():
                found = self.observer.take(item.nodeid)
            if found is not None:
                self.seen.add(found)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Hand over; with `--cachesafe-observe=fail`, a broken conversation fails the run."""
        if is_worker(self.config):
            hand_over(self.config, _PAYLOAD, self.seen.as_dict())
            return
        self.seen.broken.sort(key=lambda one: (one.test, one.path or "", one.code))
        if self.fail and self.seen.broken and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def take(self, payload: Mapping[str, Any]) -> None:
        """What a worker saw."""
        self.seen.add(Seen.from_dict(payload))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One screen; one line where nothing is wrong."""
        if is_worker(self.config):
            return
        from pytest_cachesafe.report.observe import observe_lines

        lines = observe_lines(self.seen, str(self.config.rootpath), self.config.get_verbosity(), self.redact)
        if len(lines) > 1:
            terminalreporter.section("cachesafe observe")
        for line in lines:
            terminalreporter.line(line)
