"""A paragraph a finding for people: its head line, the source with a mark, the path of the value, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pytest_cachesafe.findings import Finding
from pytest_cachesafe.lint.result import LintResult, Sources
from pytest_cachesafe.report.lint.frame import frame, source_line
from pytest_cachesafe.report.lint.place import Place, confidence_of, head, place_of
from pytest_cachesafe.report.visible import visible

if TYPE_CHECKING:
    from cachesafe_rules.api import Rule

__all__ = ["render"]

# A flow with folded sources can be long; its two ends say most.
_STEPS = 16
_APPLY = {"safe": "--fix applies it", "unsafe": "--fix --unsafe-fixes applies it"}


def render(result: LintResult, *, sources: Sources, rules: Iterable[Rule] = ()) -> str:
    """The findings with a blank line between them; a file that cannot be read is shown without its lines."""
    return "\n".join("".join(f"{line}\n" for line in _paragraph(finding, sources)) for finding in result.findings)


def _paragraph(finding: Finding, sources: Sources) -> list[str]:
    place = place_of(finding)
    out = [head(finding, severity=True)]
    out += frame(sources(place.filename) or (), place)
    out += _path(finding, place, sources)
    if (confidence := confidence_of(finding)) != "high":
        out.append(f"  confidence: {visible(confidence)}")
    for line in (finding.help or "").splitlines():
        out.append(f"  help: {visible(line)}")
    fix = finding.data.get("fix")
    if isinstance(fix, Mapping) and fix.get("message"):
        apply = _APPLY.get(str(fix.get("applicability"))) if fix.get("edits") else None
        out.append(f"  fix: {visible(str(fix['message']))}{f' ({apply})' if apply else ''}")
    return out


def _path(finding: Finding, place: Place, sources: Sources) -> list[str]:
    """The stations of the value, source first, each with its line of source unless the frame begins with it."""
    steps = list(finding.flow)
    if not steps:
        return []
    left_out = len(steps) - _STEPS
    if left_out > 0:
        steps = [*steps[: _STEPS // 2], *steps[-_STEPS // 2 :]]
    out = ["  from where it arises to where it arrives:"]
    for index, step in enumerate(steps):
        if left_out > 0 and index == _STEPS // 2:
            out.append(f"    ... {left_out} more step{'' if left_out == 1 else 's'} (json has all)")
        out.append(f"    {visible(f'{step.filename}:{step.row}: {step.message}')}")
        framed = (step.filename, step.row) == (place.filename, place.row)
        line = None if framed else source_line(sources(step.filename), step.row)
        if line:
            out.append(f"      {step.row} | {line}")
    return out
