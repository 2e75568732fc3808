"""What the rules on volatile values have in common: pick sources out of arrivals, tell the worst, show every way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, ClassVar

from cachesafe_rules.api import Context, Report, Rule
from cachesafe_rules.model import Arrival, Source, Step, Taint
from cachesafe_rules.policy import WRITTEN_OUT, rank, remedy, sentence, severity, spelling, worded

__all__ = ["ArrivalRule", "in_template", "joined", "written_out"]

_MEDIUM = frozenset({"user", "session", "memory", "file", "build", "state", "mutable"})


def written_out(taint: Taint) -> bool:
    """Whether a step of a way writes a sequence into a text, one element after the other."""
    return any(WRITTEN_OUT.match(step.message) for step in taint.steps)


def in_template(arrival: Arrival, source: Source) -> bool:
    """Whether the clock is called by the prompt template itself, not by the Python code that fills it."""
    return arrival.part == "template" or not source.span.filename.endswith((".py", ".pyi"))


def joined(ways: Sequence[Sequence[Step]]) -> tuple[Step, ...]:
    """Several ways one after the other; a step that they share is told once, in the order that each of them has."""
    order = {step: at for at, step in enumerate(dict.fromkeys(step for way in ways for step in way))}
    behind: dict[Step, set[Step]] = {step: set() for step in order}
    before = dict.fromkeys(order, 0)
    for way in ways:
        steps = tuple(dict.fromkeys(way))
        for first, second in pairwise(steps):
            if second not in behind[first]:
                behind[first].add(second)
                before[second] += 1
    left = iter(order)
    ready = [(at, step) for step, at in order.items() if not before[step]]
    told: dict[Step, None] = {}
    while len(told) < len(order):
        # Without any: two ways pass the same places in opposite order.
        step = heappop(ready)[1] if ready else next(one for one in left if one not in told)
        if step in told:
            continue
        told[step] = None
        for one in behind[step]:
            before[one] -= 1
            if not before[one]:
                heappush(ready, (order[one], one))
    return tuple(told)


class ArrivalRule(Rule):
    """A rule that reports arrivals which carry one of its `kinds`. Not a rule by itself."""

    kinds: ClassVar[tuple[str, ...]] = ()

    def counts(self, arrival: Arrival, source: Source) -> bool:
        """Whether a source of one of the kinds is this rule's; for rules that share a kind."""
        return True

    def shows(self, arrival: Arrival, taint: Taint) -> bool:
        """Whether the way of a value shows what makes it this rule's."""
        return True

    def check(self, context: Context) -> Iterator[Report]:
        """One report per arrival: the worst source speaks, the steps of the others follow its own."""
        for arrival in context.arrivals(*self.kinds):
            taints = [
                t
                for t in arrival.taints
                if t.source.kind in self.kinds and self.counts(arrival, t.source) and self.shows(arrival, t)
            ]
            if taints:
                yield self.report(arrival, taints)

    def report(self, arrival: Arrival, taints: Sequence[Taint]) -> Report:
        """The report on these taints of one arrival."""
        ordered = sorted(taints, key=_worst_first)
        source = ordered[0].source
        ways = [_way(arrival, taint) for taint in ordered]
        return Report(
            message=sentence(source, arrival.sink),
            span=arrival.span,
            severity=severity(source),
            confidence="medium" if source.kind in _MEDIUM else "high",
            steps=joined(ways),
            group=arrival.function or None,
            help=remedy(source),
            data={
                "sink": arrival.sink,
                "part": arrival.part,
                "sources": [_source_data(s) for s in dict.fromkeys(t.source for t in ordered)],
            },
        )


def _worst_first(taint: Taint) -> tuple[Any, ...]:
    source = taint.source
    steps = tuple((step.filename, step.row, step.message) for step in taint.steps)
    return rank(severity(source)), source.span, source.kind, source.api, source.granularity, source.frozen, steps


def _way(arrival: Arrival, taint: Taint) -> list[Step]:
    """The steps from source to sink; ends that the analysis left out are added."""
    source, sink = taint.source.span, arrival.span
    steps = list(taint.steps)
    if not steps or (steps[0].filename, steps[0].row) != (source.filename, source.row):
        steps.insert(0, Step(source.filename, source.row, f"{spelling(taint.source)} is volatile"))
    last = steps[-1]
    if last.filename != sink.filename or not sink.row <= last.row <= sink.end_row:
        steps.append(Step(sink.filename, sink.row, f"reaches {worded(arrival.sink)}"))
    return steps


def _source_data(source: Source) -> dict[str, Any]:
    span = source.span
    return {
        "kind": source.kind,
        "granularity": source.granularity,
        "api": source.api,
        "frozen": source.frozen,
        "filename": span.filename,
        "row": span.row,
        "column": span.column,
        "end_row": span.end_row,
        "end_column": span.end_column,
    }
