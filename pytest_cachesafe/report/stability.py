"""A stability report for people: the first line complete, worst divergence first, a line to reproduce it last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from pytest_cachesafe.prefix.causes import advice
from pytest_cachesafe.prefix.result import kind_of
from pytest_cachesafe.prefix.wording import missing_sentence, number, place, step_sentence
from pytest_cachesafe.report.excerpt import WIRE_LEGEND, WIRE_SIGNS, excerpt
from pytest_cachesafe.report.redacted import INNER_KEYS
from pytest_cachesafe.report.reuse import statement
from pytest_cachesafe.report.visible import Redact, redact, relative, visible

if TYPE_CHECKING:
    from pytest_cachesafe.prefix.compare import Divergence
    from pytest_cachesafe.prefix.result import StabilityReport
    from pytest_cachesafe.prefix.step import Step
    from pytest_cachesafe.prefix.toggles import ToggleResult

__all__ = ["render"]

_WIDTH = 120
# Which readings of the world can make a value of this kind.
_READ_KINDS: dict[str, tuple[str, ...]] = {
    "timestamp": ("clock",),
    "date": ("clock",),
    "id": ("random", "clock"),
    "number": ("random", "clock"),
    "path": ("cwd", "environment", "user"),
    "host": ("host", "environment"),
}
_LINES = 40


def render(report: StabilityReport, verbosity: int = 0, mode: str = "none") -> str:
    """The text of a report. `verbosity` 2 and more lifts the cap on lines and shows every step."""
    lines = list(_lines(report, verbosity, cast("Redact", mode)))
    if mode != "none":
        lines = [INNER_KEYS.sub(r"\1.…", line) for line in lines]
    first, rest = lines[0], lines[1:]
    if verbosity < 2 and len(rest) > _LINES:
        rest = [*rest[: _LINES - 1], f"  … {len(rest) - _LINES} more lines (-vv shows all)", *rest[-1:]]
    return "\n".join([first, *rest])


def _lines(report: StabilityReport, verbosity: int, mode: Redact) -> Iterator[str]:
    failures = report.failures()
    name = f" [{visible(report.name)}]" if report.name else ""
    front_end = visible(report.front_end)
    if failures:
        yield f"{_head(report)}{name}: {_safe(failures[0], report, mode)} [{front_end}]"
    else:
        yield f"{_passed(report)}{_warned(report)}{name} [{front_end}]"
    for text in failures[1:]:
        yield f"  also: {_safe(text, report, mode)}"
    broken = [s for s in report.judged if s.divergence is not None]
    shown = broken if verbosity >= 2 else _shown(report)
    for step in sorted(shown, key=lambda s: s is not report.worst):
        yield ""
        yield from _step(step, report, mode)
    if len(broken) > len(shown):
        yield f"  {number(len(broken) - len(shown), 'more step')} not shown (-vv)"
    for toggle in report.toggles:
        if toggle.divergence is not None and (toggle.failed or verbosity >= 2):
            yield ""
            yield from _toggle(toggle, report, mode)
    if report.missing and not any(missing_sentence(report.missing) in f for f in failures):
        yield f"  {_safe(missing_sentence(report.missing), report, mode)}"
    yield from _statements(report)
    if any(s in d.lead + d.before + d.after for d in _divergences(report, shown) for s in WIRE_SIGNS):
        yield f"  {WIRE_LEGEND}"
    if report.reproduce:
        yield f"reproduce: {visible(report.reproduce)}"


def _divergences(report: StabilityReport, shown: list[Step]) -> list[Divergence]:
    """Those that are printed with an excerpt."""
    found = [s.divergence for s in shown] + [t.divergence for t in report.toggles]
    return [d for d in found if d is not None]


def _head(report: StabilityReport) -> str:
    """What failed, in three words."""
    if any(s.verdict in report.fail_on for s in report.judged) or not report.missing:
        return "prompt prefix is not stable"
    return "prompt is not complete"


def _passed(report: StabilityReport) -> str:
    steps = len([s for s in report.steps if s.reset is None])
    verdict = report.verdict
    if verdict == "stable":
        apart = f" in {report.conversations} conversations" if report.conversations > 1 else ""
        return (
            f"prompt prefix is stable over {number(report.requests, 'request')}{apart} ({number(steps, 'comparison')})"
        )
    worst = report.worst
    words = step_sentence(worst, report.exact) if worst is not None else missing_sentence(report.missing)
    return f"prompt prefix: {verdict}, no failure: {visible(words)}"


def _warned(report: StabilityReport) -> str:
    """Warnings count in the exit status, so the first line, which may be all that is seen, must name them."""
    if not report.warnings:
        return ""
    return f", {number(len(report.warnings), 'warning')}: {'; '.join(visible(words) for words in report.warnings)}"


def _shown(report: StabilityReport) -> list[Step]:
    """The worst step, and the first one if it tells something else."""
    worst, first = report.worst, report.first
    steps = [s for s in (worst, first) if s is not None and s.divergence is not None]
    if len(steps) == 2 and kind_of(steps[0]) == kind_of(steps[1]):
        del steps[1]
    return steps


def _step(step: Step, report: StabilityReport, mode: Redact) -> Iterator[str]:
    divergence = step.divergence
    assert divergence is not None
    label = "worst" if step is report.worst else "first" if step is report.first else "step"
    against = "" if step.against is None else f" against request {step.against}"
    yield f"  {label}: request {step.request}{against}, {step.verdict}, {_severity(divergence)}"
    yield from _divergence(divergence, report, mode)
    about = "" if report.exact else "about "
    yield (
        f"    lost:   {about}{step.lost_tokens} of {number(step.tokens, 'token')}"
        + (f", {number(step.lost_blocks, 'block')} of {report.block_size}" if report.exact else " (estimated)")
    )
    yield f"    fix:    {advice(divergence.cause, divergence.origin)}"
    built = report.built.get((divergence.lead, divergence.before))
    if built is not None:
        yield f"    built:  {visible(built)}"
    for read in _reads(report, step):
        yield f"    read:   {visible(read)}"
    over = report.acceptances.over_bound(divergence, report.front_end)
    if over is not None:
        yield f"    accepted up to {over.max_lost_tokens} tokens only: {visible(over.describe())}"
    elif step.under is None and divergence.origin == "template" and step.verdict in report.fail_on:
        bound = f"cause={divergence.cause!r}, max_lost_tokens={step.lost_tokens}"
        yield f"    accept: Accept({bound}, reason=…) if this is known"


def _toggle(toggle: ToggleResult, report: StabilityReport, mode: Redact) -> Iterator[str]:
    divergence = toggle.divergence
    assert divergence is not None
    change = toggle.value if toggle.toggle.kind == "order" else repr(toggle.value)
    tried = f"{visible(toggle.toggle.label)} ({visible(str(change))})"
    yield f"  toggle: {tried}, request {toggle.request}, {toggle.observed}"
    yield from _divergence(divergence, report, mode)
    yield f"    fix:    {advice(divergence.cause, divergence.origin)}"


def _divergence(divergence: Divergence, report: StabilityReport, mode: Redact) -> Iterator[str]:
    """Where, why, and both sides aligned."""
    yield f"    where:  {visible(place(divergence))}{_position(divergence, report)}"
    yield f"    cause:  {divergence.cause} ({divergence.origin})"
    sides = (divergence.lead + divergence.before, divergence.lead + divergence.after)
    for line in excerpt(*sides, len(divergence.lead), width=_WIDTH - 4, redact_mode=mode):
        yield f"    {line}"


def _severity(divergence: Divergence) -> str:
    return f"{divergence.severity}" + (
        " (once a day)" if divergence.cause == "date" and str(divergence.severity) == "note" else ""
    )


def _position(divergence: Divergence, report: StabilityReport) -> str:
    where = divergence.location
    parts = []
    if where.token_index is not None:
        parts.append(f"token {'' if report.exact else 'about '}{where.token_index}")
    if where.block_index is not None and report.exact:
        parts.append(f"block {where.block_index}")
    if where.char_index is not None:
        parts.append(f"character {where.char_index}")
    return f" ({', '.join(parts)})" if parts else ""


def _reads(report: StabilityReport, step: Step) -> list[str]:
    """Lines of user code that may have made the value that changed."""
    divergence = step.divergence
    kinds = _READ_KINDS.get(divergence.cause if divergence else "", ())
    if step.under is not None:
        kinds = (*kinds, step.under.split(":")[0])
    lines = [f"{relative(r.filename)}:{r.row} in {r.function}: {r.call}" for r in report.reads if r.kind in kinds]
    return list(dict.fromkeys(lines))[:5]


def _statements(report: StabilityReport) -> Iterator[str]:
    """What else is known, a line each."""
    if report.generated_text_reused is not None:
        words = (
            "is reused by the next request"
            if report.generated_text_reused
            else "is not reused: the next request re-renders it"
        )
        yield f"  generated text {words}"
    if report.reuse is not None:
        yield f"  {visible(statement(report.reuse))}"
    for toggle in report.toggles:
        yield (
            f"  toggle {visible(toggle.toggle.label)}: {toggle.observed}, {_kept(toggle)} "
            f"(expected: {toggle.toggle.wanted})"
        )
    for item in report.acceptances.as_list():
        used = f"{number(item['count'], 'time')}, at most {number(item['max_lost_tokens'], 'token')}"
        if item["over_bound"] is not None:
            used = f"{used if item['used'] else 'not'}, over its bound with {number(item['over_bound'], 'token')}"
        accept = ", ".join(f"{k}={v}" for k, v in item["accept"].items())
        happens = item["used"] or item["over_bound"] is not None
        if not happens and report.ended_early:
            continue
        yield f"  accepted {used if happens else '(no longer happens)'}: {visible(accept)}"
    if report.resets:
        at = f"request{'' if len(report.resets) == 1 else 's'} {', '.join(map(str, report.resets))}"
        yield f"  declared reset at {at}"
    for step in report.steps:
        for divergence in step.notes:
            if divergence is not step.divergence:
                yield f"  note: request {step.request}: {divergence.cause} in {visible(place(divergence))}"
    for words in report.warnings:
        yield f"  warning: {visible(words)}"
    for words in report.notes:
        yield f"  note: {visible(words)}"
    if not report.exact:
        yield "  token counts are estimates: this front end has no tokenizer; what differs and where is exact"


def _kept(toggle: ToggleResult) -> str:
    if toggle.idle is not None:
        return f"compared nothing ({visible(toggle.idle)})"
    if toggle.observed == "tail" and toggle.kept == 1.0:
        return "only the end of the prompt changes"
    # 100% is said of nothing less.
    return f"keeps {toggle.kept if toggle.kept == 1.0 else min(toggle.kept, 0.99):.0%} of the prefix"


def _safe(text: str, report: StabilityReport, mode: Redact) -> str:
    """Sentences carry values of the user (a template's words, the beginning of a dropped message)."""
    if mode != "none":
        for missing in report.missing:
            if missing.what != "tools":
                text = text.replace(f"({missing.name})", f"({redact(missing.name, mode)})")
        for step in report.judged:
            if step.raised:
                text = text.replace(step.raised, redact(step.raised, mode))
    return visible(text)
