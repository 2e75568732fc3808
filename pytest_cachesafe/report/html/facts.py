"""What a page says of one check, read from its report's JSON form. Whatever is not there, or no number, counts as 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from pytest_cachesafe.gate.scenario import Regression, Run, Scenario
from pytest_cachesafe.report.html.faults import Fault, faults_of
from pytest_cachesafe.report.html.reading import dollars, mapping, rows, whole

__all__ = ["Bar", "Facts", "Group", "Part", "Status", "facts_of"]

Status = Literal["failed", "regression", "warning", "passed"]
_ORDER: tuple[Status, ...] = ("failed", "regression", "warning", "passed")


class Part(NamedTuple):
    """Tokens of one sort in a request."""

    sort: str
    tokens: int


class Bar(NamedTuple):
    """One request of a waterfall."""

    label: str
    parts: tuple[Part, ...]
    note: str = ""

    @property
    def tokens(self) -> int:
        """All of it."""
        return sum(part.tokens for part in self.parts)


class Group(NamedTuple):
    """A waterfall: the requests of one world, and the sorts its columns have."""

    title: str
    sorts: tuple[str, ...]
    bars: tuple[Bar, ...]


@dataclass
class Facts:
    """One check, as the page shows it."""

    scenario: Scenario
    status: Status
    regressions: list[Regression]
    groups: list[Group] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    # Tokens that an earlier request already held, and those of them that are kept.
    reusable: int = 0
    kept: int = 0
    estimated: bool = False
    # USD per 1,000 conversations: lost by what was found, paid, and without any caching.
    usd_lost: float | None = None
    usd_paid: float | None = None
    usd_plain: float | None = None

    @property
    def lost(self) -> int:
        """Reusable tokens that are not kept."""
        return max(self.reusable - self.kept, 0)

    @property
    def order(self) -> tuple[int, int]:
        """Worst first."""
        return _ORDER.index(self.status), -self.lost


def facts_of(run: Run) -> list[Facts]:
    """All checks of a run, the worst first, then by test."""
    worse: dict[tuple[str, str], list[Regression]] = {}
    for regression in run.regressions:
        worse.setdefault((regression.test, regression.name), []).append(regression)
    found = [_facts(scenario, worse.get((scenario.test, scenario.name), [])) for scenario in run.scenarios]
    return sorted(found, key=lambda one: (*one.order, one.scenario.test, one.scenario.name))


def _facts(scenario: Scenario, regressions: list[Regression]) -> Facts:
    data = mapping(scenario.data)
    status: Status = "passed"
    if not scenario.passed:
        status = "failed"
    elif any(regression.failed for regression in regressions):
        status = "regression"
    elif regressions or data.get("warnings"):
        status = "warning"
    found = Facts(scenario, status, regressions, estimated=bool(data.get("estimated")))
    found.faults = faults_of(scenario.kind, data)
    if scenario.kind == "stable":
        _stable(found, data)
    elif scenario.kind == "reuse":
        _engine(found, data)
    elif scenario.kind == "provider":
        _provider(found, data)
    return found


def _stable(found: Facts, data: Mapping[str, Any]) -> None:
    worlds: dict[str, list[Mapping[str, Any]]] = {"": rows(data.get("steps"))}
    for step in rows(data.get("perturbed")):
        worlds.setdefault(f"under {step.get('under') or 'a perturbation'}", []).append(step)
    engine = mapping(data.get("reuse"))
    for title, steps in worlds.items():
        if not steps:
            continue
        group = Group(title, ("kept", "lost", "new"), tuple(_step_bars(steps)))
        found.groups.append(group)
        counted = [step for step in steps if step.get("reset") is None]
        reusable = sum(whole(step.get("tokens")) for step in counted)
        kept = sum(whole(step.get("shared_tokens")) for step in counted)
        if reusable - kept >= found.lost:
            # The world that loses most says how the check went.
            found.reusable, found.kept = reusable, kept
    if engine:
        found.groups.append(_engine_group(engine))


def _step_bars(steps: Sequence[Mapping[str, Any]]) -> Iterator[Bar]:
    known = {whole(step.get("request")) for step in steps}
    for step in steps:
        request, against = whole(step.get("request")), step.get("against")
        tokens, shared = whole(step.get("tokens")), whole(step.get("shared_tokens"))
        if isinstance(against, int) and against not in known and against != request:
            known.add(against)
            yield Bar(f"request {against}", (Part("new", tokens),), "first")
        own = step.get("request_tokens")
        rest = max(whole(own) - shared, 0) if own is not None else tokens - shared
        lost = min(max(tokens - shared, 0), rest)
        note = ""
        if step.get("reset") is not None:
            note = "declared reset"
        elif step.get("raised"):
            note = "not rendered"
        elif step.get("accepted") and step.get("verdict") == "stable":
            note = "accepted"
        elif against == request:
            note = "built again"
        elif isinstance(against, int) and against != request - 1:
            note = f"after request {against}"
        yield Bar(f"request {request}", (Part("kept", shared), Part("lost", lost), Part("new", rest - lost)), note)


def _engine(found: Facts, data: Mapping[str, Any]) -> None:
    found.groups.append(_engine_group(data))
    for request in rows(data.get("requests")):
        if request.get("against") is not None:
            found.reusable += whole(request.get("continued_tokens"))
            found.kept += min(whole(request.get("cached_tokens")), whole(request.get("continued_tokens")))


def _engine_group(data: Mapping[str, Any]) -> Group:
    bars = []
    for request in rows(data.get("requests")):
        tokens, cached = whole(request.get("tokens")), whole(request.get("cached_tokens"))
        stable, continued = whole(request.get("stable_tokens")), whole(request.get("continued_tokens"))
        cached = min(cached, tokens)
        missed = min(max(stable - cached, 0), tokens - cached)
        changed = min(max(continued - stable, 0), tokens - cached - missed)
        note = "declared reset" if request.get("reset") else "first" if request.get("against") is None else ""
        parts = (
            Part("reused", cached),
            Part("missed", missed),
            Part("lost", changed),
            Part("new", tokens - cached - missed - changed),
        )
        bars.append(Bar(f"request {whole(request.get('request'))}", parts, note))
    return Group(f"{data.get('engine') or 'engine'}", ("reused", "missed", "lost", "new"), tuple(bars))


def _provider(found: Facts, data: Mapping[str, Any]) -> None:
    requests = rows(data.get("requests"))
    totals: dict[int, int] = {}
    bars = []
    several = whole(data.get("conversations")) > 1
    for request in requests:
        number, tokens = whole(request.get("request")), mapping(request.get("tokens"))
        total, read = whole(tokens.get("total")), whole(tokens.get("read"))
        totals[number] = total
        before = totals.get(whole(request.get("against"))) if request.get("against") is not None else None
        if before is not None:
            found.reusable += before
            found.kept += min(read, before)
        note = f"conversation {whole(request.get('conversation'))}" if several else ""
        if request.get("miss_reason"):
            note = f"{note}, {request['miss_reason']}" if note else str(request["miss_reason"])
        if not tokens:
            note = "no answer"
        parts = (
            Part("read", read),
            Part("written", whole(tokens.get("write"))),
            Part("uncached", whole(tokens.get("uncached"))),
        )
        bars.append(Bar(f"request {number}", parts, note))
    found.groups.append(Group("", ("read", "written", "uncached"), tuple(bars)))
    _money(found, data)


def _money(found: Facts, data: Mapping[str, Any]) -> None:
    conversations = max(whole(data.get("conversations")), 1)
    paid, plain = dollars(data.get("cost_usd")), dollars(data.get("uncached_cost_usd"))
    found.usd_paid = None if paid is None else paid * 1000 / conversations
    found.usd_plain = None if plain is None else plain * 1000 / conversations
    # Two findings about one request may tell of the same tokens: the dearer one counts.
    dearest: dict[int, float] = {}
    for finding in rows(data.get("findings")):
        usd = dollars(finding.get("lost_usd_per_1000"))
        if usd is not None:
            number = whole(finding.get("request"))
            dearest[number] = max(dearest.get(number, 0.0), usd)
    if dearest:
        found.usd_lost = sum(dearest.values()) / conversations
