"""One check in full: verdict, waterfall, what is wrong, toggles, acceptances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_cachesafe.report.html.collisions import collisions
from pytest_cachesafe.report.html.facts import Facts
from pytest_cachesafe.report.html.faults import Fault
from pytest_cachesafe.report.html.markup import Content, Markup, tag
from pytest_cachesafe.report.html.reading import mapping, rows, whole
from pytest_cachesafe.report.html.waterfall import MOST_ROWS, waterfall
from pytest_cachesafe.report.html.window import window
from pytest_cachesafe.report.html.words import KINDS, badge, few, listed, money, usd

__all__ = ["scenario_section"]

# Faults and notes shown of one check.
_MOST = 8


def scenario_section(found: Facts, anchor: str, redact: str, *, shown: bool = False) -> Markup:
    """A part that opens and closes.

    The anchor stands inside, since browsers open what a link leads into.
    """
    scenario = found.scenario
    head = tag(
        "summary",
        badge(found.status),
        tag("h3", scenario.test, tag("small", f" {scenario.name}") if scenario.name != scenario.kind else None),
        tag("span", KINDS.get(scenario.kind, scenario.kind), class_="kind"),
    )
    body = tag("div", *_body(found, redact), class_="body", id=anchor, tabindex="-1")
    return tag("details", head, body, class_=f"scenario {found.status}", open=shown)


def _body(found: Facts, redact: str) -> Iterator[Content]:
    scenario, data = found.scenario, mapping(found.scenario.data)
    if scenario.headline:
        yield tag("p", scenario.headline, class_="headline")
    for regression in found.regressions:
        yield tag("p", badge("regression" if regression.failed else "warning"), " ", regression.text)
    failures = [str(text) for text in data.get("failures") or () if isinstance(text, str)]
    if len(failures) > 1:
        yield listed("also", failures[1:], _MOST)
    yield _about(found, data)
    for group in found.groups:
        most = MOST_ROWS if found.status != "passed" else MOST_ROWS // 2
        yield waterfall(group, "Tokens of each request", estimated=found.estimated, most_rows=most)
    most_faults = _MOST if found.status != "passed" else _MOST // 2
    for number, fault in enumerate(found.faults[:most_faults]):
        # The headline says the first one already.
        told = bool(fault.title) and fault.title in scenario.headline
        yield _fault(fault, redact, told=told, main=number == 0)
    if len(found.faults) > most_faults:
        yield tag("p", f"{len(found.faults) - most_faults} more are not shown.")
    if scenario.kind == "collisions":
        yield from collisions(data, redact)
    yield _toggles(mapping(data.get("toggles")))
    yield _accepted(rows(data.get("accepted")))
    missing = [
        f"{item.get('what')} at {item.get('path')} ({item.get('name')})" for item in rows(data.get("not_rendered"))
    ]
    yield listed("Left out by the template", missing, _MOST)
    yield listed("Warnings", _texts(data.get("warnings")), _MOST)
    yield listed("Missed", _texts(data.get("missed")), _MOST)
    yield listed("Lines that read the clock, random bytes or the environment", list(_reads(data)), _MOST)
    yield listed("Notes", _texts(data.get("notes")), _MOST)


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, (list, tuple)) else []


def _about(found: Facts, data: Mapping[str, Any]) -> Markup:
    scenario = found.scenario
    front_end = data.get("front_end") or (f"requests to {data['provider']}" if data.get("provider") else None)
    parts: list[tuple[str, Content]] = [
        ("line", scenario.line),
        ("front end", front_end and str(front_end)),
    ]
    if found.reusable:
        about = "about " if found.estimated else ""
        parts.append(("kept", f"{about}{found.kept:,} of {found.reusable:,} tokens that an earlier request held"))
    if data.get("limits"):
        parts.append(("limits", str(data["limits"])))
    parts.append(("money", money(found)))
    rest = [(tag("dt", name), tag("dd", value)) for name, value in parts if value]
    return tag("dl", *(tag("div", *pair) for pair in rest), class_="about")


def _fault(fault: Fault, redact: str, *, told: bool, main: bool) -> Markup:
    about = "about " if fault.estimated else ""
    many = len(fault.requests) > 1
    lost = f"{about}{fault.lost:,} tokens" if fault.lost else None
    if lost and fault.usd_per_1000:
        lost += f"; {about}{usd(fault.usd_per_1000)} per 1,000 conversations"
    shown: list[tuple[str, Content]] = [
        ("where", f"{'requests' if many else 'request'} {few(fault.requests)}, {fault.place}"),
        ("cause", fault.cause),
        ("what", fault.detail),
        ("lost", lost),
        ("built by", fault.built),
        ("fix", fault.fix),
    ]
    pairs = [
        tag("div", tag("dt", name), tag("dd", value), class_="fix" if name == "fix" else None)
        for name, value in shown
        if value
    ]
    text = window(fault.lead, fault.before, fault.after, plain=redact != "none") if fault.has_text else None
    return tag(
        "div",
        tag("h4", badge(fault.severity), " ", fault.code),
        None if told else tag("p", fault.title),
        text,
        tag("dl", *pairs, class_="about"),
        class_="fault main" if main else "fault",
    )


def _toggles(toggles: Mapping[str, Any]) -> Markup | None:
    """What each setting and order does to the prompt."""
    if not toggles:
        return None
    body = []
    for name, value in list(toggles.items())[:50]:
        one = mapping(value)
        kept = one.get("kept")
        idle, failed = one.get("idle"), one.get("failed")
        share = f"{min(float(kept), 1.0):.0%}" if isinstance(kept, (int, float)) and not idle else "–"
        tried = one.get("value")
        asked = one.get("expect") != "report"
        verdict = badge("failed") if failed else badge("warning", "idle") if idle else badge("passed")
        if not (failed or idle or asked):
            verdict = badge("note", "reported")
        cells: list[Content] = [
            "–" if tried is None else tag("code", repr(tried) if not isinstance(tried, str) else tried),
            str(one.get("expect") or ""),
            "nothing was compared" if idle else str(one.get("observed") or ""),
            share,
            verdict,
        ]
        label = f"order of {name}" if one.get("kind") == "order" else str(name)
        row = tag("th", label, scope="row", role="rowheader"), *(tag("td", cell, role="cell") for cell in cells)
        body.append(tag("tr", *row, role="row"))
    names = ("setting or order", "worst value", "expected", "observed", "kept", "verdict")
    head = tag("tr", *(tag("th", name, scope="col", role="columnheader") for name in names), role="row")
    return tag(
        "table",
        tag("caption", "Toggles: settings and orders tried"),
        tag("thead", head, role="rowgroup"),
        tag("tbody", *body, role="rowgroup"),
        class_="plain toggles",
        role="table",
    )


def _accepted(items: list[Mapping[str, Any]]) -> Markup | None:
    """Divergences that are known, and those that no longer happen."""
    if not items:
        return None
    body = []
    for item in items[:50]:
        accept = ", ".join(f"{key}={value}" for key, value in mapping(item.get("accept")).items())
        over = item.get("over_bound")
        if over is not None:
            state = f"over its bound: {whole(over):,} tokens"
        elif item.get("used"):
            times = whole(item.get("count"))
            state = f"{times:,} time{'' if times == 1 else 's'}, at most {whole(item.get('max_lost_tokens')):,} tokens"
        else:
            state = "no longer happens: remove it"
        body.append(tag("tr", tag("th", accept, scope="row"), tag("td", state)))
    head = tag("tr", tag("th", "accepted", scope="col"), tag("th", "happened", scope="col"))
    return tag("table", tag("caption", "Accepted divergences"), tag("thead", head), tag("tbody", *body), class_="plain")


def _reads(data: Mapping[str, Any]) -> Iterator[str]:
    from pytest_cachesafe.report.visible import relative

    shown = set()
    for read in rows(data.get("reads")):
        words = f"{relative(str(read.get('filename')))}:{read.get('row')} in {read.get('function')}: {read.get('call')}"
        if words not in shown:
            shown.add(words)
            yield words
