"""A look at one file: what arrives in it or through it, and what the structural rules say of its tree."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_cachesafe.lint.docstrings import code_of
from pytest_cachesafe.lint.excerpt import may_be_excerpt
from pytest_cachesafe.lint.late import LateTaints
from pytest_cachesafe.lint.units import Unit

if TYPE_CHECKING:
    import ast

    from cachesafe_rules.api import Report, Rule
    from cachesafe_rules.model import Taint
    from pytest_cachesafe.lint.flow.analysis import Analysis
    from pytest_cachesafe.lint.parse import Parsed
    from pytest_cachesafe.lint.rule_set import RuleSet
    from pytest_cachesafe.lint.settings import Settings
    from pytest_cachesafe.lint.walk import FileEntry

__all__ = ["BINARY", "COMMENT", "ENTRY", "LONG", "OVERRIDE", "REQUEST", "Examiner", "Project"]

# Bytes of a file whose tree and view should be alone in memory.
LONG = 1_000_000

# What the pre-filter knows of a file: may hold a sink, builds requests or keeps a conversation, is no text, may hold a
# suppression, may override something of a file that holds a sink.
ENTRY, REQUEST, BINARY, COMMENT, OVERRIDE = 1, 2, 4, 8, 16


class Project(NamedTuple):
    """What a run works on. `files`: all of the project's Python files by name; `overlay`: text that is not on disk;
    `left_out`: whether a file is a test that no one asked for, whose own prompts harm nobody; `fixes`: whether
    changes are wanted with the findings, which cost more than they do."""

    root: str
    files: Mapping[str, FileEntry]
    settings: Settings
    rules: RuleSet
    overlay: Mapping[str, bytes]
    left_out: Callable[[str, bytes | None], bool] = lambda name, data: False
    strict: bool = False
    fixes: bool = True
    templates: Sequence[FileEntry] = ()


class Examiner:
    """Looks at files of one project. `crashed` collects what failed; files above `parse_limit` bytes that concern no
    rule are not parsed."""

    def __init__(self, project: Project, read: Callable[[str], bytes | None], crashed: list[str]) -> None:
        self.project = project
        self.crashed = crashed
        self.parse_limit = 0
        self._read = read
        self._options = _names_for_rules(project.settings)

    @cached_property
    def analysis(self) -> Analysis:
        """The flow analysis; where no file can hold a sink it is not even imported."""
        from pathlib import Path

        from pytest_cachesafe.lint.flow.analysis import Analysis

        project = self.project
        return Analysis(Path(project.root), project.files, project.settings, project.overlay)

    def rest(self, *, wholly: bool) -> None:
        """Let the trees go, for all units are made; `wholly`: all that was learnt, too, which takes a moment."""
        if "analysis" in self.__dict__:
            self.analysis.shed()
            if wholly:
                del self.analysis
                gc.collect()

    def unit(self, name: str, flag: int) -> Unit:
        """What this file gives."""
        rules = self._structural_rules(name) if flag & REQUEST else []
        if not flag & ENTRY:
            return self._without_sink(name, rules, force=bool(flag & BINARY))
        try:
            result = self.analysis.analyse(name)
        except Exception as error:
            self.crashed.append(f"{name}: the flow analysis failed: {_words(error)}")
            return Unit((), (), (), (name,))
        used = tuple(dict.fromkeys((name, *result.used)))
        parsed = result.parsed
        problem = None
        reports: list[tuple[str, Report]] = []
        if parsed is None or parsed.tree is None:
            fault = parsed.error if parsed is not None else None
            problem = (fault.row, fault.column, fault.message) if fault is not None else (1, 1, "cannot be read")
        elif rules:
            if len(parsed.text) > LONG:
                # A view of all of it takes its share.
                self.analysis.shed(name)
            reports = self._structural(name, parsed, result.taints, rules)
        return Unit(result.hits, result.votes, reports, used, problem)

    def _without_sink(self, name: str, rules: Sequence[Rule], *, force: bool) -> Unit:
        """A file in which nothing can arrive: its syntax, and the structural rules, for which the flow analysis is
        asked only if one of them wants to know where a value comes from."""
        from pytest_cachesafe.lint.parse import parse

        data = self._read(name) or b""
        if not rules and not force and len(data) > self.parse_limit:
            return Unit((), (), (), (name,), parsed=False)
        parsed = parse(data, name)
        if parsed.tree is None:
            fault = parsed.error
            return Unit((), (), (), (name,), None if fault is None else (fault.row, fault.column, fault.message))
        if not rules:
            return Unit((), (), (), (name,))
        late = LateTaints(name, lambda: self.analysis.analyse(name))
        reports = self._structural(name, parsed, late.taints, rules)
        result = late.result
        if result is None:
            return Unit((), (), reports, (name,))
        return Unit((), (), reports, tuple(dict.fromkeys((name, *result.used))))

    def _structural_rules(self, name: str) -> list[Rule]:
        rules = self.project.rules
        found = self._needles_in(self._read(name) or b"")
        return [rule for rule in rules.on_trees() if not found.isdisjoint(rule.needles)] if found else []

    def _needles_in(self, data: bytes) -> frozenset[bytes]:
        """The needles of rules that a file holds; a short one may be an excerpt, which names a chat in fewer words."""
        found = self.project.rules.literals.found(data)
        if may_be_excerpt(data):
            from cachesafe_rules.needles import CHAT

            return found.union(CHAT)
        return found

    def _narrowed(self, parsed: Parsed, rules: Sequence[Rule]) -> list[Rule]:
        """Without the rules whose words are all in docstrings, of which a view holds nothing. What the rules of other
        packages look for is theirs."""
        code = code_of(parsed)
        if code is None:
            return list(rules)
        own = self.project.rules
        found = self._needles_in(code)
        return [rule for rule in rules if rule in own.others or not found.isdisjoint(rule.needles)]

    def _structural(
        self, name: str, parsed: Parsed, taints: Callable[[ast.AST], tuple[Taint, ...]], rules: Sequence[Rule]
    ) -> list[tuple[str, Report]]:
        from pytest_cachesafe.lint.parse import column
        from pytest_cachesafe.lint.view import build_view, release_view

        tree = parsed.tree
        rules = self._narrowed(parsed, rules)
        if tree is None or not rules:
            return []
        try:
            view = build_view(tree, name, lambda row, offset: column(parsed, row, offset), taints)
        except Exception as error:
            self.crashed.append(f"{name}: the view for the rules failed: {_words(error)}")
            return []
        try:
            return [(rule.code, report) for rule in rules for report in self.checked(rule, name, view)]
        finally:
            release_view(view)

    def checked(self, rule: Rule, name: str, view: Any) -> list[Report]:
        """A rule's reports on a file; a rule that fails is named, and the others go on."""
        from cachesafe_rules.api import Context, Report
        from cachesafe_rules.policy import SEVERITIES

        reports: list[Report] = []
        try:
            for report in rule.check(Context(name, view, self._options)):
                if not isinstance(report, Report):
                    raise TypeError(f"check() yields Report objects, not {type(report).__name__}")
                if report.severity not in (None, *SEVERITIES):
                    raise ValueError(f"a report's severity is error, warning or note, not {report.severity!r}")
                if report.data:
                    # As it will come out of the cache: lists for tuples, strings for keys.
                    report.data = json.loads(json.dumps(report.data))
                reports.append(report)
        except (Exception, SystemExit) as error:
            self.crashed.append(f"{rule.code} ({rule.name}) failed on {name}: {_words(error)}")
            return []
        return reports


def _names_for_rules(settings: Settings) -> dict[str, Any]:
    fields: Iterable[str] = getattr(settings, "__dataclass_fields__", ())
    return {name: getattr(settings, name) for name in fields}


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
