"""`--fix` and `--diff`: mend file after file, look again, write at the end."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from cachesafe_rules.api import Fix
    from pytest_cachesafe.findings import Finding
    from pytest_cachesafe.lint.fix import Fixable
    from pytest_cachesafe.lint.options import LintOptions
    from pytest_cachesafe.lint.run import Outcome
    from pytest_cachesafe.lint.runs import Run
    from pytest_cachesafe.lint.source_file import SourceFile

__all__ = ["run_with_fixes"]


def run_with_fixes(options: LintOptions, runs: Sequence[Run], started: int) -> Outcome:
    """A run that mends what can be mended and reports what is left; with `options.diff` nothing is written.

    Raises:
        UsageError: see `run.lint`.
    """
    from pytest_cachesafe.lint.run import judge, passed_of
    from pytest_cachesafe.lint.runs import runs_of

    mended = [_Project(run, options, started) for run in runs]
    for project in mended:
        project.mend()
    if options.diff:
        outcome = judge(options, [(p.run, passed_of(p.current(), options, started)) for p in mended])
        text: str | None = "".join(project.diff() for project in mended)
    elif options.stdin is not None:
        outcome = judge(options, [(p.current(), passed_of(p.current(), options, started)) for p in mended])
        text = mended[0].text_of_stdin()
    else:
        for project in mended:
            project.write()
        fresh = runs_of(options)
        outcome = judge(options, [(run, passed_of(run, options, started)) for run in fresh])
        text = None
    outcome.result.fixed = sum(project.fixed for project in mended)
    outcome.result.dry = options.diff
    warnings = [line for project in mended for line in project.warnings]
    outcome.result.warnings.extend(warnings)
    return outcome._replace(text=text, failed=outcome.failed or any(project.failed for project in mended))


class _Project:
    """One project while its files are mended; changed texts are kept in memory and seen by every further look."""

    def __init__(self, run: Run, options: LintOptions, started: int) -> None:
        self.run = run
        self.options = options
        self.started = started
        self.fixed = 0
        self.failed = False
        self.warnings: list[str] = []
        self._sources: dict[str, SourceFile] = {}
        self._texts: dict[str, str] = {}
        self._overlay: dict[str, bytes] = dict(run.overlay)

    def current(self) -> Run:
        """The run with the texts as they are now."""
        return self.run._replace(overlay=dict(self._overlay))

    def mend(self) -> None:
        """Make the fixes of every file that was asked for."""
        findings = self._findings(self.run)
        names = sorted({f.location.filename or "" for f in findings if _applicable(f, self.options.unsafe_fixes)})
        for name in names:
            if name in self.run.wanted:
                self._file(name)

    def _file(self, name: str) -> None:
        from pytest_cachesafe.lint.fix import apply_fixes
        from pytest_cachesafe.lint.source_file import decoded, read_source

        path = os.path.join(self.run.root, name)
        try:
            given = self.run.overlay.get(name)
            source = decoded(name, given) if given is not None else read_source(path)
        except UsageError as error:
            self._fault(error)
            return
        self._sources[name] = source

        def relint(text: str) -> list[Fixable]:
            self._keep(name, source, text)
            return [_fixable(finding) for finding in self._findings(self.current(), name)]

        done = apply_fixes(source.text, relint(source.text), relint, unsafe=self.options.unsafe_fixes, filename=name)
        self._keep(name, source, done.text)
        self._texts[name] = done.text
        self.fixed += len(done.applied)
        for skipped in done.skipped:
            self.warnings.append(f"{name}:{skipped.finding.row}: {skipped.finding.code} not fixed: {skipped.reason}")

    def _keep(self, name: str, source: SourceFile, text: str) -> None:
        if text == source.text and name not in self.run.overlay:
            self._overlay.pop(name, None)
            return
        mark = b"\xef\xbb\xbf" if source.bom else b""
        self._overlay[name] = mark + text.encode(source.encoding, "backslashreplace")

    def _findings(self, run: Run, name: str | None = None) -> list[Finding]:
        """What would be reported, in one file alone if it is named."""
        from pytest_cachesafe.lint.run import passed_of
        from pytest_cachesafe.lint.selection import chosen

        if name is not None:
            run = run._replace(wanted=frozenset((name,)))
        found = chosen(run, passed_of(run, self.options, self.started), self.options).findings
        return [f for f in found if name is None or f.location.filename == name]

    def diff(self) -> str:
        """What would change, file by file."""
        from pytest_cachesafe.lint.naming import namer
        from pytest_cachesafe.lint.source_file import unified_diff

        shown = namer(self.run.root)
        return "".join(unified_diff(shown(n), self._sources[n].text, self._texts[n]) for n in sorted(self._texts))

    def text_of_stdin(self) -> str:
        """Standard input as it is now."""
        from pytest_cachesafe.lint.text import decoded

        name = next(iter(self.run.overlay))
        return self._texts.get(name, decoded(self.run.overlay[name]))

    def write(self) -> None:
        """Put the changed texts into their files."""
        from pytest_cachesafe.lint.source_file import write_source

        for name, text in sorted(self._texts.items()):
            try:
                write_source(self._sources[name], text)
            except UsageError as error:
                self._fault(error)

    def _fault(self, error: UsageError) -> None:
        self.failed = True
        self.warnings.append(str(error))


def _applicable(finding: Finding, unsafe: bool) -> bool:
    fix = finding.data.get("fix") or {}
    return bool(fix.get("edits")) and fix["applicability"] in (("safe", "unsafe") if unsafe else ("safe",))


def _fixable(finding: Finding) -> Fixable:
    from pytest_cachesafe.lint.fix import Fixable

    name, row = finding.location.filename or "", finding.location.row or 1
    reports = 1 + len(finding.data.get("also") or ())
    fix = finding.data.get("fix")
    made = _fix(name, fix) if fix else None
    return Fixable(finding.code, str(finding.severity), row, finding.message, made, reports)


def _fix(name: str, fix: Mapping[str, Any]) -> Fix:
    from cachesafe_rules.api import Edit, Fix
    from cachesafe_rules.model import Span

    edits = []
    for edit in fix["edits"]:
        start, end = edit["location"], edit["end_location"]
        edits.append(Edit(Span(name, start["row"], start["column"], end["row"], end["column"]), edit["content"]))
    return Fix(fix["message"], fix["applicability"], tuple(edits))
