"""One project from its list of files to findings: pre-filter, flow analysis, rules, folding, last look on the tree.

A *unit* is what the analysis of one file gives: where volatile values it can see arrive (in this file or others), and
what the structural rules say of it. Rules on arrivals run when all units are there, since the callers of a function
decide what arrives in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_cachesafe.lint.discover import is_test_path
from pytest_cachesafe.lint.late import LateTaints

if TYPE_CHECKING:
    import ast

    from cachesafe_rules.api import Report, Rule
    from cachesafe_rules.model import Taint

    from pytest_cachesafe.findings import Finding
    from pytest_cachesafe.lint.cache import Store
    from pytest_cachesafe.lint.discover import FileEntry
    from pytest_cachesafe.lint.flow.analysis import Analysis
    from pytest_cachesafe.lint.flow.arrive import Hit
    from pytest_cachesafe.lint.parse import Parsed
    from pytest_cachesafe.lint.rule_set import RuleSet
    from pytest_cachesafe.lint.settings import Settings

__all__ = ["Passed", "Pipeline", "Project"]

Lookup = tuple[str, str, int, "str | None"]

_ENTRY, _REQUEST, _BINARY, _COMMENT = 1, 2, 4, 8
# Words of a file that builds requests or keeps a conversation; a structural rule says something of no other file.
# Rules of other packages are asked about every file that holds one of their needles.
_REQUEST_WORDS = (
    b"messages", b"history", b"cache_control", b"cachePoint", b"prompt_cache_key", b"promptCacheKey",
    b"x-grok-conv-id", b"chat.completions",
)  # fmt: skip
# Below this many bytes every file that is reported on is parsed, so that broken ones are told; in large trees that
# would cost more than all the rest, and what cannot be parsed is other tools' business too.
_PARSE_ALL_BYTES = 1 << 20


class _NoTables(NamedTuple):
    """What the pre-filter asks of a project without additions to the tables."""

    needles: tuple[bytes, ...] = ()


_NO_TABLES = _NoTables()


class Project(NamedTuple):
    """What a run works on. `files`: all of the project's Python files by name; `overlay`: text that is not on disk."""

    root: str
    files: Mapping[str, FileEntry]
    settings: Settings
    rules: RuleSet
    overlay: Mapping[str, bytes]
    include_tests: bool = False
    strict: bool = False


class Passed(NamedTuple):
    """The outcome: findings named relative to the root, one name per suppressed finding; `extra`: files that were read
    beside those of the index."""

    findings: list[Finding]
    suppressed: list[str]
    crashed: list[str]
    warnings: list[str]
    extra: frozenset[str]


class _Unit(NamedTuple):
    """What the analysis of one file gives; `hits` and `votes` of all files together say what arrives."""

    hits: Sequence[Hit]
    votes: Sequence[tuple[str, str]]
    reports: Sequence[tuple[str, Report]]
    used: tuple[str, ...]
    lookups: tuple[Lookup, ...] = ()
    # Row, column and message where the file cannot be parsed.
    problem: tuple[int, int, str] | None = None


