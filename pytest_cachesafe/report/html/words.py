"""Small pieces that several parts of the page share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.report.html.markup import Markup, tag

if TYPE_CHECKING:
    from pytest_cachesafe.report.html.facts import Facts

__all__ = ["KINDS", "badge", "few", "listed", "money", "usd"]

KINDS = {
    "stable": "prefix stability",
    "reuse": "engine reuse",
    "provider": "provider cache",
    "collisions": "semantic collisions",
}
# A sign beside the word: neither colour nor shape alone tells a verdict.
_SIGNS = {
    "failed": "✗", "error": "✗", "regression": "▼", "warning": "!", "note": "i", "passed": "✓", "suspect": "?",
}  # fmt: skip


def badge(status: str, words: str | None = None) -> Markup:
    """A verdict in a box."""
    known = status if status in _SIGNS else "note"
    sign = tag("span", _SIGNS[known], aria_hidden="true")
    return tag("span", sign, " ", words or status, class_=f"badge {known}")


def few(numbers: Sequence[int]) -> str:
    """The first numbers of a list."""
    shown = ", ".join(map(str, numbers[:6]))
    return f"{shown} and {len(numbers) - 6} more" if len(numbers) > 6 else shown


def listed(title: str, items: Sequence[str], most: int) -> Markup | None:
    """A titled list; nothing where there are no items."""
    if not items:
        return None
    more = tag("li", f"{len(items) - most} more") if len(items) > most else None
    return tag("div", tag("h4", title), tag("ul", *(tag("li", item) for item in items[:most]), more), class_="listed")


def usd(value: float) -> str:
    """An amount of money."""
    return f"{value:,.2f} USD" if value >= 0.01 or not value else f"{value:.4f} USD"


def money(found: Facts) -> str | None:
    """What 1,000 conversations cost; None where a price is not known."""
    if found.usd_paid is None:
        return None if not found.usd_lost else f"{usd(found.usd_lost)} lost per 1,000 conversations"
    about = "about " if found.estimated else ""
    text = f"1,000 conversations cost {about}{usd(found.usd_paid)}"
    if found.usd_plain is not None:
        text += f", {about}{usd(found.usd_plain)} without caching"
    if found.usd_lost:
        text += f"; {about}{usd(found.usd_lost)} of it is lost by what was found"
    return text
