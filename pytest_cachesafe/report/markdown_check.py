"""One check in full, as Markdown that opens and closes: a table of its requests, and what was found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from pytest_cachesafe.report.mdtext import block, code, html_code

if TYPE_CHECKING:
    from pytest_cachesafe.report.html.facts import Facts, Group
    from pytest_cachesafe.report.html.faults import Fault
    from pytest_cachesafe.report.visible import Redact

__all__ = ["details", "usd"]

_ROWS = 24
_FAULTS = 4
_PAIRS = 5
_WIDTH = 110


def details(one: Facts, redact: str) -> str:
    """The whole of a check, open where something is wrong."""
    from pytest_cachesafe.report.html.words import money

    scenario = one.scenario
    opened = " open" if one.status in ("failed", "regression") else ""
    # A block of HTML ends at the first empty line; what follows is Markdown again.
    title = f"{html_code(scenario.test)} {html_code(scenario.name, 60)}"
    head = f"<details{opened}><summary>{one.status}: {title}</summary>"
    parts = [head, ""]
    if scenario.headline:
        parts += [block(_wrapped(scenario.headline)), ""]
    if scenario.line:
        parts += [f"Checked at {code(scenario.line, cell=False)}.", ""]
    paid = money(one)
    if paid is not None:
        parts += [f"Money: {paid}.", ""]
    for group in one.groups:
        parts += [*_requests(group), ""]
    for fault in one.faults[:_FAULTS]:
        parts += [*_fault(fault, redact), ""]
    if len(one.faults) > _FAULTS:
        parts += [f"{len(one.faults) - _FAULTS} more are not shown.", ""]
    if scenario.kind == "collisions":
        parts += _pairs(one)
    return "\n".join([*parts, "</details>", ""])


def _wrapped(text: str) -> list[str]:
    from textwrap import wrap

    from pytest_cachesafe.report.visible import visible

    # Made visible as a whole first: a line that begins inside an escape is no command either.
    return wrap(visible(text[:4000]), _WIDTH) or [""]


def _requests(group: Group) -> Iterator[str]:
    if not group.bars:
        return
    if group.title:
        yield f"{code(group.title, cell=False)}:"
        yield ""
    yield f"| request | tokens | {' | '.join(group.sorts)} | |"
    yield f"|---|--:|{'--:|' * len(group.sorts)}---|"
    for bar in group.bars[:_ROWS]:
        tokens = {part.sort: part.tokens for part in bar.parts}
        cells = [bar.label, f"{bar.tokens:,}", *(f"{tokens.get(sort, 0):,}" for sort in group.sorts)]
        yield f"| {' | '.join(cells)} | {code(bar.note, 60) if bar.note else ''} |"
    if len(group.bars) > _ROWS:
        yield ""
        yield f"… {len(group.bars) - _ROWS:,} more requests."


def _fault(fault: Fault, redact: str) -> Iterator[str]:
    from pytest_cachesafe.report.html.words import few

    at = f"request{'' if len(fault.requests) == 1 else 's'} {few(fault.requests)}" if fault.requests else "the check"
    yield f"**{_word(fault.severity)}** in {at}: {code(fault.title, 300, cell=False)}"
    yield ""
    about = "about " if fault.estimated else ""
    lost = f"{about}{fault.lost:,} tokens" if fault.lost else ""
    if lost and fault.usd_per_1000:
        lost += f"; {about}{usd(fault.usd_per_1000)} per 1,000 conversations"
    for name, text in (
        ("where", code(fault.place, cell=False) if fault.place else ""),
        ("cause", code(fault.cause, cell=False) if fault.cause else ""),
        ("what", code(fault.detail, 300, cell=False) if fault.detail else ""),
        ("lost", lost),
        ("built by", code(fault.built, 200, cell=False) if fault.built else ""),
        ("fix", code(fault.fix, 300, cell=False) if fault.fix else ""),
    ):
        if text:
            yield f"- {name}: {text}"
    if fault.has_text:
        yield ""
        yield block(_sides(fault, redact))


def _sides(fault: Fault, redact: str) -> list[str]:
    """Both sides of a divergence; where the run redacts, what stands for them."""
    if redact != "none" or not fault.lead:
        return [f"before: {fault.before[:_WIDTH]}", f"after:  {fault.after[:_WIDTH]}"]
    from pytest_cachesafe.report.excerpt import excerpt

    sides = (fault.lead + fault.before, fault.lead + fault.after)
    return excerpt(*sides, len(fault.lead), width=_WIDTH, redact_mode=cast("Redact", redact))


def _pairs(one: Facts) -> Iterator[str]:
    """The pairs that a semantic cache would give one answer."""
    from pytest_cachesafe.report.html.reading import dollars, mapping, rows

    data = mapping(one.scenario.data)
    pairs: list[Any] = rows(data.get("pairs")) or ([data] if "a" in data and "b" in data else [])
    for pair in pairs[:_PAIRS]:
        similarity = dollars(pair.get("similarity"))
        close = "" if similarity is None else f", cosine {similarity:.3f}"
        # Of texts alone nobody asked whether a cache merges them.
        merged = {True: "merged", False: "not merged"}.get(pair.get("merged"), "judged by their words")
        yield f"**{merged}**{close}, different answer: {code(str(pair.get('different_answer')), 40, cell=False)}"
        yield ""
        yield block([f"a: {str(pair.get('a') or '')[:400]}", f"b: {str(pair.get('b') or '')[:400]}"], _WIDTH)
        yield ""
    if len(pairs) > _PAIRS:
        yield f"{len(pairs) - _PAIRS:,} more pairs are not shown."
        yield ""


def _word(severity: str) -> str:
    return severity if severity in ("error", "warning", "note") else "note"


def usd(value: float) -> str:
    """An amount of money."""
    return f"{value:,.2f} USD" if value >= 0.01 or not value else f"{value:.4f} USD"