class Pipeline:
    """One pass over one project."""

    def __init__(self, project: Project, store: Store, jobs: int = 1) -> None:
        self.project = project
        self.jobs = jobs
        self.store = store
        self._parse_limit = _PARSE_ALL_BYTES
        self.crashed: list[str] = []
        self.warnings: list[str] = []
        self._units: dict[str, _Unit] = {}
        self._options = _names_for_rules(project.settings)

    @cached_property
    def analysis(self) -> Analysis:
        """The flow analysis; where no file can hold a sink it is not even imported."""
        from pathlib import Path

        from pytest_cachesafe.lint.flow.analysis import Analysis

        project = self.project
        return Analysis(Path(project.root), project.files, project.settings, project.overlay)

    @cached_property
    def _is_entry(self) -> Callable[[bytes], bool]:
        """Whether a file may hold a sink. The tables are read for the project's own words only, if it has any."""
        from pytest_cachesafe.lint.prefilter import is_entry

        settings = self.project.settings
        tables: Any = _NO_TABLES
        if settings.prompt_names or settings.sink_keywords or settings.sink_calls or settings.flags:
            from pytest_cachesafe.lint.tables.user import Tables

            tables = Tables(settings)
        return lambda data: is_entry(data, tables)

    def run(self, wanted: frozenset[str] | None) -> Passed:
        """Lint the project; `wanted` names the files whose findings will be asked for, None for all of them.

        With a few wanted files only what can concern them is analysed; findings elsewhere are then incomplete.
        """
        flags = self._prefilter()
        candidates = [name for name, flag in flags.items() if flag & (_ENTRY | _REQUEST) and self._counts(name)]
        looked_at = [name for name in flags if wanted is None or name in wanted]
        # Told by one byte, so in large trees as well.
        candidates += [name for name in looked_at if flags[name] & _BINARY and self._counts(name)]
        self._parse_limit = _PARSE_ALL_BYTES
        if sum(self._size(name) for name in looked_at) > _PARSE_ALL_BYTES:
            self._parse_limit = -1
        else:
            candidates += [n for n in looked_at if not flags[n] & (_ENTRY | _REQUEST | _BINARY) and self._counts(n)]
        self._analyse(candidates, wanted, flags)
        return self._conclude([n for n in looked_at if flags[n] & _COMMENT and self._counts(n)])

    def _counts(self, name: str) -> bool:
        """Whether a file is production code (or tests are asked for): a test's own prompts harm nobody."""
        return self.project.include_tests or not is_test_path(name)

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

    def _read(self, name: str) -> bytes | None:
        if name in self.project.overlay:
            return self.project.overlay[name]
        try:
            with open(self.project.files[name].path, "rb") as file:
                return file.read()
        except OSError as error:
            # Readable when the folder was looked through, gone or closed now.
            self.crashed.append(f"{name}: cannot be read: {error.strerror or error}")
            return None

    def _flags_of(self, data: bytes) -> int:
        if b"\0" in data:
            return _BINARY
        flag = _ENTRY if self._is_entry(data) else 0
        words = (*_REQUEST_WORDS, *self.project.rules.other_needles)
        if flag or any(word in data for word in words):
            flag |= _REQUEST
        # A suppression names us or one of our rules; of a bare `noqa` nobody can say whether it is of use.
        if b"cachesafe" in data or b"CSF" in data:
            flag |= _COMMENT
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
        from pytest_cachesafe.lint.cache import Unit
        from pytest_cachesafe.lint.parallel import spread

        def work(names: Sequence[str]) -> Any:
            before = len(self.crashed)
            units = [[name, _encoded(self._fresh(name, flags[name]))] for name in names]
            return [units, self.crashed[before:]]

        fresh = [name for name in candidates if name in self.project.overlay or self.store.unit(name) is None]
        crashed = list(self.crashed)
        for units, faults in spread(fresh, work, self.jobs):
            crashed += faults
            for name, value in units:
                hits, votes, reports, used, lookups, problem = value
                stored = Unit(hits, votes, reports, tuple(used), tuple((a, b, c, d) for a, b, c, d in lookups), problem)
                made = _decoded(stored, self.project.rules.codes)
                if made is None:
                    continue
                self._units[name] = made
                if not faults and not self.project.overlay:
                    self.store.put_unit(name, stored)
        self.crashed[:] = crashed

    def _concerns(self, name: str, focus: set[str], near: frozenset[str] | None) -> bool:
        known = self.store.unit(name)
        if known is not None:
            return not focus.isdisjoint(known.used) or any(hit[2][0] in focus for hit in known.hits)
        return near is None or name in near

    def _unit(self, name: str, flag: int) -> _Unit:
        if name not in self.project.overlay:
            known = self.store.unit(name)
            if known is not None:
                made = _decoded(known, self.project.rules.codes)
                if made is not None:
                    return made
        crashes = len(self.crashed)
        unit = self._fresh(name, flag)
        touched = self.project.overlay and not self.project.overlay.keys().isdisjoint(unit.used)
        if len(self.crashed) == crashes and not touched and name not in self.project.overlay:
            self.store.put_unit(name, _encoded(unit))
        return unit

    def _fresh(self, name: str, flag: int) -> _Unit:
        rules = self._structural_rules(name) if flag & _REQUEST else []
        if not flag & _ENTRY:
            return self._without_sink(name, rules, force=bool(flag & _BINARY))
        try:
            result = self.analysis.analyse(name)
        except Exception as error:
            self.crashed.append(f"{name}: the flow analysis failed: {_words(error)}")
            return _Unit((), (), (), (name,))
        used = tuple(dict.fromkeys((name, *result.used)))
        parsed = result.parsed
        problem = None
        reports: list[tuple[str, Report]] = []
        if parsed is None or parsed.tree is None:
            fault = parsed.error if parsed is not None else None
            problem = (fault.row, fault.column, fault.message) if fault is not None else (1, 1, "cannot be read")
        elif rules:
            reports = self._structural(name, parsed, result.taints, rules)
        return _Unit(result.hits, result.votes, reports, used, result.lookups, problem)

    def _without_sink(self, name: str, rules: Sequence[Rule], *, force: bool) -> _Unit:
        """A file in which nothing can arrive: its syntax, and the structural rules, for which the flow analysis is
        asked only if one of them wants to know where a value comes from."""
        from pytest_cachesafe.lint.parse import parse

        if not rules and not force and self._size(name) > self._parse_limit:
            return _Unit((), (), (), (name,))
        parsed = parse(self._read(name) or b"", name)
        if parsed.tree is None:
            fault = parsed.error
            return _Unit((), (), (), (name,), (), None if fault is None else (fault.row, fault.column, fault.message))
        if not rules:
            return _Unit((), (), (), (name,))
        late = LateTaints(name, lambda: self.analysis.analyse(name))
        reports = self._structural(name, parsed, late.taints, rules)
        result = late.result
        if result is None:
            return _Unit((), (), reports, (name,))
        return _Unit((), (), reports, tuple(dict.fromkeys((name, *result.used))), result.lookups)

    def _structural_rules(self, name: str) -> list[Rule]:
        data = self._read(name) or b""
        # Many rules ask for the same words.
        found: dict[bytes, bool] = {}

        def holds(needle: bytes) -> bool:
            known = found.get(needle)
            if known is None:
                known = found[needle] = needle in data
            return known

        return [rule for rule in self.project.rules.on_trees() if any(map(holds, rule.needles))]

    def _structural(
        self, name: str, parsed: Parsed, taints: Callable[[ast.AST], tuple[Taint, ...]], rules: Sequence[Rule]
    ) -> list[tuple[str, Report]]:
        from pytest_cachesafe.lint.parse import column
        from pytest_cachesafe.lint.view import build_view

        tree = parsed.tree
        if tree is None:
            return []
        try:
            view = build_view(tree, name, lambda row, offset: column(parsed, row, offset), taints)
        except Exception as error:
            self.crashed.append(f"{name}: the view for the rules failed: {_words(error)}")
            return []
        return [(rule.code, report) for rule in rules for report in self._checked(rule, name, view)]

    def _checked(self, rule: Rule, name: str, view: Any) -> list[Report]:
        """A rule's reports on a file; a rule that fails is named, and the others go on."""
        from cachesafe_rules.api import Context, Report

        reports: list[Report] = []
        try:
            for report in rule.check(Context(name, view, self._options)):
                if not isinstance(report, Report):
                    raise TypeError(f"check() yields Report objects, not {type(report).__name__}")
                if report.data:
                    # As it will come out of the cache: lists for tuples, strings for keys.
                    report.data = json.loads(json.dumps(report.data))
                reports.append(report)
        except Exception as error:
            self.crashed.append(f"{rule.code} ({rule.name}) failed on {name}: {_words(error)}")
            return []
        return reports

    # From units to findings

    def _conclude(self, commented: Sequence[str]) -> Passed:
        units = self._units.values()
        if not (commented or any(unit.hits or unit.reports or unit.problem for unit in units)):
            # The usual case in a commit hook: nothing of what follows need be imported.
            read = {name for unit in units for name in unit.used}
            return Passed([], [], self.crashed, self.warnings, frozenset(read - self.project.files.keys()))
        from cachesafe_rules.folding import fold
        from cachesafe_rules.model import ModuleView

        from pytest_cachesafe.lint.conclude import Concluder
        from pytest_cachesafe.lint.flow.analysis import settle

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
        # A unit has the two fields of an analysis' result that are read there.
        results: Any = [self._units[name] for name in sorted(self._units)]
        for name, arrivals in settle(results).items():
            if not self._counts(name):
                continue
            view = ModuleView(name, arrivals)
            for rule in self.project.rules.on_flows():
                told.setdefault(name, []).extend((rule, report) for report in self._checked(rule, name, view))
        folded = {name: fold(reports) for name, reports in told.items() if reports}
        concluded = Concluder(self.project, self.store, self._text).conclude(folded, problems, commented)
        return Passed(
            concluded.findings,
            concluded.suppressed,
            [*self.crashed, *concluded.crashed],
            [*self.warnings, *concluded.warnings],
            frozenset(extra - self.project.files.keys()),
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


def _names_for_rules(settings: Settings) -> dict[str, Any]:
    fields: Iterable[str] = getattr(settings, "__dataclass_fields__", ())
    return {name: getattr(settings, name) for name in fields}


def _file_of(mark: str) -> str:
    """The file of a mark, `kind:file:row:column`."""
    return mark.partition(":")[2].rsplit(":", 2)[0]


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _encoded(unit: _Unit) -> Any:
    from pytest_cachesafe.lint.cache import Unit

    problem = list(unit.problem) if unit.problem is not None else None
    if not unit.hits and not unit.reports:
        return Unit([], [list(vote) for vote in dict.fromkeys(unit.votes)], [], unit.used, unit.lookups, problem)
    from pytest_cachesafe.lint.encode import hit_json, report_json

    return Unit(
        [hit_json(hit) for hit in unit.hits],
        [list(vote) for vote in dict.fromkeys(unit.votes)],
        [[code, report_json(report)] for code, report in unit.reports],
        unit.used,
        unit.lookups,
        problem,
    )


def _decoded(unit: Any, codes: frozenset[str]) -> _Unit | None:
    """A unit from the cache; None where it is damaged."""
    try:
        hits: list[Hit] = []
        reports: list[tuple[str, Report]] = []
        if unit.hits or unit.reports:
            from pytest_cachesafe.lint.encode import hit_from, report_from

            hits = list(map(hit_from, unit.hits))
            reports = [(code, report_from(report)) for code, report in unit.reports]
        if any(code not in codes for code, _ in reports):
            return None
        problem = None
        if unit.problem is not None:
            row, column, message = unit.problem
            problem = (int(row), int(column), str(message))
        votes = [(str(mark), str(word)) for mark, word in unit.votes]
        return _Unit(hits, votes, reports, unit.used, unit.lookups, problem)
    except (TypeError, ValueError, IndexError, KeyError):
        return None
