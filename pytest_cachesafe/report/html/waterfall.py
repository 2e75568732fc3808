"""The tokens of each request as a bar, with every number as text beside it."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_cachesafe.report.html.facts import Bar, Group
from pytest_cachesafe.report.html.markup import Content, Markup, join, tag

__all__ = ["MOST_ROWS", "meter", "patterns", "waterfall"]

# Sort of tokens -> what its column is called.
NAMES = {
    "kept": "kept",
    "lost": "recomputed",
    "new": "new",
    "reused": "reused",
    "missed": "stable, not reused",
    "read": "read",
    "written": "written",
    "uncached": "uncached",
}
# Rows shown of a waterfall.
MOST_ROWS = 24
_STRIPES = {"lost": "M-2 2 2 -2M0 8 8 0M6 10 10 6", "missed": "M0 2H8M0 6H8", "written": "M2 0V8M6 0V8"}


def patterns() -> Markup:
    """What the bars are filled with: each sort has a pattern of its own, so that none is told by its colour alone."""
    made = [
        tag(
            "pattern",
            tag("rect", width=8, height=8, class_=f"g-{sort}"),
            tag("path", d=path, class_=f"stripe l-{sort}"),
            id=f"fill-{sort}",
            width=8,
            height=8,
            patternUnits="userSpaceOnUse",
        )
        for sort, path in _STRIPES.items()
    ]
    return tag("svg", tag("defs", *made), class_="patterns", width=0, height=0, aria_hidden="true")


def bar(parts: Sequence[tuple[str, int]], most: int) -> Markup:
    """Parts of a request behind each other; `most` tokens fill the width. Screen readers read the numbers instead."""
    at = 0.0
    drawn: list[Content] = []
    for sort, tokens in parts:
        if tokens <= 0 or most <= 0:
            continue
        width = 100 * tokens / most
        drawn.append(_rect(sort, f"{at:.4g}%", f"{width:.4g}%", 14))
        at += width
    return tag("svg", *drawn, class_="bar", aria_hidden="true")


def _rect(sort: str, x: str, width: str, height: int) -> Markup:
    if sort in _STRIPES:
        return tag("rect", x=x, width=width, height=height, fill=f"url(#fill-{sort})")
    return tag("rect", x=x, width=width, height=height, class_=f"s-{sort}")


def _swatch(sort: str) -> Markup:
    return tag("svg", _rect(sort, "0", "12", 12), class_="swatch", width=12, height=12, aria_hidden="true")


def waterfall(group: Group, caption: str, *, estimated: bool, most_rows: int = MOST_ROWS) -> Markup:
    """A table of requests: bar, then a number for each sort."""
    most = max((one.tokens for one in group.bars), default=0)
    shown = group.bars if len(group.bars) <= most_rows else _worth_showing(group.bars, most_rows)
    head = tag(
        "tr",
        tag("th", "request", scope="col", role="columnheader"),
        tag("th", "tokens", scope="col", role="columnheader", class_="wide"),
        *(tag("th", _swatch(sort), " ", NAMES[sort], scope="col", role="columnheader") for sort in group.sorts),
        role="row",
    )
    body = [_row(one, group.sorts, most) for one in shown]
    left_out = len(group.bars) - len(shown)
    about = "; token counts are estimates" if estimated else ""
    more = f"; {left_out:,} more requests are not shown" if left_out else ""
    title = f"{caption}{f', {group.title}' if group.title else ''}{about}{more}"
    return tag(
        "table",
        tag("caption", title),
        tag("thead", head, role="rowgroup"),
        tag("tbody", *body, role="rowgroup"),
        class_=f"waterfall sorts-{len(group.sorts)}",
        role="table",
    )


def _row(one: Bar, sorts: Sequence[str], most: int) -> Markup:
    counts = dict.fromkeys(sorts, 0)
    for part in one.parts:
        counts[part.sort] = counts.get(part.sort, 0) + part.tokens
    cells = [
        tag("td", f"{counts[sort]:,}", role="cell", class_=f"n {sort}" if counts[sort] else f"n {sort} zero")
        for sort in sorts
    ]
    note = tag("small", one.note) if one.note else None
    return tag(
        "tr",
        tag("th", one.label, " " if note else None, note, scope="row", role="rowheader"),
        tag("td", bar(one.parts, most), tag("span", f"{one.tokens:,}"), role="cell", class_="wide"),
        *cells,
        role="row",
    )


def _worth_showing(bars: Sequence[Bar], most: int) -> list[Bar]:
    """The first ones, the last ones, and between them those that lose most."""
    first, last = most // 3, most // 6
    head, tail = bars[:first], bars[-last:]

    def lost(one: Bar) -> int:
        return sum(part.tokens for part in one.parts if part.sort in ("lost", "missed", "uncached", "written"))

    middle = sorted(range(first, len(bars) - last), key=lambda i: (-lost(bars[i]), i))[: most - first - last]
    return [*head, *(bars[i] for i in sorted(middle)), *tail]


def meter(kept: int, reusable: int) -> Markup:
    """A small bar of what is kept of what could be, with its share as text."""
    if not reusable:
        return tag("span", "–", class_="nothing")
    share = kept / reusable
    # 100% is said of nothing less.
    words = "100%" if kept >= reusable else f"{min(share, 0.999):.1%}" if share > 0.99 else f"{share:.0%}"
    return join(
        (bar((("kept", kept), ("lost", reusable - kept)), reusable), tag("span", words, class_="share")),
    )
