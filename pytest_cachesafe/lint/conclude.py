"""From folded reports to findings: confirmed on the text, with fix and fingerprint, unless a comment silences them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from cachesafe_rules.model import Span
from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.findings import Finding, Flow, Location, Severity
from pytest_cachesafe.lint.text import decoded, split_rows

if TYPE_CHECKING:
    from cachesafe_rules.api import Fix, Report, Rule
    from pytest_cachesafe.lint.cache import Store
    from pytest_cachesafe.lint.confirm import Located
    from pytest_cachesafe.lint.examine import Project

__all__ = ["Concluder", "Conclusion"]

_SYNTAX = "CSF901"
_TEMPLATES = lazy_pattern(r"(?:^|/)(?:\w*templates?|cookiecutter\w*|scaffold\w*|\{\{[^/]*)(?=/)")
_TEMPLATE_LINE = lazy_pattern(
    r"^[ \t]*(?:\{%-?\s*(?:if|for|set|block|extends|import|from|include|macro|raw|endif|else|elif)\b|"
    r"(?:import|from|class|def)\s+\{\{)",
    re.MULTILINE,
)


class Conclusion(NamedTuple):
    """Findings by file and in order; one file name per suppressed finding."""

    findings: list[Finding]
    suppressed: list[str]
    crashed: list[str]
    warnings: list[str]


class _Made(NamedTuple):
    """The findings of one file, before suppression, each with the places its values arise."""

    told: list[tuple[Finding, list[Span]]]
    crashed: list[str]
    warnings: list[str]


class Concluder:
    """The last stage of a pass. `read` gives the bytes of any file of the project, None where there are none."""

    def __init__(self, project: Project, store: Store, read: Callable[[str], bytes | None]) -> None:
        self.project = project
        self.store = store
        self._read = read
        # Of the last file alone: everything that is asked of a file is asked in a row.
        self._last_text: tuple[str, str | None] | None = None
        self._last_rows: tuple[str, Sequence[str] | None] | None = None
        self._last_located: tuple[str, Located | None] | None = None
        self._hints: dict[str, bool] = {}
        self._rules = project.rules

    def conclude(
        self,
        reports: Mapping[str, Sequence[tuple[Rule, Report]]],
        problems: Mapping[str, tuple[int, int, str]],
        commented: Iterable[str],
    ) -> Conclusion:
        """The findings of all files. `problems`: files that cannot be parsed, with row, column and message;
        `commented`: files whose suppressions are judged."""
        made = {name: self._file(name, reports.get(name, ()), problems.get(name)) for name in {*reports, *problems}}
        out = Conclusion([], [], [], [])
        for name in sorted(made):
            out.crashed.extend(made[name].crashed)
            out.warnings.extend(made[name].warnings)
        told = {name: made[name].told for name in made}
        commented = sorted(commented)
        if commented or any(self._hinted(f) for name in told for f in self._places(name, told[name])):
            told = self._silenced(told, commented, out)
        for name in sorted(told):
            out.findings.extend(finding for finding, _ in told[name])
        return out

    # Suppression

    def _places(self, name: str, told: Sequence[tuple[Finding, list[Span]]]) -> set[str]:
        return {name, *(span.filename for _, sources in told for span in sources)}

    def _hinted(self, name: str) -> bool:
        from pytest_cachesafe.lint.directives import may_hold

        known = self._hints.get(name)
        if known is None:
            text = self._text(name)
            known = self._hints[name] = text is not None and may_hold(text)
        return known

    def _silenced(
        self,
        told: Mapping[str, list[tuple[Finding, list[Span]]]],
        commented: Sequence[str],
        out: Conclusion,
    ) -> dict[str, list[tuple[Finding, list[Span]]]]:
        from cachesafe_rules.registry import known_codes
        from pytest_cachesafe.lint.folded import only_folded
        from pytest_cachesafe.lint.suppress import Suppressions

        known = known_codes() | {rule.code: rule.name for rule in self._rules.others}
        suppressions = Suppressions(known, lambda name: self._locate(name) if self._hinted(name) else None)
        kept: dict[str, list[tuple[Finding, list[Span]]]] = {}

        def is_told(finding: Finding) -> bool:
            return not suppressions.silences(finding.code, _span_of(finding), _arising(finding.data))

        for name, findings in told.items():
            for finding, sources in findings:
                # Asked in any case: a comment on what is folded is of use once the rest is mended.
                finding = only_folded(finding, is_told)
                if suppressions.silences(finding.code, _span_of(finding), sources):
                    out.suppressed.append(name)
                else:
                    kept.setdefault(name, []).append((finding, sources))
        for name in commented:
            own = []
            for problem in suppressions.problems(name, self._rules.codes, self.project.strict):
                rule = self._rules.get(problem.code)
                if rule is not None:
                    own.append(_finding(rule, problem.message, problem.span, problem.help, problem.fix))
            if own:
                own = self._fingerprinted(own)
                kept[name] = sorted(
                    [*kept.get(name, []), *((finding, list[Span]()) for finding in own)],
                    key=lambda pair: _order(pair[0]),
                )
        out.suppressed.sort()
        return kept

    # One file

    def _file(self, name: str, reports: Sequence[tuple[Rule, Report]], problem: tuple[int, int, str] | None) -> _Made:
        key = self._key(name, reports, problem)
        known = self.store.done(name, key) if key else None
        if known is not None:
            restored = _restored(known)
            if restored is not None:
                return restored
        made = self._fresh(name, reports, problem)
        if key and not made.crashed:
            self.store.put_done(name, key, _stored(made))
        return made

    def _key(self, name: str, reports: Sequence[tuple[Rule, Report]], problem: object) -> str | None:
        """What a file's findings are made from; None for text that is not on disk."""
        if name in self.project.overlay or self.store.stem is None:
            return None
        from pytest_cachesafe.lint.cache import content_hash
        from pytest_cachesafe.lint.encode import report_json

        words = [
            self.store.hash(name),
            self.project.fixes,
            problem,
            [
                [
                    rule.code,
                    report_json(report),
                    *([f.rule.code, report_json(f.report), f.double] for f in report.folded),
                ]
                for rule, report in reports
            ],
        ]
        return content_hash(json.dumps(words).encode("ascii"))

    def _fresh(self, name: str, reports: Sequence[tuple[Rule, Report]], problem: tuple[int, int, str] | None) -> _Made:
        made = _Made([], [], [])
        syntax = self._rules.get(_SYNTAX) if problem is not None else None
        if problem is not None and syntax is not None and not self._is_template(name, problem[0]):
            row, column, message = problem
            span = Span(name, row, column, row, column + 1)
            made.told.append((_finding(syntax, message, span, "fix the syntax: this file was not checked", None), []))
        for rule, report in reports:
            try:
                finding = self._from_report(name, rule, report, made.warnings)
            except (Exception, SystemExit) as error:
                made.crashed.append(f"{rule.code} ({rule.name}) failed on {name}: {type(error).__name__}: {error}")
                continue
            if finding is not None:
                made.told.append((finding, _arising(report.data)))
        made.told.sort(key=lambda pair: _order(pair[0]))
        marked = self._fingerprinted([finding for finding, _ in made.told])
        made.told[:] = [(finding, sources) for finding, (_, sources) in zip(marked, made.told, strict=True)]
        return made

    def _is_template(self, name: str, row: int) -> bool:
        """Whether a file of Python is still to be filled in: a line that is a template's where reading stopped or
        behind it (in front of it such a line was read as part of a string), or placeholders in a folder of templates.
        """
        text = self._text(name)
        if text is None or ("{{" not in text and "{%" not in text):
            return False
        rest = "\n".join(split_rows(text)[max(0, row - 2) :])
        return _TEMPLATE_LINE.search(rest) is not None or _TEMPLATES.search(name.lower()) is not None

    def _from_report(self, name: str, rule: Rule, report: Report, warnings: list[str]) -> Finding | None:
        span = report.span
        fix = None
        if name.endswith((".py", ".pyw")):
            located = self._locate(name)
            confirmed = located.confirm(span) if located is not None else span
            if confirmed is None:
                warnings.append(
                    f"{name}:{span.row}: {rule.code} was reported where there is no code; please report this"
                )
                return None
            span = confirmed
            if self.project.fixes:
                fix = rule.fix(replace(report, span=span), self._text(name) or "")
        severity = report.severity or rule.severity
        data = report.data if report.group is None else {**report.data, "group": report.group}
        finding = _finding(rule, report.message, span, report.help, fix, severity, report.confidence, data)
        finding = replace(finding, flow=tuple(Flow(step.filename, step.row, step.message) for step in report.steps))
        return self._carrying(name, finding, report)

    def _carrying(self, name: str, finding: Finding, report: Report) -> Finding:
        """The finding with those that are folded into it, which come out once it is mended."""
        if not report.folded:
            return finding
        from pytest_cachesafe.lint.folded import with_folded

        folded = []
        for rule, other, double in report.folded:
            # A place without code is told of where that report is told.
            one = self._from_report(name, rule, other, [])
            if one is not None:
                folded.append(replace(one, data={**one.data, "double": True}) if double else one)
        return with_folded(finding, folded)

    def _fingerprinted(self, findings: list[Finding]) -> list[Finding]:
        if not findings:
            return findings
        from pytest_cachesafe.lint.baseline import with_fingerprints

        return with_fingerprints(findings, self._rows)

    def _rows(self, name: str) -> Sequence[str] | None:
        if self._last_rows is None or self._last_rows[0] != name:
            text = self._text(name)
            self._last_rows = name, None if text is None else split_rows(text)
        return self._last_rows[1]

    def _text(self, name: str) -> str | None:
        if self._last_text is None or self._last_text[0] != name:
            data = self._read(name)
            self._last_text = name, None if data is None else decoded(data)
        return self._last_text[1]

    def _locate(self, name: str) -> Located | None:
        if self._last_located is None or self._last_located[0] != name:
            from pytest_cachesafe.lint.confirm import Located

            text = self._text(name) if name.endswith((".py", ".pyw")) else None
            self._last_located = name, None if text is None else Located(text, name)
        return self._last_located[1]


