"""A lint run: settings, files, one pass per project, and what of its findings is reported.

Paths select what is reported, not what is read: a helper in one file can spoil the prompt that another one builds, so
the whole project around the paths is looked at (and remembered in the cache).
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_cachesafe.lint.options import LintOptions
from pytest_cachesafe.lint.rule_set import RuleSet
from pytest_cachesafe.lint.runs import Run, rules_of, runs_of

if TYPE_CHECKING:
    from cachesafe_rules.api import Rule
    from pytest_cachesafe.findings import Finding
    from pytest_cachesafe.lint.pipeline import Passed
    from pytest_cachesafe.lint.result import LintResult, Sources
    from pytest_cachesafe.lint.settings import Settings
    from pytest_cachesafe.lint.walk import FileEntry

__all__ = ["Outcome", "lint", "lint_text", "run_lint"]


class Outcome(NamedTuple):
    """`result` has names for people (see `naming`). `text` is what standard output gets in place of a report: a diff or
    the mended standard input. `failed`: a file could not be read or a rule failed, exit status 2. `written`: how many
    findings a new baseline has."""

    result: LintResult
    sources: Sources
    rules: Sequence[Rule]
    failed: bool = False
    text: str | None = None
    written: int | None = None


def lint(
    paths: Sequence[str | os.PathLike[str]],
    *,
    select: Sequence[str] | None = None,
    extend_select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    include_tests: bool = False,
    strict: bool = False,
    changed_since: str | None = None,
    jobs: int = 1,
    cache: bool = True,
) -> LintResult:
    """Lint files and folders and return what was found; changes nothing.

    Raises:
        UsageError: a missing path, broken settings, an unknown rule, nothing to lint.
    """
    given = tuple(os.fspath(path) for path in paths)
    return run_lint(
        LintOptions(
            given,
            select=_tuple(select),
            extend_select=_tuple(extend_select),
            ignore=_tuple(ignore),
            include_tests=include_tests,
            strict=strict,
            changed_since=changed_since,
            jobs=jobs,
            cache=cache,
        )
    ).result


def _tuple(words: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if words is None else tuple(words)


def lint_text(
    code: str, filename: str = "example.py", select: Sequence[str] = (), settings: Settings | None = None
) -> list[Finding]:
    """The findings in one file that stands for itself: no project, no cache, nothing on disk is read.

    Raises:
        UsageError: an unknown rule in `select`.
        RuntimeError: a rule failed.
    """
    from pytest_cachesafe.lint.cache import Store
    from pytest_cachesafe.lint.path_kinds import TEMPLATE_SUFFIXES
    from pytest_cachesafe.lint.settings import Settings as Plain
    from pytest_cachesafe.lint.settings import with_overrides
    from pytest_cachesafe.lint.walk import FileEntry

    if settings is None:
        settings = Plain(Path(os.devnull, "project"))
    if select:
        settings = with_overrides(settings, select=select)
    data = code.encode("utf-8", "surrogatepass")
    entry = FileEntry(filename, os.path.join(str(settings.root), filename), len(data), 0)
    python = not filename.endswith(TEMPLATE_SUFFIXES)
    codes, others, _ = rules_of(settings, strict=False)
    with no_collection():
        passed = _pass(
            settings,
            {filename: entry} if python else {},
            RuleSet(codes, others),
            {filename: data},
            Store(settings.root, None, 0),
            None,
            left_out=_is_asked_for,
            templates=() if python else (entry,),
        )
    if passed.crashed:
        raise RuntimeError(passed.crashed[0])
    return sorted(passed.findings, key=_order)


@contextmanager
def no_collection() -> Iterator[None]:
    """Without the garbage collector, which looks at every tree again and again and finds nothing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def run_lint(options: LintOptions) -> Outcome:
    """One run with everything the command line can ask for.

    Raises:
        UsageError: see `lint`; a baseline that cannot be read or written, a file that cannot be mended.
    """
    started = time.time_ns()
    runs = runs_of(options)
    with no_collection():
        if options.fix:
            from pytest_cachesafe.lint.mend import run_with_fixes

            return run_with_fixes(options, runs, started)
        return judge(options, [(run, passed_of(run, options, started)) for run in runs])


