"""What the tests of a run found, as findings with a place in the source: what annotations and SARIF are written from.

Several checks that fail for one line of source are one finding there. Without such a line a finding stands where the
check was made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_cachesafe.findings import Finding, Flow, Location, Severity, fingerprint
from pytest_cachesafe.report.html.reading import mapping, rows, whole
from pytest_cachesafe.report.repository import Repository, Stretch

if TYPE_CHECKING:
    from pytest_cachesafe.gate.scenario import Run, Scenario

__all__ = ["checks_of", "findings_of", "lint_of"]

# "src/agent.py:7, clock() (CSF101: advice)", as `source.told` words it.
_BUILT = re.compile(r"(?P<file>[^\n]+?):(?P<row>\d{1,7}), (?P<rest>.*)", re.DOTALL)
_LINE = re.compile(r"(?P<file>[^\n]+):(?P<row>\d{1,7})\Z")
_RULE = re.compile(r" \([A-Z]+\d+(?:: .*)?\)\Z", re.DOTALL)
_CODE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


# Which cache a check is about, as the name behind a code.
_ABOUT = {
    "stable": "prompt-prefix", "reuse": "engine-cache", "provider": "provider-cache", "collisions": "semantic-cache",
}  # fmt: skip


class _Raw(NamedTuple):
    """One thing that is wrong with one check."""

    code: str
    message: str
    severity: Severity = Severity.ERROR
    help: str | None = None
    built: str | None = None
    # What tells it from others of its code in the same check.
    place: str = ""


def findings_of(run: Run, repository: Repository) -> list[Finding]:
    """What made checks fail, and what got worse than the lock file or a budget allows; errors first."""
    found: dict[tuple[str, ...], Finding] = {}
    tests: dict[tuple[str, ...], list[str]] = {}
    for scenario in run.scenarios:
        if scenario.passed:
            continue
        for raw in _raw(scenario):
            _take(raw, scenario, repository, found, tests)
    lines = {(scenario.test, scenario.name): scenario for scenario in run.scenarios}
    for regression in run.regressions:
        by = lines.get((regression.test, regression.name))
        level = Severity.ERROR if regression.failed else Severity.WARNING
        words = regression.text.removeprefix(f"cache regression in {regression.name}: ")
        raw = _Raw(
            "cache-regression", f"{regression.name}: {words}", level, "if this is meant: pytest --cachesafe-update"
        )
        check = _at(by.line if by is not None else None, regression.test, repository)
        parsed = _BUILT.match((by.built if by is not None else None) or "")
        where, flow = (check, ()) if parsed is None else _source(parsed, check, regression.test, repository)
        mark = fingerprint(raw.code, regression.test, regression.name)
        found[raw.code, mark] = _finding(raw, "lock-file", where, flow, mark)
        tests[raw.code, mark] = [regression.test]
    used: dict[str, int] = {}
    merged = [_unique(_told(finding, tests[key]), used) for key, finding in found.items()]
    return sorted(merged, key=lambda one: _RANK[one.severity])


def checks_of(run: Run, repository: Repository) -> list[Finding]:
    """Each failed check at the line that made it, with its own first line."""
    out = []
    for scenario in run.scenarios:
        if not scenario.passed:
            where = _at(scenario.line, scenario.test, repository)
            raw = _Raw("check-failed", f"{scenario.test}: {scenario.headline or scenario.name}")
            mark = fingerprint(raw.code, scenario.test, scenario.name)
            out.append(_finding(raw, _ABOUT.get(scenario.kind, ""), where, (), mark))
    return out


def lint_of(run: Run, repository: Repository) -> list[Finding]:
    """The linter's findings of the run, as it made them."""
    return [_lint(entry, repository) for entry in run.lint]


def _take(
    raw: _Raw,
    scenario: Scenario,
    repository: Repository,
    found: dict[tuple[str, ...], Finding],
    tests: dict[tuple[str, ...], list[str]],
) -> None:
    check = _at(scenario.line, scenario.test, repository)
    parsed = _BUILT.match(raw.built or "")
    flow: tuple[Flow, ...] = ()
    if parsed is not None:
        filename, expression = repository.named(parsed["file"]), _RULE.sub("", parsed["rest"])
        key: tuple[str, ...] = (raw.code, filename, parsed["row"], expression)
        mark = fingerprint(raw.code, filename, expression)
        where, flow = _source(parsed, check, scenario.test, repository)
    else:
        key = (raw.code, scenario.test, scenario.name, raw.place)
        mark = fingerprint(*key)
        where = check
    tests.setdefault(key, []).append(scenario.test)
    if key not in found:
        found[key] = _finding(raw, _ABOUT.get(scenario.kind, ""), where, flow, mark)


def _source(
    parsed: re.Match[str], check: Stretch, test: str, repository: Repository
) -> tuple[Stretch, tuple[Flow, ...]]:
    """Where the text that changes is built, and the way from there to the check."""
    row, expression = int(parsed["row"]), _RULE.sub("", parsed["rest"])
    return repository.stretch(parsed["file"], row, expression), (
        Flow(repository.named(parsed["file"]), row, f"the text that changes is built here: {expression}"),
        Flow(check.filename, check.row, f"{test} finds that it changes"),
    )


