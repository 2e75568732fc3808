"""What to mend first: the faults that cost most over all checks, each told once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_cachesafe.report.html.facts import Facts
from pytest_cachesafe.report.html.faults import Fault
from pytest_cachesafe.report.html.markup import Markup, tag
from pytest_cachesafe.report.html.words import usd

__all__ = ["first_steps"]

_MOST = 3


@dataclass
class _Step:
    fault: Fault
    checks: int = 0
    lost: int = 0
    usd: float = 0.0


def first_steps(found: Sequence[Facts]) -> Markup | None:
    """A short list of lines or places in code with what to change; nothing where no check failed."""
    steps: dict[object, _Step] = {}
    for one in found:
        if one.status not in ("failed", "regression"):
            continue
        seen = set()
        for fault in one.faults:
            if fault.severity == "note":
                continue
            # The line that built the value is the place to mend, whatever requests it spoils.
            key = fault.built or (fault.cause, fault.place)
            step = steps.setdefault(key, _Step(fault))
            step.lost += fault.lost
            step.usd += fault.usd_per_1000 or 0.0
            step.checks += key not in seen
            seen.add(key)
    ordered = sorted(steps.values(), key=lambda step: -step.lost)
    if not ordered:
        return None
    return tag(
        "section",
        tag("h2", "Mend first", id="first-title"),
        tag("ol", *map(_item, ordered[:_MOST])),
        class_="first",
        aria_labelledby="first-title",
    )


def _item(step: _Step) -> Markup:
    fault = step.fault
    about = "about " if fault.estimated else ""
    cost = f"{about}{step.lost:,} tokens" if step.lost else "no tokens counted"
    if step.usd:
        cost += f", {about}{usd(step.usd)} per 1,000 conversations"
    checks = f"{step.checks} check{'' if step.checks == 1 else 's'}"
    place = tag("code", fault.built) if fault.built else fault.place
    return tag(
        "li",
        tag("strong", fault.cause),
        " at ",
        place,
        f" ({checks}, {cost})",
        tag("p", tag("b", "fix "), fault.fix) if fault.fix else None,
    )
