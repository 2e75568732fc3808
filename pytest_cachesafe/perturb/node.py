"""The running test, as far as this package needs it: which one, with which options, and what was found in it.

The plugin pushes a state when a test begins and pops it when the test is torn down. The state is held in a plain list,
not in a context variable: builders run in threads and event loops that do not inherit the test's context, and one
process runs one test at a time (a pytest inside a test pushes on top). Standard library only: loaded in every run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_cachesafe.options import Settings

__all__ = [
    "FILE_VARIABLE",
    "LOADED_AT",
    "NODE_VARIABLE",
    "NodeState",
    "Reported",
    "current_node",
    "pop",
    "push",
    "refuse_idle",
    "rerun_target",
    "set_rerun_target",
]

# Set for the child of a re-run only; the plugin takes them out of the environment so that no grandchild sees them.
FILE_VARIABLE = "CACHESAFE_RERUN_FILE"
NODE_VARIABLE = "CACHESAFE_RERUN_NODE"

# Seconds since the epoch; what was computed at import is not much older.
LOADED_AT = time.time()

Scalar = str | int | float | bool
_stack: list[NodeState] = []
_target: tuple[str, str] | None = None


class Reported(Protocol):
    """What `NodeState.record` reads of a report."""

    def as_dict(self) -> Mapping[str, Any]:
        """JSON form; scalar values become JUnit properties."""


class NodeState:
    """One running test.

    `assert_calls` counts the assertions of this package that began in the current attempt; the re-run of the test in
    a child process finds the same assertion by that number. `findings` are the scalar results of this attempt.
    """

    # Keys of a report's JSON form that are worth a JUnit property; others are lists or details.
    PROPERTIES = (
        "verdict", "first_step", "worst_step", "lost_tokens", "lost_blocks", "cause", "origin", "front_end", "engine",
        "tokens", "cached_tokens",
    )  # fmt: skip

    # A generative test asserts hundreds of times; its first reports are enough of properties.
    MOST_RECORDS = 20

    def __init__(self, item: Any) -> None:
        self._item = item
        self._settings: Settings | None = None
        self.nodeid: str = item.nodeid
        self.assert_calls = 0
        self.records = 0
        # A check passed that knows what requests cost.
        self.priced = False
        # Set-up or the test itself failed in this attempt.
        self.failed = False
        self._notes: set[str] = set()
        # Children's prompts by setting; kept here so that every assertion in the test shares one child per setting.
        self.reruns_done: dict[str, Any] = {}
        # The gate of the session, where there is one (`gate.hooks`).
        self.gate: Any = None
        # What takes every report of the session, where reports are asked for (`gate.collect`).
        self.collector: Any = None

    def begin_attempt(self) -> None:
        """Forget everything: a plugin that repeats failing tests starts the same item again."""
        self.assert_calls = 0
        self.records = 0
        self.priced = False
        self.failed = False
        self._notes.clear()
        self.reruns_done.clear()
        if self.gate is not None:
            self.gate.begin(self.nodeid)
        if self.collector is not None:
            self.collector.begin(self.nodeid)
        properties = self._item.user_properties
        properties[:] = [pair for pair in properties if not str(pair[0]).startswith("cachesafe_")]

    @property
    def config(self) -> Any:
        """pytest's configuration object."""
        return self._item.config

    @property
    def path(self) -> Path:
        """The file that holds the test."""
        path: Path = self._item.path
        return path

    @property
    def settings(self) -> Settings:
        """Options in force for this test, each with its origin.

        Raises:
            UsageError: the marker has an unknown keyword or value.
        """
        if self._settings is None:
            from pytest_cachesafe.options import effective

            self._settings = effective(self.config, self.markers())
        return self._settings

    @property
    def reruns(self) -> tuple[str, ...]:
        """Settings that the marker's `rerun=[…]` asks for, to be added to every assertion's `under`."""
        value = self.settings["rerun"].value
        return tuple(value)

    def markers(self) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Arguments and keywords of the `cachesafe` markers, closest level first."""
        return [(mark.args, dict(mark.kwargs)) for mark in self._item.iter_markers("cachesafe")]

    def next_call(self) -> int:
        """Number the assertion that begins now, from 0."""
        number = self.assert_calls
        self.assert_calls += 1
        return number

    @property
    def generative(self) -> bool:
        """Whether the test is run with generated input, so that its checks are others each time."""
        return bool(getattr(getattr(self._item, "obj", None), "is_hypothesis_test", False))

    def record(self, report: Reported, *, passed: bool | None = None) -> None:
        """Keep a report's scalar results as properties of the test (JUnit writes them, xdist carries them).

        The second report in a test gets names that end in `_2`, and so on: JUnit consumers read names as keys.

        Args:
            passed: whether the assertion holds, where it asks for something else than the report does.
        """
        self.records += 1
        if self.records > self.MOST_RECORDS:
            return
        self.collect(report, passed=passed)
        suffix = "" if self.records == 1 else f"_{self.records}"
        values = report.as_dict()
        # What an engine finds of the same requests stands beside what is stable of them.
        values = {**(values.get("reuse") or {}), **values}
        for key in self.PROPERTIES:
            value = values.get(key)
            if isinstance(value, (str, int, float, bool)):
                self.property(f"cachesafe_{key}{suffix}", value)
        for note in (*(values.get("warnings") or ()), *(values.get("notes") or ())):
            self.note(note)

    def collect(self, report: Any, *, passed: bool | None = None) -> None:
        """Keep a report for the reports of the run, where such are asked for."""
        if self.collector is not None and hasattr(report, "gate_kind"):
            self.collector.add(report, self.nodeid, passed=bool(report.passed) if passed is None else passed)

    def property(self, name: str, value: Scalar) -> None:
        """Add one property to the test's report."""
        if isinstance(value, str):
            # xdist cannot send lone surrogates, and a worker that tries dies.
            value = value.encode("utf-8", "backslashreplace").decode("utf-8")
        self._item.user_properties.append((name, value))

    def note(self, text: str) -> None:
        """Have one line shown in the summary at the end of the session, once however often it is noted."""
        line = " ".join(text.split())
        if line not in self._notes:
            self._notes.add(line)
            self.property("cachesafe_note", line)


def push(state: NodeState) -> None:
    """A test begins."""
    _stack.append(state)


def pop() -> None:
    """The test that began last is over."""
    _stack.pop()


def current_node() -> NodeState | None:
    """The running test, or None outside a pytest run with this plugin."""
    return _stack[-1] if _stack else None


def set_rerun_target(target: tuple[str, str] | None) -> None:
    """This process is the child of a re-run: (file for the prompts, node id of the test)."""
    global _target
    _target = target


def rerun_target() -> tuple[str, str] | None:
    """(file for the prompts, node id) in the child of a re-run, else None."""
    return _target


def refuse_idle(state: NodeState) -> None:
    """A test was to be run again, and compared nothing.

    Raises:
        UsageError: it would pass for no reason.
    """
    if state.reruns and not state.assert_calls:
        from pytest_cachesafe.prompt import UsageError

        raise UsageError(
            "@pytest.mark.cachesafe(rerun=…) compared nothing: the test made no assertion of this package; call "
            "assert_prefix_stable(…) or the recording's assert_stable()"
        )
