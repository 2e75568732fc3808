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
        # Of the test that runs: what its earlier attempts sent, and which steps of this one have begun.
        self._before: Seen | None = None
        self._begun: set[str] = set()
        self.observing.start()
        config.add_cleanup(self.observing.stop)
        take_from_workers(config, _PAYLOAD, self.take)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Requests belong to the test that runs, its fixtures included."""
        self._begun.clear()
        try:
            return (yield)
        finally:
            self._take(item)
            found, self._before = self._before, None
            if found is not None:
                self.seen.add(found)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Plugins that repeat a test set the same item up again."""
        self._begin("setup", item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Some only call it again."""
        self._begin("call", item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> None:
        """Or its function alone."""
        self._begin("function", pyfuncitem)

    def _begin(self, step: str, item: pytest.Item) -> None:
        """A step of a test begins: for the second time, another attempt. Nothing is compared across attempts."""
        if step in self._begun:
            self._take(item)
            self._begun.clear()
        self._begun.add(step)

    def _take(self, item: pytest.Item) -> None:
        with collector_paused():
            found = self.observer.take(item.nodeid)
        if self._before is None:
            self._before = found
        elif found is not None:
            self._before.add_attempt(found)

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
