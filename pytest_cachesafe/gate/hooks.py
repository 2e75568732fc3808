"""The gate as a pytest plugin of its own, registered only where there is a lock file, a budget or a request for one."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe.files import refuse_unwritable
from pytest_cachesafe.gate import DEFAULT_NAME
from pytest_cachesafe.gate.base import Moved, base_ref, lock_at, moved
from pytest_cachesafe.gate.expression import Bound, parse_expression
from pytest_cachesafe.gate.lockfile import Lock
from pytest_cachesafe.gate.scope import Scope
from pytest_cachesafe.gate.session import Gate, Leftovers, fixture_id, in_ci
from pytest_cachesafe.gate.workers import hand_over, is_worker, take_from_workers
from pytest_cachesafe.usage import UsageError

__all__ = ["GateHooks", "gate_hooks"]

_PAYLOAD = "cachesafe_gate"


def gate_hooks(config: pytest.Config, settings: Mapping[str, Any]) -> GateHooks | None:
    """The gate of this run; None where nothing asks for one.

    Raises:
        UsageError: options that exclude each other, or writing in a CI.
    """
    path = config.rootpath / (settings["lock"].value or DEFAULT_NAME)
    update, new_only = settings["update"].value, settings["update_new_only"].value
    ci = in_ci()
    if update and new_only:
        raise UsageError("--cachesafe-update and --cachesafe-update-new-only exclude each other: give one")
    if (update or new_only) and settings["informational"].value:
        raise UsageError("--cachesafe-informational compares and --cachesafe-update does not: give one")
    named = settings["lock"].origin != "default"
    if not (update or new_only or settings["gate"].value or named or os.path.lexists(path)):
        return None
    if ci and (update or new_only):
        raise UsageError(
            "--cachesafe-update in a CI would accept whatever it finds: run it locally and commit the file (set "
            "CI=false for a job that is meant to write it)"
        )
    if (update or new_only) and not is_worker(config):
        refuse_unwritable(path, path.name)
    return GateHooks(
        config,
        Gate(
            path, config.rootpath, {}, update=update, new_only=new_only,
            informational=settings["informational"].value, ci=ci,
        ),
    )  # fmt: skip


class GateHooks:
    """Hooks around one `Gate`: workers hand over what they found, the controller tells and writes."""

    def __init__(self, config: pytest.Config, gate: Gate) -> None:
        self.config = config
        self.gate = gate
        self.collected: set[str] = set()
        self.ran: set[str] = set()
        self.scope = Scope(config)
        # Workers that ended without handing over what they found.
        self.lost = 0
        self.wrote: str | None = None
        self.failed: str | None = None
        self.left = Leftovers()
        self.base: Moved | None = None
        self.base_note: str | None = None
        self._bounds: dict[str, dict[str, Bound]] = {}
        # The fixture of more than one test that is being set up.
        self._fixture: str | None = None
        take_from_workers(config, _PAYLOAD, self.take, self.worker_lost)

    # One check.

    def begin(self, test: str) -> None:
        """A test begins."""
        self.gate.begin(test)

    def judge(self, report: Any, node: Any) -> None:
        """A check passed.

        Raises:
            GateFailure, UsageError: see `Gate.check`.
        """
        __tracebackhide__ = True
        settings = node.settings
        text = settings["compare_fail"].value
        bounds = self._bounds.get(text)
        if bounds is None:
            bounds = self._bounds[text] = parse_expression(text)
        action = settings["prefix_change"].value
        gate = self.gate
        gate.bounds = bounds | {"prefix": Bound("prefix")} if action == "fail" else bounds
        gate.prefix_change = action
        gate.listener = self._regressed if node.collector is not None else None
        gate.check(report, self._fixture or node.nodeid, generative=node.generative)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """A check in a fixture that several tests share is the fixture's: which of them comes first is chance."""
        if fixturedef.scope == "function":
            return (yield)
        before = self._fixture
        self._fixture = fixture_id(request.node.nodeid, fixturedef.argname, getattr(request, "param_index", 0))
        self.gate.begin(self._fixture)
        try:
            return (yield)
        finally:
            self._fixture = before

    def _regressed(self, test: str, name: str, text: str, failed: bool) -> None:
        collector: Any = self.config.pluginmanager.get_plugin("cachesafe-report")
        collector.regressed(test, name, text, failed=failed)

    # The run.

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """A lock file that cannot be used is told before any test runs, not by each of them."""
        if is_worker(self.config):
            # The controller was told, and ends the run.
            return
        try:
            self.gate.lock  # noqa: B018  (reading it checks it)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None

    @pytest.hookimpl(wrapper=True)
    def pytest_ignore_collect(self, collection_path: Path) -> Generator[None, bool | None, bool | None]:
        """What a plugin or a conftest leaves alone may exist all the same."""
        ignored = yield
        if ignored:
            self.scope.ignored(str(collection_path))
        return ignored

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """So may the tests of a module that cannot be imported, or that skips itself for want of a package."""
        if not report.passed:
            self.scope.failed(report.nodeid)

    def pytest_deselected(self, items: list[Any]) -> None:
        """Something was left out: what was not collected may exist all the same."""
        self.scope.deselected = self.scope.deselected or bool(items)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Which tests exist."""
        self.collected.update(item.nodeid for item in items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Which tests passed: only they can show that an entry has no check any more."""
        # A subtest's report carries its test's id; that it passed says nothing of the test.
        if report.when == "call" and report.passed and not hasattr(report, "context"):
            self.ran.add(report.nodeid)

    def payload(self) -> dict[str, Any]:
        """What a worker hands over: plain values."""
        return {
            "entries": [entry.as_dict() for entry in self.gate.seen.values()],
            "told": [list(pair) for pair in self.gate.told],
            "collected": sorted(self.collected),
            "scope": self.scope.payload(),
        }

    def take(self, payload: Mapping[str, Any]) -> None:
        """What a worker handed over."""
        self.gate.merge(payload["entries"], payload["told"])
        self.collected.update(payload["collected"])
        self.scope.take(**payload["scope"])

    def worker_lost(self) -> None:
        """A worker crashed: that no check of a test was seen says nothing now."""
        self.lost += 1
        self.gate.told.append(("pytest-xdist", "a worker ended without telling what its checks found: run again"))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Hand over, or write and look at the base branch."""
        if is_worker(self.config):
            hand_over(self.config, _PAYLOAD, self.payload())
            return
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or self.config.option.collectonly:
            return
        try:
            if not self.lost:
                self.left = self.gate.leftovers(self.collected, self.ran, self.scope.tells)
            self.wrote = self.gate.write(self.left, whole=self.scope.whole and not self.lost)
            self._look_at_base()
        except UsageError as error:
            self.failed = str(error)
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            return
        if self.left.unused and self.gate.ci and not self.gate.informational and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _look_at_base(self) -> None:
        ref = base_ref()
        if ref is None or not self.gate.path.is_file():
            return
        try:
            before = lock_at(ref, str(self.gate.path), folder=str(self.gate.path.parent))
        except UsageError as error:
            # Told, no failure: the gate itself compared with the file that is there.
            self.base_note = f"not compared with the lock file of {ref}: {error}"
            return
        self.base = moved(ref, before or Lock(), self.gate.lock or Lock())

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """What the gate has to say; nothing if it has nothing to say."""
        if is_worker(self.config):
            return
        from pytest_cachesafe.report.gate import summary_lines

        lines = summary_lines(self, self.config.get_verbosity())
        if lines:
            terminalreporter.section("cachesafe gate")
            for line in lines:
                terminalreporter.line(line)
