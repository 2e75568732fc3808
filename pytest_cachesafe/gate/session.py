"""One pytest run's side of the gate: what its checks found, held against the lock file as they end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_cachesafe.gate.compare import Difference, compare_entries
from pytest_cachesafe.gate.entry import Entry, entry_of
from pytest_cachesafe.gate.expression import Bound
from pytest_cachesafe.gate.lockfile import Lock, read, write
from pytest_cachesafe.usage import UsageError

__all__ = ["Gate", "GateFailure", "Leftovers", "in_ci"]

# An unnamed check in a loop leaves one entry per round; more than these say nothing that a reviewer reads.
_MOST_UNNAMED = 20


class GateFailure(AssertionError):
    """A check that passed got worse than the lock file allows, or has no entry in it; `str()` says what to do."""


def in_ci(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a CI runs this: then nothing is written, and what is missing fails."""
    return environ.get("CI", "").lower() not in ("", "0", "false") or "TF_BUILD" in environ or "BUILD_NUMBER" in environ


@dataclass(slots=True)
class Leftovers:
    """Entries that no check of this run stands behind."""

    unused: list[Entry] = field(default_factory=list)
    # Why it could not be told for the others ("the run was narrowed by -k").
    narrowed: str | None = None


@dataclass
class Gate:
    """The gate of one run.

    Args:
        path: the lock file; root: pytest's root folder.
        bounds: what fails, by metric; informational: nothing fails, everything is told.
        update: rewrite entries; new_only: add those that are missing and leave the others.
        ci: a CI runs this.
    """

    path: Path
    root: Path
    bounds: Mapping[str, Bound]
    update: bool = False
    new_only: bool = False
    informational: bool = False
    ci: bool = False
    prefix_change: str = "warn"
    seen: dict[tuple[str, str], Entry] = field(default_factory=dict)
    # Names taken in the test that runs, by node id.
    _names: dict[str, dict[str, int]] = field(default_factory=dict)
    # (test, sentence): told at the end of the run.
    told: list[tuple[str, str]] = field(default_factory=list)
    # Told of everything that got worse: (test, name, text, whether it failed the test).
    listener: Callable[[str, str, str, bool], None] | None = None
    _lock: Lock | None = None
    _read: bool = False

    @property
    def shown(self) -> str:
        """The lock file as messages name it."""
        try:
            return self.path.relative_to(self.root).as_posix()
        except ValueError:
            return self.path.name

    @property
    def lock(self) -> Lock | None:
        """The lock file as it was when the run began; None where there is none.

        Raises:
            UsageError: it cannot be read (see `lockfile.read`).
        """
        if not self._read:
            self._lock = read(self.path)
            self._read = True
        return self._lock

    def begin(self, test: str) -> None:
        """A test begins, or is tried again: its names are free."""
        self._names.pop(test, None)

    def check(self, report: Any, test: str, *, failing_names: bool = True) -> Difference | None:
        """Hold one passed check against its entry.

        Raises:
            GateFailure: it got worse, or has no entry in a CI.
            UsageError: a name that was used before in this test, two contradicting entries in the file.
        """
        name = self._name(report, test)
        if name is None:
            return None
        entry = entry_of(report, test, name)
        self.seen[entry.key] = entry
        lock = self.lock
        before = None if lock is None else lock.get(entry.key)
        if self.update or (self.new_only and before is None):
            return None
        self._refuse_contradiction(lock, entry)
        if before is None:
            self._missing(entry, lock)
            return None
        found = compare_entries(before, entry, self.bounds)
        if found.rebaseline is not None:
            self._fail(
                entry,
                f"{found.rebaseline}: re-baseline needed, the numbers in {self.shown} say nothing any more\n"
                f"{self._side_by_side(before, entry)}\n  if this is meant: pytest --cachesafe-update {_quoted(test)}",
            )
            return found
        for change in found.changes:
            if change.metric == "prefix" and not change.fails and self.prefix_change == "warn":
                self.told.append((test, change.text))
        failing = found.failing
        if failing:
            head = "; ".join(change.text for change in failing)
            self._fail(entry, f"{head}\n  if this is meant: pytest --cachesafe-update {_quoted(test)}")
        return found

    def _name(self, report: Any, test: str) -> str | None:
        taken = self._names.setdefault(test, {})
        given = getattr(report, "name", None)
        name = given or report.gate_kind
        taken[name] = count = taken.get(name, 0) + 1
        if count == 1:
            return str(name)
        if given:
            raise UsageError(
                f"two checks of {test} are named {given!r}: the lock file needs a name= of its own for each"
            )
        return f"{name}#{count}" if count <= _MOST_UNNAMED else None

    def _refuse_contradiction(self, lock: Lock | None, entry: Entry) -> None:
        for key, first, second in lock.contradictions if lock is not None else ():
            if key == entry.key:
                raise UsageError(
                    f"{self.shown}: lines {first} and {second} contradict each other (both for {entry.test}, "
                    f"{entry.name}): a merge kept both; delete one, or run pytest --cachesafe-update "
                    f"{_quoted(entry.test)}"
                )

    def _missing(self, entry: Entry, lock: Lock | None) -> None:
        where = f"{self.shown} has no entry for it" if lock is not None else f"there is no {self.shown}"
        advice = "run pytest --cachesafe-update-new-only and commit the file"
        if self.ci:
            self._fail(entry, f"{where}: {advice}")
        else:
            self.told.append((entry.test, f"{entry.name}: {where}; {advice}"))

    def _fail(self, entry: Entry, words: str) -> None:
        text = f"cache regression in {entry.name}: {words}"
        if self.listener is not None:
            self.listener(entry.test, entry.name, text.split("\n")[0], not self.informational)
        if self.informational:
            self.told.append((entry.test, text.split("\n")[0]))
            return
        raise GateFailure(text)

    def _side_by_side(self, before: Entry, now: Entry) -> str:
        rows = [("", "lock file", "now")]
        rows.append(("prompt tokens", f"{before.tokens:,}", f"{now.tokens:,}"))
        for key in sorted(before.kept.keys() | now.kept.keys()):
            was, is_now = (
                "not checked" if key not in e.kept else f"{e.kept[key]:,} of {e.reusable:,}" for e in (before, now)
            )
            rows.append((f"kept ({key})", was, is_now))
        rows.append(("cause of loss", before.cause or "none", now.cause or "none"))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        return "\n".join(
            "    " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows
        )

    # The end of the run.

    def merge(self, entries: Iterable[Mapping[str, Any]], told: Sequence[Sequence[str]] = ()) -> None:
        """Take over what a worker found. Linear in what it found."""
        from pytest_cachesafe.gate.lockfile import from_dict

        for values in entries:
            entry = from_dict(values)
            self.seen[entry.key] = entry
        self.told += [(str(test), str(text)) for test, text in told]

    def leftovers(self, collected: frozenset[str], ran: frozenset[str], narrowed: str | None) -> Leftovers:
        """Entries without a check: their test is gone, or ran and passed without it.

        Args:
            collected: node ids of everything pytest collected; ran: those that passed.
            narrowed: why a test that was not collected may exist all the same; None: everything was collected.
        """
        found = Leftovers(narrowed=narrowed)
        for key, entry in (self.lock.entries if self.lock is not None else {}).items():
            if key in self.seen:
                continue
            gone = entry.test not in collected and narrowed is None
            if gone or entry.test in ran:
                found.unused.append(entry)
        return found

    def write(self, leftovers: Leftovers) -> str | None:
        """Write the lock file if this run may; returns what was done, in words.

        Raises:
            UsageError: it cannot be written.
        """
        if not (self.update or self.new_only):
            return None
        before = dict(self.lock.entries) if self.lock is not None else {}
        now = dict(before)
        if self.update:
            for entry in leftovers.unused:
                now.pop(entry.key, None)
            now |= self.seen
        else:
            now |= {key: entry for key, entry in self.seen.items() if key not in before}
        if not now and not before:
            return f"{self.shown} not written: no check of this run goes into it"
        if not write(self.path, now):
            return f"{self.shown} is up to date ({_entries(len(now))})"
        added, removed = len(now.keys() - before.keys()), len(before.keys() - now.keys())
        changed = sum(before[key] != now[key] for key in now.keys() & before.keys())
        return f"{self.shown} written: {added} added, {changed} changed, {removed} removed, {_entries(len(now))} in all"


def _entries(n: int) -> str:
    return f"{n} entr{'y' if n == 1 else 'ies'}"


def _quoted(test: str) -> str:
    from shlex import quote

    return quote(test)