def _finding(raw: _Raw, name: str, where: Stretch, flow: tuple[Flow, ...], mark: str) -> Finding:
    end = None if where.end is None else {"row": where.row, "column": where.end}
    return Finding(
        raw.code, raw.message, raw.severity,
        Location(filename=where.filename, row=where.row, column=where.column), help=raw.help, flow=flow,
        data={"name": name, "fingerprint": mark, "confidence": "high", "end_location": end},
    )  # fmt: skip


def _told(finding: Finding, tests: Sequence[str]) -> Finding:
    """With the tests that found it."""
    names = list(dict.fromkeys(tests))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    words = f"found by {', '.join(names[:3])}{more}"
    return replace(finding, help=f"{finding.help}\n{words}" if finding.help else words)


def _unique(finding: Finding, used: dict[str, int]) -> Finding:
    """The same expression twice in a file: hosts show one of several findings with one fingerprint."""
    mark = str(finding.data["fingerprint"])
    count = used[mark] = used.get(mark, 0) + 1
    return finding if count == 1 else replace(finding, data={**finding.data, "fingerprint": fingerprint(mark, count)})


def _at(line: str | None, test: str, repository: Repository) -> Stretch:
    """Where a check was made: its line, else the file of its test."""
    parsed = _LINE.match(line or "")
    if parsed is None:
        return Stretch(repository.named(test.split("::")[0]), 1)
    return repository.stretch(parsed["file"], int(parsed["row"]))


def _raw(scenario: Scenario) -> Iterator[_Raw]:
    """What is wrong with a failed check, from its report; its headline where the report names no divergence."""
    data = mapping(scenario.data)
    kinds = {"stable": _stable, "provider": _provider}
    some = False
    for raw in kinds.get(scenario.kind, _nothing)(data):
        some = True
        yield raw
    if not some:
        code = {"stable": "prefix-unstable", "reuse": "engine-reuse", "provider": "not-cached"}
        yield _Raw(code.get(scenario.kind, "semantic-collision"), scenario.headline or f"{scenario.name} failed")


def _nothing(data: Mapping[str, Any]) -> Iterator[_Raw]:
    return iter(())


def _stable(data: Mapping[str, Any]) -> Iterator[_Raw]:
    from pytest_cachesafe.prefix.causes import ADVICE, CAUSES, advice
    from pytest_cachesafe.report.html.faults import place_of

    worst: dict[tuple[str, str, str], tuple[int, Mapping[str, Any], Mapping[str, Any]]] = {}
    for step in [*rows(data.get("steps")), *rows(data.get("perturbed"))]:
        divergence = mapping(step.get("divergence"))
        if step.get("reset") is not None or divergence.get("severity") not in ("error", "warning"):
            continue
        key = (str(divergence.get("cause")), place_of(mapping(divergence.get("location"))), str(step.get("under")))
        lost = whole(divergence.get("lost_tokens"))
        if key not in worst or lost > worst[key][0]:
            worst[key] = (lost, step, divergence)
    about = "about " if data.get("estimated") else ""
    for (cause, place, under), (lost, step, divergence) in worst.items():
        if cause not in CAUSES:
            continue
        with_ = f" under {under}" if step.get("under") else ""
        message = (
            f"{CAUSES[cause]} in the {place}{with_}: {about}{lost:,} tokens of the prompt prefix are lost at request "
            f"{whole(step.get('request'))}"
        )
        built = divergence.get("built")
        yield _Raw(
            f"prefix-{cause.replace('_', '-')}",
            message,
            Severity(str(divergence["severity"])),
            advice(cause, str(divergence.get("origin"))) if cause in ADVICE else None,
            built if isinstance(built, str) else None,
            f"{place}{with_}",
        )
    for name, toggle in mapping(data.get("toggles")).items():
        one = mapping(toggle)
        if isinstance(one.get("failed"), str) and one["failed"]:
            built = mapping(one.get("divergence")).get("built")
            yield _Raw("prefix-toggle", one["failed"], built=built if isinstance(built, str) else None, place=str(name))


def _provider(data: Mapping[str, Any]) -> Iterator[_Raw]:
    seen: set[tuple[str, str]] = set()
    for entry in rows(data.get("findings")):
        code, place, severity = str(entry.get("code")), str(entry.get("path")), entry.get("severity")
        if severity not in ("error", "warning") or (code, place) in seen or not _CODE.match(code):
            continue
        seen.add((code, place))
        advice, built = entry.get("help"), entry.get("built")
        yield _Raw(
            code,
            str(entry.get("message")),
            Severity(str(severity)),
            advice if isinstance(advice, str) else None,
            built if isinstance(built, str) else None,
            place,
        )


def _lint(entry: Mapping[str, Any], repository: Repository) -> Finding:
    where, severity = mapping(entry.get("location")), str(entry.get("severity"))
    known = severity if severity in ("error", "warning", "note") else "note"
    advice = entry.get("help")
    steps = tuple(
        Flow(repository.named(str(step.get("filename"))), whole(step.get("row")), str(step.get("message")))
        for step in rows(entry.get("flow"))
    )
    return Finding(
        str(entry.get("code")), str(entry.get("message")), Severity(known),
        Location(
            filename=repository.named(str(entry.get("filename"))), row=whole(where.get("row")) or None,
            column=whole(where.get("column")) or None,
        ),
        help=advice if isinstance(advice, str) else None, flow=steps,
        # A fix would be offered against a file that may have changed since.
        data={key: entry.get(key) for key in ("name", "fingerprint", "confidence", "end_location", "url")},
    )  # fmt: skip
