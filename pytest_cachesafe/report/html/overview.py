"""The head of the page: counts, and a line for each check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_cachesafe.gate.scenario import Run
from pytest_cachesafe.report.html.collisions import worst_pair
from pytest_cachesafe.report.html.facts import Facts
from pytest_cachesafe.report.html.markup import Content, Markup, tag
from pytest_cachesafe.report.html.reading import mapping, rows
from pytest_cachesafe.report.html.waterfall import meter
from pytest_cachesafe.report.html.words import KINDS, badge

__all__ = ["counts", "overview", "verdict"]


def verdict(run: Run, found: Sequence[Facts]) -> str:
    """The run in one sentence."""
    failed = sum(one.status == "failed" for one in found)
    worse = sum(regression.failed for regression in run.regressions)
    lint = sum(finding.get("severity") in ("error", "warning") for finding in run.lint)
    parts = []
    if failed:
        parts.append(f"{failed:,} of {_n(len(found), 'check')} failed")
    if worse:
        parts.append(_n(worse, "regression"))
    if lint:
        parts.append(_n(lint, "finding") + " in the source")
    if parts:
        return ", ".join(parts)
    if not found:
        return "no check ran" if not run.lint else "nothing but notes in the source"
    return f"all {_n(len(found), 'check')} passed" if len(found) > 1 else "the check passed"


def counts(run: Run, found: Sequence[Facts]) -> Markup:
    """The tiles: what happened, in numbers."""
    failed = sum(one.status == "failed" for one in found)
    failing = sum(regression.failed for regression in run.regressions)
    reusable, lost = sum(one.reusable for one in found), sum(one.lost for one in found)
    about = ", about" if any(one.estimated and one.reusable for one in found) else ""
    tiles = [
        _tile("Checks", f"{len(found):,}", "all passed" if not failed else f"{len(found) - failed:,} passed", ""),
        _tile("Failed", f"{failed:,}", "checks", "bad" if failed else "good"),
        _tile(
            "Regressions",
            f"{len(run.regressions):,}",
            f"{failing:,} failed a test" if run.regressions else "against the lock file",
            "bad" if failing else "warn" if run.regressions else "good",
        ),
        _tile(
            f"Tokens lost{about}",
            f"{lost:,}",
            f"{_share(lost, reusable)} of {reusable:,} reusable" if reusable else "nothing to reuse",
            "warn" if lost else "good",
        ),
    ]
    money = [one.usd_lost for one in found if one.usd_lost is not None]
    paid = [one.usd_paid for one in found if one.usd_paid is not None]
    held = "if each conversation is held 1,000 times"
    if money:
        tiles.append(_tile(f"USD lost{about}", f"{sum(money):,.2f}", held, "warn"))
    elif paid:
        tiles.append(_tile(f"USD paid{about}", f"{sum(paid):,.2f}", held, ""))
    if run.lint:
        bad = sum(finding.get("severity") == "error" for finding in run.lint)
        tiles.append(_tile("In the source", f"{len(run.lint):,}", f"{_n(bad, 'error')}", "bad" if bad else "warn"))
    return tag("dl", *tiles, class_="tiles")


def _tile(title: str, value: str, words: str, mood: str) -> Markup:
    number = tag("strong", value)
    return tag("div", tag("dt", title), tag("dd", number, " ", tag("span", words)), class_=f"tile {mood}".strip())


def overview(found: Sequence[Facts], anchors: Mapping[int, str]) -> Markup:
    """A table of all checks; those with a part of their own are linked to it."""
    names = ("result", "check", "kept", "tokens lost", "cause", "place")
    head = tag("tr", *(tag("th", name, scope="col", role="columnheader") for name in names), role="row")
    body = [_row(one, anchors.get(i)) for i, one in enumerate(found)]
    return tag(
        "table",
        tag("caption", "Checks, the worst first", class_="hidden"),
        tag("thead", head, role="rowgroup"),
        tag("tbody", *body, role="rowgroup"),
        class_="overview",
        role="table",
    )


def _row(one: Facts, anchor: str | None) -> Markup:
    scenario = one.scenario
    cause, place = _why(one)
    name: Content = tag("a", scenario.test, href=f"#{anchor}") if anchor else scenario.test
    kind = KINDS.get(scenario.kind, scenario.kind)
    also = kind if scenario.name in ("", scenario.kind) else f"{kind}, {scenario.name}"
    about = "about " if one.estimated and one.lost else ""
    # Column, content, and whether there is one: small screens leave the others out.
    cells: list[tuple[str, Content, bool]] = [
        ("kept", meter(one.kept, one.reusable), bool(one.reusable)),
        ("tokens lost", f"{about}{one.lost:,}" if one.reusable else "–", bool(one.reusable)),
        ("cause", cause or "–", bool(cause)),
        ("place", place or "–", bool(place)),
    ]
    return tag(
        "tr",
        tag("td", badge(one.status), role="cell", class_="result"),
        tag("th", name, " ", tag("small", also), scope="row", role="rowheader"),
        *(
            tag(
                "td",
                tag("span", label, " ", class_="label", aria_hidden="true"),
                tag("span", value, class_="value"),
                role="cell",
                class_=f"{label.replace(' ', '-')}{'' if full else ' empty'}",
            )
            for label, value, full in cells
        ),
        role="row",
    )


def _why(one: Facts) -> tuple[str, str]:
    if one.faults:
        fault = one.faults[0]
        return fault.cause, fault.place
    data = mapping(one.scenario.data)
    if one.scenario.kind == "collisions":
        pair = worst_pair(data)
        if pair is None or (one.scenario.passed and not pair.get("merged")):
            return "", ""
        at = pair.get("at")
        place = f"prompts {at[0]} and {at[1]}" if isinstance(at, (list, tuple)) and len(at) == 2 else ""
        return ", ".join(dict.fromkeys(str(span.get("kind")) for span in rows(pair.get("spans")))), place
    if one.regressions:
        return "worse than the lock file or a budget allows", ""
    if data.get("limits"):
        return str(data["limits"]), ""
    return "", ""


def _share(part: int, whole: int) -> str:
    share = part / whole
    return f"{share:.0%}" if not part or share >= 0.01 else "under 1%"


def _n(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
