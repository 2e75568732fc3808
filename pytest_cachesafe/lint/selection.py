"""Which findings of a pass are reported, and where: settings per file, baseline, the files that were asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_cachesafe.lint.folded import only_folded, unburdened
from pytest_cachesafe.lint.naming import namer, renamed
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.findings import Finding
    from pytest_cachesafe.lint.options import LintOptions
    from pytest_cachesafe.lint.pipeline import Passed
    from pytest_cachesafe.lint.runs import Run

__all__ = ["Share", "at_a_step", "chosen", "reported"]

Paths = dict[str, tuple[str, bytes | None]]


class Share(NamedTuple):
    """What one project adds to a run. `written`: findings put into a new baseline."""

    findings: list[Finding]
    suppressed: int
    baselined: int = 0
    stale: int = 0
    warnings: Sequence[str] = ()
    written: int | None = None


def chosen(run: Run, passed: Passed, options: LintOptions) -> Share:
    """The findings to report, named relative to the root, where they arise.

    Raises:
        UsageError: a baseline that cannot be read or written.
    """
    findings = _asked_for(run, _switched_on(run, passed.findings))
    suppressed = sum(name in run.wanted for name in passed.suppressed)
    if options.write_baseline is not None:
        return Share([], suppressed, warnings=passed.warnings, written=_write(run, findings, options.write_baseline))
    share = Share([], suppressed, warnings=passed.warnings)
    for baseline, part in _by_baseline(run, findings).items():
        if baseline is None:
            share.findings.extend(map(unburdened, part))
            continue
        from pytest_cachesafe.lint.baseline import apply_baseline
        from pytest_cachesafe.lint.text import read_lines

        kept, matched, left = apply_baseline(
            baseline,
            part,
            lambda name: not os.path.lexists(os.path.join(run.root, name)),
            lambda name: read_lines(os.path.join(run.root, name), run.overlay.get(name)),
        )
        # What comes out of a known finding may lie elsewhere, as may its steps.
        share.findings.extend(map(unburdened, _asked_for(run, kept)))
        # A file that was not asked for may well still have what the baseline lists.
        stale = sum(entry.count for entry in left if entry.filename in run.wanted)
        share = share._replace(baselined=share.baselined + len(matched), stale=share.stale + stale)
    return share


def _by_baseline(run: Run, findings: Sequence[Finding]) -> dict[Path | None, list[Finding]]:
    """The findings by the baseline of the configuration nearest to their file; baselines without findings as well."""
    found = run.discovery
    parts: dict[Path | None, list[Finding]] = {one.baseline: [] for one in (found.settings, *found.nested.values())}
    for finding in findings:
        parts[found.settings_for(finding.location.filename or "").baseline].append(finding)
    return parts


def reported(run: Run, passed: Passed, options: LintOptions, paths: Paths) -> Share:
    """The findings to report as people meet them; `paths` learns where the files behind the names are.

    Raises:
        UsageError: a baseline that cannot be read or written.
    """
    share = chosen(run, passed, options)
    shown = [_at_hand(run, finding) for finding in _gathered(share.findings)]
    name = namer(run.root, below_root=options.below_root)
    for finding in shown:
        for known in (finding.location.filename, *(step.filename for step in finding.flow)):
            if known is not None:
                paths[name(known)] = (os.path.join(run.root, known), run.overlay.get(known))
    return share._replace(findings=[renamed(finding, name) for finding in shown])


def _gathered(findings: Sequence[Finding]) -> Sequence[Finding]:
    if len(findings) < 2:
        return findings
    from pytest_cachesafe.lint.handed_on import gathered
    from pytest_cachesafe.lint.masked import unmasked

    return unmasked(gathered(findings))


def _switched_on(run: Run, findings: Sequence[Finding]) -> list[Finding]:
    """Without what `per-file-ignores`, and a configuration nearer to the file, switch off."""
    on: dict[str, frozenset[str]] = {}
    kept = []
    for finding in findings:
        name = finding.location.filename or ""
        if name not in on:
            settings = run.discovery.settings_for(name)
            on[name] = settings.selected(run.known) - settings.ignored_in(name, run.known)
        if finding.code in on[name]:
            kept.append(only_folded(finding, partial(_is_on, on[name])))
    return kept


def _is_on(codes: frozenset[str], finding: Finding) -> bool:
    return finding.code in codes


def _asked_for(run: Run, findings: Sequence[Finding]) -> list[Finding]:
    """Those whose place, or a step to it, lies in a file that was asked for."""
    wanted = run.wanted
    return [
        finding
        for finding in findings
        if finding.location.filename in wanted or any(step.filename in wanted for step in finding.flow)
    ]


def _at_hand(run: Run, finding: Finding) -> Finding:
    """The finding where it can be seen: in a file that was asked for."""
    if finding.location.filename in run.wanted:
        return finding
    from pytest_cachesafe.lint.text import read_lines

    step = next(step for step in finding.flow if step.filename in run.wanted)
    lines = read_lines(os.path.join(run.root, step.filename), run.overlay.get(step.filename)) or ()
    return at_a_step(finding, step.filename, step.row, lines[step.row - 1] if 0 < step.row <= len(lines) else "")


def at_a_step(finding: Finding, filename: str, row: int, line: str) -> Finding:
    """The finding told at one of its steps, whose row reads `line`; it keeps its fingerprint, since it is the same."""
    where = finding.location
    sink = finding.data.get("sink") or "prompt"
    column = len(line) - len(line.lstrip()) + 1
    end = max(len(line.rstrip()), column) + 1
    return replace(
        finding,
        message=f"this value reaches the {sink} in {where.filename}:{where.row}: {finding.message}",
        location=replace(where, filename=filename, row=row, column=column),
        # A fix belongs to the file in which the text is built.
        data={**finding.data, "end_location": {"row": row, "column": end}, "fix": None},
    )


def _write(run: Run, findings: Sequence[Finding], target: str) -> int:
    from pytest_cachesafe.lint.baseline import write_baseline

    def elsewhere(filename: str) -> bool:
        return filename not in run.wanted and filename in run.discovery.project

    if target:
        return write_baseline(Path(target), findings, elsewhere)
    parts = _by_baseline(run, findings)
    if None in parts and (parts[None] or len(parts) == 1):
        raise UsageError("--write-baseline: no file given, and no baseline is configured: --write-baseline FILE")
    return sum(write_baseline(path, part, elsewhere) for path, part in parts.items() if path is not None)
