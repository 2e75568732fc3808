"""One project from its list of files to findings: pre-filter, flow analysis, rules, folding, last look on the tree.

A *unit* is what the analysis of one file gives: where volatile values it can see arrive (in this file or others), and
what the structural rules say of it. Rules on arrivals run when all units are there, since the callers of a function
decide what arrives in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_cachesafe.lint.cache import StoredUnit
from pytest_cachesafe.lint.examine import BINARY, COMMENT, ENTRY, LONG, OVERRIDE, REQUEST, Examiner, Project
from pytest_cachesafe.lint.excerpt import may_be_excerpt
from pytest_cachesafe.lint.literals import Literals, shared_roots
from pytest_cachesafe.lint.overrides import may_override, overriding
from pytest_cachesafe.lint.path_kinds import is_archived
from pytest_cachesafe.lint.units import Unit, decoded, encoded

if TYPE_CHECKING:
    from cachesafe_rules.api import Report, Rule
    from cachesafe_rules.model import Arrival
    from pytest_cachesafe.findings import Finding
    from pytest_cachesafe.lint.cache import Store

__all__ = ["Passed", "Pipeline", "Project"]

# Words of a file that builds requests or keeps a conversation; a structural rule says something of no other file.
# Rules of other packages are asked about every file that holds one of their needles.
_REQUEST_WORDS = (
    b"messages", b"history", b"cache_control", b"cachePoint", b"prompt_cache_key", b"promptCacheKey",
    b"x-grok-conv-id", b"chat.completions", b"contents=", b'"properties"', b"'properties'", b'"tool"', b"'tool'",
    b'"tools"', b"'tools'",
)  # fmt: skip
# Words of a clock that a template reads.
_CLOCK_WORDS = (b"now", b"today", b"strftime", b"time.time", b"current_")
# Below this many bytes every file that is reported on is parsed, so that broken ones are told; in large trees that
# would cost more than all the rest, and what cannot be parsed is other tools' business too.
_PARSE_ALL_BYTES = 1 << 20


class _NoTables(NamedTuple):
    """What the pre-filter asks of a project without additions to the tables."""

    needles: tuple[bytes, ...] = ()


_NO_TABLES = _NoTables()


class Passed(NamedTuple):
    """The outcome: findings named relative to the root, one name per suppressed finding; `extra`: files that were read
    beside those of the index; `unread`: files that could not be read, with the reason."""

    findings: list[Finding]
    suppressed: list[str]
    crashed: list[str]
    warnings: list[str]
    extra: frozenset[str]
    unread: Mapping[str, str] = {}


class Pipeline:
    """One pass over one project."""

    def __init__(self, project: Project, store: Store, jobs: int = 1) -> None:
        self.project = project
        self.jobs = jobs
        self.store = store
        self.crashed: list[str] = []
        self.warnings: list[str] = []
        self.unread: dict[str, str] = {}
        self._units: dict[str, Unit] = {}
        self._raised: frozenset[str] = frozenset()
        # What arrives in prompt templates that read a clock themselves.
        self._templates: dict[str, list[Arrival]] = {}
        self._examiner = Examiner(project, self._read, self.crashed)

    @cached_property
    def _is_entry(self) -> Callable[[bytes, Sequence[bytes]], bool]:
        """Whether a file may hold a sink. The tables are read for the project's own words only, if it has any."""
        from pytest_cachesafe.lint.prefilter import is_entry

        settings = self.project.settings
        tables: Any = _NO_TABLES
        if settings.prompt_names or settings.sink_keywords or settings.sink_calls or settings.flags:
            from pytest_cachesafe.lint.tables.user import Tables

            tables = Tables(settings)
        return lambda data, roots: is_entry(data, tables, roots)

    @cached_property
    def _request_words(self) -> Literals:
        return Literals((*_REQUEST_WORDS, *self.project.rules.other_needles))

    def run(self, wanted: frozenset[str] | None) -> Passed:
        """Lint the project; `wanted` names the files whose findings will be asked for, None for all of them.

        With a few wanted files only what can concern them is analysed; findings elsewhere are then incomplete.
        """
        flags = self._prefilter()
        self._raise(flags)
        candidates = [name for name, flag in flags.items() if flag & (ENTRY | REQUEST) and self._counts(name)]
        looked_at = [name for name in flags if wanted is None or name in wanted]
        # Told by one byte, so in large trees as well.
        candidates += [name for name in looked_at if flags[name] & BINARY and self._counts(name)]
        if sum(self._size(name) for name in looked_at) <= _PARSE_ALL_BYTES:
            self._examiner.parse_limit = _PARSE_ALL_BYTES
            candidates += [n for n in looked_at if not flags[n] & (ENTRY | REQUEST | BINARY) and self._counts(n)]
        self._analyse(candidates, wanted, flags)
        self._look_at_templates(wanted)
        return self._conclude([n for n in looked_at if flags[n] & COMMENT and self._counts(n)])

    def _look_at_templates(self, wanted: frozenset[str] | None) -> None:
        for entry in self.project.templates:
            if self._counts(entry.name) and (wanted is None or entry.name in wanted):
                data = self._text(entry.name)
                if data is not None and any(word in data for word in _CLOCK_WORDS):
                    from pytest_cachesafe.lint.templates import arrivals_in

                    arrivals = arrivals_in(entry.name, data)
                    if arrivals:
                        self._templates[entry.name] = arrivals

    def _counts(self, name: str) -> bool:
        """Whether a file is reported on."""
        return not self.project.left_out(name, None)

    def _size(self, name: str) -> int:
        return len(self.project.overlay[name]) if name in self.project.overlay else self.project.files[name].size

    # Pre-filter

    def _prefilter(self) -> dict[str, int]:
        """Per file: may it hold a sink, may a structural rule apply. Literal bytes only."""
        flags: dict[str, int] = {}
        for name in sorted(self.project.files):
            flag = None if name in self.project.overlay else self.store.flags(name)
            if flag is None:
                data = self._read(name)
                if data is None:
                    continue
                flag = self._flags_of(data)
                if name not in self.project.overlay:
                    self.store.set_flags(name, data, flag)
            flags[name] = flag
        return flags

    def _raise(self, flags: dict[str, int]) -> None:
        """Files that override what a file with a sink calls are looked at as if they held one."""
        may = [name for name, flag in flags.items() if flag & OVERRIDE and self._counts(name)]
        if not may:
            return
        entries = [name for name, flag in flags.items() if flag & ENTRY and self._counts(name)]
        self._raised = overriding(may, entries, self._read)
        for name in self._raised:
            flags[name] |= ENTRY

    def _stored(self, name: str) -> StoredUnit | None:
        """What the cache has of a file; nothing where that was made while no sink could be reached from it."""
        known = self.store.unit(name)
        return None if known is not None and name in self._raised and set(known.used) <= {name} else known

    def _read(self, name: str) -> bytes | None:
        if name in self.project.overlay:
            return self.project.overlay[name]
        try:
            with open(self.project.files[name].path, "rb") as file:
                return file.read()
        except OSError as error:
            # Readable when the folder was looked through, gone or closed now.
            self.unread[name] = error.strerror or str(error)
            return None

    def _flags_of(self, data: bytes) -> int:
        if b"\0" in data:
            return BINARY
        roots = shared_roots(data)
        flag = ENTRY if self._is_entry(data, roots) else 0
        if flag or self._request_words.any(data, roots) or may_be_excerpt(data):
            flag |= REQUEST
        if not flag & ENTRY and may_override(data):
            flag |= OVERRIDE
        # A suppression names us or one of our rules; of a bare `noqa` nobody can say whether it is of use.
        if b"cachesafe" in data or b"CSF" in data:
            flag |= COMMENT
        return flag

    # Analysis

    def _analyse(self, candidates: Sequence[str], wanted: frozenset[str] | None, flags: Mapping[str, int]) -> None:
        """Units of the candidates; with few wanted files, of those that may concern them."""
        if wanted is None:
            if self.jobs > 1:
                self._in_parallel(candidates, flags)
            for name in candidates:
                if name not in self._units:
                    self._units[name] = self._unit(name, flags[name])
            return
        from pytest_cachesafe.lint.reach import Reach

        reach = Reach(self.project.files, self._read)
        focus, left = set(wanted), list(candidates)
        while True:
            # What arrives in a file depends on all of its callers, so files that findings lie in are wanted as well.
            near = reach.of(focus)
            todo = [name for name in left if name in focus or self._concerns(name, focus, near)]
            if not todo:
                return
            for name in todo:
                self._units[name] = self._unit(name, flags[name])
            left = [name for name in left if name not in self._units]
            for name in todo:
                for hit in self._units[name].hits:
                    focus.add(hit.span.filename)
                    # Whoever uses the marked text elsewhere has a say in whether it is a prompt at all.
                    focus.update(_file_of(mark) for mark in hit.marks)

    def _in_parallel(self, candidates: Sequence[str], flags: Mapping[str, int]) -> None:
        """Units that the cache does not have, in several processes."""
        from pytest_cachesafe.lint.parallel import spread

        def work(names: Sequence[str]) -> Any:
            before, unread = len(self.crashed), set(self.unread)
            units = [(name, self._examiner.unit(name, flags[name])) for name in names]
            return [
                [[name, encoded(unit), unit.parsed] for name, unit in units],
                self.crashed[before:],
                {name: reason for name, reason in self.unread.items() if name not in unread},
            ]

        fresh = []
        for name in candidates:
            known = self._kept(name)
            if known is None:
                fresh.append(name)
            else:
                self._units[name] = known
        crashed = list(self.crashed)
        for units, faults, unread in spread(fresh, work, self.jobs):
            crashed += faults
            self.unread.update(unread)
            for name, (hits, votes, reports, used, problem), parsed in units:
                stored = StoredUnit(hits, votes, reports, tuple(used), problem)
                made = decoded(stored, self.project.rules.codes)
                if made is not None:
                    self._units[name] = made
                    if not faults and not unread:
                        self._keep(name, made._replace(parsed=parsed))
        self.crashed[:] = crashed

    def _concerns(self, name: str, focus: set[str], near: frozenset[str] | None) -> bool:
        known = self._stored(name)
        if known is not None:
            return not focus.isdisjoint(known.used) or any(hit[2][0] in focus for hit in known.hits)
        return near is None or name in near

    def _unit(self, name: str, flag: int) -> Unit:
        known = self._kept(name)
        if known is not None:
            return known
        faults = len(self.crashed) + len(self.unread)
        unit = self._examiner.unit(name, flag)
        if len(self.crashed) + len(self.unread) == faults:
            self._keep(name, unit)
        return unit

    def _kept(self, name: str) -> Unit | None:
        """The unit that the cache has, unless it may differ with the text that is not on disk."""
        stored = self._stored(name)
        if stored is None or not self.project.overlay.keys().isdisjoint((name, *stored.used)):
            return None
        return decoded(stored, self.project.rules.codes)

    def _keep(self, name: str, unit: Unit) -> None:
        if unit.parsed and self.project.overlay.keys().isdisjoint((name, *unit.used)):
            self.store.put_unit(name, encoded(unit))

    def _conclude(self, commented: Sequence[str]) -> Passed:
        units = self._units.values()
        if not (commented or self._templates or any(unit.hits or unit.reports or unit.problem for unit in units)):
            # The usual case in a commit hook: nothing of what follows need be imported.
            read = {name for unit in units for name in unit.used}
            extra_files = frozenset(read - self.project.files.keys())
            return Passed([], [], self.crashed, self.warnings, extra_files, self.unread)
        from cachesafe_rules.folding import fold
        from cachesafe_rules.model import ModuleView
        from pytest_cachesafe.lint.conclude import Concluder
        from pytest_cachesafe.lint.evidence.persons import Persons
        from pytest_cachesafe.lint.evidence.releases import Releases
        from pytest_cachesafe.lint.evidence.running.unused import unused
        from pytest_cachesafe.lint.evidence.sending.offered import Offered
        from pytest_cachesafe.lint.evidence.weigh import weighed
        from pytest_cachesafe.lint.flow.analysis import settle

        persons = Persons(self.project.files, self._text)
        releases = Releases(self._text)
        offered = Offered(self.project.root, self.project.files, self._text)
        told: dict[str, list[tuple[Rule, Report]]] = {}
        problems: dict[str, tuple[int, int, str]] = {}
        extra: set[str] = set()
        for name in sorted(self._units):
            unit = self._units[name]
            if unit.reports:
                by_code = self.project.rules.of(code for code, _ in unit.reports)
                told.setdefault(name, []).extend((by_code[code], report) for code, report in unit.reports)
            if unit.problem is not None:
                problems[name] = unit.problem
            extra.update(unit.used)
        if self._templates:
            from pytest_cachesafe.lint.evidence.running.rendered import Rendered

            rendered = Rendered(self.project.files, self._text)
            self._templates = {name: found for name, found in self._templates.items() if rendered.holds(name)}
        # A unit has the two fields of an analysis' result that are read there.
        results: Any = [self._units[name] for name in sorted(self._units)]
        for name, arrivals in (*settle(results).items(), *self._templates.items()):
            if not self._counts(name):
                continue
            used = (a for a in arrivals if not unused(name, a, self.project.files, self._text))
            printed = (a for a in map(offered.printed, used) if a is not None)
            true = (a for a in map(releases.true, printed) if a is not None)
            seen = [a for a in map(persons.differing, true) if a is not None]
            view = ModuleView(name, seen)
            for rule in self.project.rules.on_flows():
                told.setdefault(name, []).extend((rule, report) for report in self._examiner.checked(rule, name, view))
        extra |= releases.asked
        texts = [entry.name for entry in self.project.templates]
        # Tests may stand in a file of any name.
        kept = {n: r for n, r in told.items() if not (is_archived(n) or self.project.left_out(n, self._text(n)))}
        told = weighed(kept, list(self.project.files), self._text, texts)
        folded = {name: fold(reports) for name, reports in told.items() if reports}
        self._examiner.rest(wholly=any(self._size(name) > LONG for name in folded if name in self.project.files))
        concluded = Concluder(self.project, self.store, self._text).conclude(folded, problems, commented)
        return Passed(
            concluded.findings,
            concluded.suppressed,
            [*self.crashed, *concluded.crashed],
            [*self.warnings, *concluded.warnings],
            frozenset(extra - self.project.files.keys()),
            self.unread,
        )

    def _text(self, name: str) -> bytes | None:
        """Any file of the project, prompt templates as well."""
        if name in self.project.overlay:
            return self.project.overlay[name]
        entry = self.project.files.get(name)
        try:
            with open(entry.path if entry is not None else os.path.join(self.project.root, name), "rb") as file:
                return file.read()
        except (OSError, ValueError):
            return None


def _file_of(mark: str) -> str:
    """The file of a mark, `kind:file:row:column`."""
    return mark.partition(":")[2].rsplit(":", 2)[0]
