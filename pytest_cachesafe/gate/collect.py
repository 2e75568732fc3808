"""Collects what the checks of a run found, for `--cachesafe-report`; registered only where a report is asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

import pytest

from pytest_cachesafe.files import refuse_unwritable
from pytest_cachesafe.gate.located import locate, plain
from pytest_cachesafe.gate.scenario import Kind, Regression, Run, Scenario
from pytest_cachesafe.gate.workers import hand_over, is_worker, take_from_workers
from pytest_cachesafe.usage import UsageError

__all__ = ["FORMATS", "Collector", "Wanted", "parse_formats"]

_PAYLOAD = "cachesafe_report"
# Format and the file it goes to; None: the terminal, or what the CI names.
FORMATS: dict[str, str | None] = {
    "html": "cachesafe-report.html",
    "markdown": "cachesafe-report.md",
    "json": "cachesafe-report.json",
    "sarif": "cachesafe-report.sarif",
    "github": None,
}


class Wanted(NamedTuple):
    """One report that was asked for."""

    format: str
    path: str | None


def parse_formats(words: Sequence[str]) -> list[Wanted]:
    """`html`, `html:PATH`, several of them.

    Raises:
        UsageError: an unknown format, one that takes no path, or two reports into one file.
    """
    from pytest_cachesafe.options import closest

    wanted: list[Wanted] = []
    for word in words:
        name, _, path = word.partition(":")
        name = {"md": "markdown"}.get(name, name)
        if name not in FORMATS:
            raise UsageError(f"unknown report format {name!r}{closest(name, FORMATS)}")
        if FORMATS[name] is None and path:
            raise UsageError(f"{word!r}: {name} takes no path")
        wanted.append(Wanted(name, path or FORMATS[name]))
    paths = [one.path for one in wanted if one.path is not None]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise UsageError(f"two reports go to {twice}: give each a path of its own, such as html:other.html")
    return wanted


class Collector:
    """Scenarios of a run; workers hand theirs over, the controller writes the reports."""

    def __init__(self, config: pytest.Config, wanted: Sequence[Wanted], redact: str) -> None:
        self.config = config
        self.wanted = list(wanted)
        self.run = Run(redact=redact)
        self.lines: list[str] = []
        self.failed: str | None = None
        self._names: dict[tuple[str, str], int] = {}
        self._begun: set[str] = set()
        # The latest check that passed, for the gate may have something against it.
        self._passed: tuple[Scenario, Any] | None = None
        if not is_worker(config):
            for one in self.wanted:
                if one.path is not None:
                    refuse_unwritable(os.path.join(config.rootpath, one.path), f"report {one.path}")
        take_from_workers(config, _PAYLOAD, self.take)

    def begin(self, test: str) -> None:
        """A test begins, or is tried again: what an earlier attempt found does not count."""
        if test not in self._begun:
            self._begun.add(test)
            return
        self.run.scenarios = [scenario for scenario in self.run.scenarios if scenario.test != test]
        self.run.regressions = [regression for regression in self.run.regressions if regression.test != test]
        for key in [key for key in self._names if key[0] == test]:
            del self._names[key]

    def add(self, report: Any, test: str, *, passed: bool) -> None:
        """One check, passed or failed."""
        from pytest_cachesafe.providers.capture.callsite import users_line

        known: tuple[Kind, ...] = get_args(Kind)
        kind: Kind = next((one for one in known if one == report.gate_kind), "reuse")
        name = getattr(report, "name", None) or report.gate_kind
        count = self._names[test, name] = self._names.get((test, name), 0) + 1
        shown = name if count == 1 else f"{name}#{count}"
        headline = plain(report.text(0, self.run.redact).split("\n", 1)[0])
        data = self._data(report, located=not passed)
        made = Scenario(test, plain(shown), kind, passed, data, users_line(2), headline)
        self.run.scenarios.append(made)
        self._passed = (made, report) if passed else None

    def _data(self, report: Any, *, located: bool) -> Any:
        """A report in JSON form; `located`: with the lines that built what changed."""
        data = plain(report.as_dict())
        if located:
            locate(data, str(self.config.rootpath))
        if self.run.redact == "none":
            return data
        from pytest_cachesafe.report.redacted import redacted

        return redacted(data, self.run.redact)

    def linted(self, findings: Sequence[Mapping[str, Any]]) -> None:
        """Findings of the linter, in its JSON form; an item that is tried again says the same."""
        self.run.lint += [found for found in map(plain, findings) if found not in self.run.lint]

    def regressed(self, test: str, name: str, text: str, *, failed: bool) -> None:
        """The gate has something against a check."""
        self.run.regressions.append(Regression(test, name, text, failed))
        if self._passed is not None and (self._passed[0].test, self._passed[0].name) == (test, plain(name)):
            scenario, report = self._passed
            scenario.data = self._data(report, located=True)

    # The run.

    def payload(self) -> dict[str, Any]:
        """What a worker hands over."""
        return self.run.as_dict()

    def take(self, payload: Mapping[str, Any]) -> None:
        """What a worker handed over."""
        self.run.scenarios += [Scenario(**values) for values in payload["scenarios"]]
        self.run.regressions += [
            Regression(v["test"], v["name"], v["message"], v["failed"]) for v in payload["regressions"]
        ]
        self.run.lint += payload["lint"]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand over, or write."""
        if is_worker(self.config):
            hand_over(self.config, _PAYLOAD, self.payload())
            return
        from pytest_cachesafe.report.run import write_reports

        # Workers end in any order, and tests run in any.
        self.run.scenarios.sort(key=lambda scenario: (scenario.test, scenario.name))
        self.run.regressions.sort(key=lambda regression: (regression.test, regression.name))
        self.run.lint.sort(key=lambda found: (found["filename"], found["location"]["row"], found["code"]))
        gate = self.config.pluginmanager.get_plugin("cachesafe-gate")
        if gate is not None:
            from pytest_cachesafe.report.gate import summary_lines

            self.run.gate = summary_lines(gate, 1)
        try:
            self.lines = write_reports(self.run, self.wanted, str(self.config.rootpath))
        except UsageError as error:
            self.failed = str(error)
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Where the reports are, and what a CI reads from the output."""
        if is_worker(self.config):
            return
        for line in self.lines:
            terminalreporter.line(line)
        if self.failed is not None:
            terminalreporter.line(f"error: {self.failed}")
