"""One pytest run's side of the gate: what its checks found, held against the lock file as they end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_cachesafe.gate.compare import Change, Difference, compare_entries
from pytest_cachesafe.gate.entry import Entry, entry_of
from pytest_cachesafe.gate.expression import Bound
from pytest_cachesafe.gate.lockfile import Lock, read, write
from pytest_cachesafe.report.visible import visible
from pytest_cachesafe.usage import UsageError

__all__ = ["Gate", "GateFailure", "Leftovers", "fixture_id", "in_ci"]

# An unnamed check in a loop leaves one entry per round; more than these say nothing that a reviewer reads.
_MOST_UNNAMED = 20


class GateFailure(AssertionError):
    """A check that passed got worse than the lock file allows, or has no entry in it; `str()` says what to do."""

    # It has no entry in it.
    absent = False


def in_ci(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a CI runs this: then nothing is written, and what is missing fails."""
    return environ.get("CI", "").lower() not in ("", "0", "false") or "TF_BUILD" in environ or "BUILD_NUMBER" in environ


@dataclass(slots=True)
class Leftovers:
    """Entries that no check of this run stands behind."""

    # Test and name of each.
    unused: list[tuple[str, str]] = field(default_factory=list)


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
    # Names taken in each test, with how often they were asked for.
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
            # Whoever writes the file anew may find it broken.
            self._lock = read(self.path, mend=self.update)
            self._read = True
        return self._lock

    def begin(self, test: str) -> None:
        """A test begins, or is tried again: what an earlier attempt found does not count."""
        for name in self._names.pop(test, ()):
            self.seen.pop((test, name), None)
            self.told[:] = [pair for pair in self.told if pair[0] != test]

    def check(self, report: Any, test: str, *, generative: bool = False) -> Difference | None:
        """Hold one passed check against its entry.

        Args:
            report: what it found; test: its node id.
            generative: the test runs many times with generated input: the first check of a name counts, which is made
                with the simplest input; unnamed ones do not.

        Raises:
            GateFailure: it got worse, or has no entry in a CI.
            UsageError: a name that was used before in this test, two contradicting entries in the file.
        """
        name = self._name(report, test, generative=generative)
        if name is None:
            return None
        entry = entry_of(report, test, name)
        self.seen[entry.key] = entry
        lock = self.lock
        before = None if lock is None else lock.get(entry.key)
        if self.update or (self.new_only and before is None):
            return None
        if before is None:
            self._missing(entry, lock)
            return None
        if lock is not None and entry.key in lock.rivals:
            if entry in lock.rivals[entry.key]:
                # What one of the branches wrote is what the merged code does: that line is right.
                return None
            self._contradicted(lock, entry)
            return None
        found = compare_entries(before, entry, self.bounds)
        if found.rebaseline is not None:
            self._fail(
                entry,
                f"{visible(found.rebaseline)}: re-baseline needed, the numbers in {self.shown} say nothing any more\n"
                f"{self._side_by_side(before, entry)}\n  if this is meant: pytest --cachesafe-update {_quoted(test)}",
            )
            return found
        for change in found.changes:
            warned = change.metric == "prefix" and not change.fails and self.prefix_change == "warn"
            if warned:
                self.told.append((test, change.text))
            elif change.metric == "gone":
                self.told.append((test, f"{name}: {change.text}"))
        failing = found.failing
        if failing:
            head = "; ".join(visible(change.text) for change in failing)
            self._fail(
                entry,
                f"{head}{_most_lost(report, failing)}\n  if this is meant: pytest --cachesafe-update {_quoted(test)}",
            )
        return found

    def _name(self, report: Any, test: str, *, generative: bool) -> str | None:
        taken = self._names.setdefault(test, {})
        given = getattr(report, "name", None)
        if generative and (not given or str(given) in taken):
            return None
        name = str(given or report.gate_kind)
        count = taken.get(name, 0) + 1
        if given and count > 1:
            raise UsageError(
                f"two checks of {test} are named {given!r}: the lock file needs a name= of its own for each"
            )
        taken[name] = count
        if count == 1:
            return name
        if count > _MOST_UNNAMED:
            if count == _MOST_UNNAMED + 1:
                self.told.append(
                    (test, f"more than {_MOST_UNNAMED} checks without a name: the others are not held against the lock")
                )
            return None
        name = f"{name}#{count}"
        if name in taken:
            raise UsageError(f"a check of {test} is named {name!r}, as an unnamed one is: give it another name=")
        taken[name] = 1
        return name

    def _contradicted(self, lock: Lock, entry: Entry) -> None:
        first, second = next((first, second) for key, first, second in lock.contradictions if key == entry.key)
        if self.informational:
            # Nothing fails then, and the summary names both lines.
            return
        raise UsageError(
            f"{self.shown}: lines {first} and {second} contradict each other (both for {visible(entry.test)}, "
            f"{visible(entry.name)}): a merge kept both; delete one, or run pytest --cachesafe-update "
            f"{_quoted(entry.test)}"
        )

    def _missing(self, entry: Entry, lock: Lock | None) -> None:
        where = f"{self.shown} has no entry for it" if lock is not None else f"there is no {self.shown}"
        advice = "run pytest --cachesafe-update-new-only and commit the file"
        if self.ci:
            self._fail(entry, f"{where}: {advice}", head="not in the lock file:", absent=True)
        else:
            self.told.append((entry.test, f"{entry.name}: {where}; {advice}"))

    def _fail(self, entry: Entry, words: str, *, head: str = "cache regression in", absent: bool = False) -> None:
        text = f"{head} {visible(entry.name)}: {words}"
        if self.listener is not None:
            self.listener(entry.test, entry.name, text.split("\n")[0], not self.informational)
        if self.informational:
            self.told.append((entry.test, text.split("\n")[0]))
            return
        failure = GateFailure(text)
        failure.absent = absent
        raise failure

    def _side_by_side(self, before: Entry, now: Entry) -> str:
        rows = [("", "lock file", "now")]
        rows.append(("prompt tokens", f"{before.tokens:,}", f"{now.tokens:,}"))
        for key in sorted(before.kept.keys() | now.kept.keys()):
            was, is_now = (
                "not checked" if key not in e.kept else f"{e.kept[key]:,} of {e.reusable:,}" for e in (before, now)
            )
            rows.append((f"kept ({key})", was, is_now))
        rows.append(("cause of loss", before.cause or "none", now.cause or "none"))
        # A lock file is as untrusted as the branch that it came with.
        rows = [(visible(what), visible(was), visible(is_now)) for what, was, is_now in rows]
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

    def leftovers(self, collected: Set[str], ran: Set[str], tells: Callable[[str], bool]) -> Leftovers:
        """Entries without a check: their test is gone, or ran and passed without it.

        Args:
            collected: node ids of everything pytest collected; ran: those that passed.
            tells: whether a test that was not collected does not exist any more.
        """
        found = Leftovers()
        for key in self.lock.entries if self.lock is not None else ():
            if key in self.seen:
                continue
            if key[0].endswith(_FIXTURE):
                gone = tells(key[0]) and _all_passed(key[0], collected, ran)
            else:
                gone = key[0] in ran or (key[0] not in collected and tells(key[0]))
            if gone:
                found.unused.append(key)
        return found

    def write(self, leftovers: Leftovers, *, whole: bool = True) -> str | None:
        """Write the lock file if this run may; returns what was done, in words.

        Args:
            leftovers: entries to drop; whole: every test was run, so that a broken file can be written anew.

        Raises:
            UsageError: it cannot be written, or would lose entries that only a whole run can give back.
        """
        if not (self.update or self.new_only):
            return None
        # One without a good line is empty, and still holds what was dropped.
        lock = self.lock if self.lock is not None else Lock()
        if lock.dropped and not whole:
            raise UsageError(f"{lock.dropped[0]}: not written: run all tests with --cachesafe-update to mend the file")
        before = lock.entries
        rivals = {key: entries for key, entries in lock.rivals.items() if self._unsettled(key, entries)}
        now = dict(before)
        if self.update:
            for key in leftovers.unused:
                now.pop(key, None)
            now |= self.seen
        else:
            settled = lock.rivals.keys() - rivals.keys()
            now |= {key: entry for key, entry in self.seen.items() if key not in before or key in settled}
        if not now and not before:
            return f"{self.shown} not written: no check of this run goes into it"
        if not write(self.path, now, rivals):
            return f"{self.shown} is up to date ({_entries(len(now))})"
        added, removed = len(now.keys() - before.keys()), len(before.keys() - now.keys())
        changed = sum(before[key] != now[key] for key in now.keys() & before.keys())
        self.told += [("lock file", f"{words}: dropped") for words in lock.dropped]
        return f"{self.shown} written: {added} added, {changed} changed, {removed} removed, {_entries(len(now))} in all"

    def _unsettled(self, key: tuple[str, str], rivals: Sequence[Entry]) -> bool:
        """Whether this run leaves open which of two contradicting lines is right."""
        found = self.seen.get(key)
        return found is None or not (self.update or found in rivals)