def passed_of(run: Run, options: LintOptions, started: int) -> Passed:
    """The pass over one project, or what the cache has of it."""
    from pytest_cachesafe.lint.cache import Store, open_store, run_key
    from pytest_cachesafe.lint.discover import template_entries

    store = Store(run.settings.root, None, started)
    if options.cache:
        from pytest_cachesafe.lint.settings import identity

        nested = sorted((folder, identity(one)) for folder, one in run.discovery.nested.items())
        key = run_key(run.root, identity(run.settings), run.others, sorted(run.codes), options.strict, nested)
        store = open_store(run.settings.root, key, started)
    templates = template_entries(run.discovery, run.overlay)
    index = [*run.discovery.project.values(), *templates]
    if not run.overlay:
        whole = store.whole(index)
        known = None if whole is None else _known(whole, fixes=options.fixes)
        if known is not None:
            return known
    wanted: frozenset[str] | None = run.wanted
    if 2 * len(run.wanted) > len(index):
        # Nearly everything is asked for: then all of it, and the next run finds it in the cache.
        wanted = None
    store.begin([entry for entry in index if entry.name in run.discovery.project])
    passed = _pass(
        run.settings,
        run.discovery.project,
        RuleSet(run.codes, run.others),
        run.overlay,
        store,
        wanted,
        left_out=run.is_left_out_test,
        strict=options.strict,
        jobs=options.jobs,
        fixes=options.fixes,
        templates=templates,
    )
    store.save()
    if wanted is None and not run.overlay and not passed.crashed and not passed.unread:
        found = []
        if passed.findings:
            from pytest_cachesafe.lint.encode import finding_json

            found = [finding_json(finding) for finding in passed.findings]
        store.save_whole(index, passed.extra, [found, passed.suppressed, passed.warnings, options.fixes])
    return passed


def _known(stored: Any, *, fixes: bool) -> Passed | None:
    """The stored outcome, unless fixes are wanted and there are findings without."""
    from pytest_cachesafe.lint.pipeline import Passed

    try:
        findings, suppressed, warnings, fixed = stored
        if findings and fixes and not fixed:
            return None
        if findings:
            from pytest_cachesafe.lint.encode import finding_from

            findings = list(map(finding_from, findings))
        return Passed(list(findings), list(suppressed), [], list(warnings), frozenset())
    except (TypeError, ValueError, KeyError, IndexError):
        return None


def _is_asked_for(name: str, data: bytes | None) -> bool:
    """No text that is handed over is left out as a test."""
    return False


def _pass(
    settings: Settings,
    files: Mapping[str, FileEntry],
    rules: RuleSet,
    overlay: Mapping[str, bytes],
    store: Any,
    wanted: frozenset[str] | None,
    *,
    left_out: Callable[[str, bytes | None], bool],
    strict: bool = False,
    jobs: int = 1,
    fixes: bool = True,
    templates: Sequence[FileEntry] = (),
) -> Passed:
    from pytest_cachesafe.lint.examine import Project
    from pytest_cachesafe.lint.pipeline import Pipeline

    project = Project(str(settings.root), files, settings, rules, overlay, left_out, strict, fixes, templates)
    return Pipeline(project, store, jobs).run(wanted)


def judge(options: LintOptions, passes: Sequence[tuple[Run, Passed]]) -> Outcome:
    """From what the passes found to what is reported."""
    from pytest_cachesafe.lint.result import LintResult
    from pytest_cachesafe.lint.selection import reported

    result = LintResult(strict=options.strict)
    paths: dict[str, tuple[str, bytes | None]] = {}
    rules: dict[str, Rule] = {}
    left_out: list[str] = []
    failed, written = False, None
    for run, passed in passes:
        share = reported(run, passed, options, paths)
        result.findings += share.findings
        result.suppressed += share.suppressed
        result.baselined += share.baselined
        result.stale += share.stale
        found = run.discovery
        looked_at = [name for name in (*(entry.name for entry in found.files), *found.templates) if name in run.wanted]
        tests = [name for name in looked_at if run.is_left_out_test(name)]
        result.files += len(looked_at) - len(tests)
        result.warnings += [*found.warnings, *share.warnings]
        left_out += found.excluded
        left_out += [f"{name}: a test, left out (--include-tests)" for name in tests]
        result.crashed += passed.crashed
        for name in sorted(passed.unread):
            line = f"{name}: cannot be read: {passed.unread[name]}"
            # What nobody asked for may hold a helper or a prompt, but is no reason to stop a commit.
            (result.unread if name in run.wanted else result.warnings).append(line)
        result.unread += found.unreadable
        failed = bool(result.crashed or result.unread)
        fired = {finding.code for finding in share.findings}
        rules.update(RuleSet(run.codes, run.others).of(fired))
        if share.written is not None:
            written = (written or 0) + share.written
    if not result.files:
        # A commit hook passes every file that changed; why nothing was done is told only where nothing was.
        result.warnings += left_out
    result.findings.sort(key=_order)
    return Outcome(result, _sources(paths), [rules[code] for code in sorted(rules)], failed, None, written)


def _order(finding: Finding) -> tuple[Any, ...]:
    where = finding.location
    return where.filename or "", where.row or 0, where.column or 0, finding.code, finding.message


def _sources(paths: Mapping[str, tuple[str, bytes | None]]) -> Callable[[str], Sequence[str] | None]:
    """The lines of files by the names in findings. `paths`: where each is, and its text where that is not on disk."""
    from pytest_cachesafe.lint.text import read_lines

    kept: dict[str, Sequence[str] | None] = {}

    def lines(name: str) -> Sequence[str] | None:
        if name not in kept:
            path, data = paths.get(name, (name, None))
            kept[name] = read_lines(path, data)
        return kept[name]

    return lines