def _finding(
    rule: Rule,
    message: str,
    span: Span,
    help_text: str | None,
    fix: Fix | None,
    severity: str | None = None,
    confidence: str = "high",
    more: Mapping[str, Any] | None = None,
) -> Finding:
    data = {
        **(more or {}),
        "name": rule.name,
        "confidence": confidence,
        "end_location": {"row": span.end_row, "column": span.end_column},
        "fix": _fix_json(fix),
    }
    location = Location(filename=span.filename, row=span.row, column=span.column)
    return Finding(rule.code, message, Severity(severity or rule.severity), location, help=help_text, data=data)


def _fix_json(fix: Fix | None) -> dict[str, Any] | None:
    if fix is None:
        return None
    edits = [
        {
            "location": {"row": edit.span.row, "column": edit.span.column},
            "end_location": {"row": edit.span.end_row, "column": edit.span.end_column},
            "content": edit.text,
        }
        for edit in fix.edits
    ]
    return {"message": fix.message, "applicability": fix.applicability, "edits": edits}


def _arising(data: Mapping[str, Any]) -> list[Span]:
    """Where the values of a report arise; a rule of another package need not say."""
    spans = []
    for source in data.get("sources") or ():
        if isinstance(source, Mapping) and {"filename", "row", "column", "end_row", "end_column"} <= source.keys():
            spans.append(Span(*(source[k] for k in ("filename", "row", "column", "end_row", "end_column"))))
    return spans


def _span_of(finding: Finding) -> Span:
    where, end = finding.location, finding.data["end_location"]
    return Span(where.filename or "", where.row or 1, where.column or 1, end["row"], end["column"])


def _order(finding: Finding) -> tuple[Any, ...]:
    where = finding.location
    return where.row or 0, where.column or 0, finding.code, finding.message


def _stored(made: _Made) -> list[Any]:
    from pytest_cachesafe.lint.encode import finding_json, span_json

    return [[[finding_json(f), [span_json(s) for s in sources]] for f, sources in made.told], made.warnings]


def _restored(value: Any) -> _Made | None:
    from pytest_cachesafe.lint.encode import finding_from

    try:
        told, warnings = value
        return _Made([(finding_from(f), [Span(*s) for s in sources]) for f, sources in told], [], list(warnings))
    except (TypeError, ValueError, KeyError, IndexError):
        return None