def _entries(n: int) -> str:
    return f"{n} entr{'y' if n == 1 else 'ies'}"


def _most_lost(report: Any, failing: Sequence[Change]) -> str:
    """A line on where most of it is lost now; empty where the check does not know, or nothing is lost more."""
    found = getattr(report, "most_lost", None) if any(change.tokens for change in failing) else None
    if found is None:
        return ""
    from pytest_cachesafe.prefix.wording import lost_most

    step, divergence, accepted = found
    return f"\n  {visible(lost_most(step, divergence, accepted=accepted, exact=report.exact))}"


def _all_passed(fixture: str, collected: Set[str], ran: Set[str]) -> bool:
    """Whether nothing kept a fixture from being set up: all tests that can use it passed."""
    node = fixture.rpartition("::")[0]
    return all(test in ran for test in collected if node == "." or test.startswith((f"{node}::", f"{node}/")))


_FIXTURE = " (fixture)"


def fixture_id(node: str, name: str, index: int = 0) -> str:
    """What stands for the test where a fixture checks, set up once for a class, module, package or session.

    Args:
        node: node id of what it is set up for, empty for the session; index: which of its parameters.
    """
    return f"{node or '.'}::{name}{f'[{index}]' if index else ''}{_FIXTURE}"


def _quoted(test: str) -> str:
    from shlex import quote

    # pytest selects no fixture: all that use it are run.
    return visible(quote(test.rpartition("::")[0] if test.endswith(_FIXTURE) else test))
