"""The whole page. No script at all, and a policy that lets the browser run or load nothing."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_cachesafe.gate.scenario import Run
from pytest_cachesafe.report.html.beside import gate_part, lint_part
from pytest_cachesafe.report.html.facts import Facts, facts_of
from pytest_cachesafe.report.html.first import first_steps
from pytest_cachesafe.report.html.markup import Content, Markup, tag
from pytest_cachesafe.report.html.overview import counts, overview, verdict
from pytest_cachesafe.report.html.scenario import scenario_section
from pytest_cachesafe.report.html.style import STYLE, style_hash
from pytest_cachesafe.report.html.waterfall import patterns

__all__ = ["MOST_BYTES", "render"]

# A page opens at once, and goes into a CI's artefacts: what passed is left out first.
MOST_BYTES = 4_500_000
# Failed checks that stand open; what follows is opened by a link or a click.
_MOST_OPEN = 20
# Lines of the table.
_MOST_ROWS = 5_000


def render(run: Run, *, most: int = MOST_BYTES) -> str:
    """The page as text.

    Args:
        run: what was found, redacted already where it is to be.
        most: bytes that the parts of single checks may take together; the worst come first, the others are counted.
    """
    found = facts_of(run)
    sections: list[Content] = []
    anchors: dict[int, str] = {}
    size = 0
    for number, one in enumerate(found):
        anchor = f"check-{number + 1}"
        wrong = one.status in ("failed", "regression")
        section = scenario_section(one, anchor, run.redact, shown=wrong and number < _MOST_OPEN)
        size += len(section.encode("utf-8", "replace"))
        if size > most:
            break
        anchors[number] = anchor
        sections.append(section)
    left = len(found) - len(sections)
    if left:
        sections.append(tag("p", f"{left:,} more checks are in the table only, or the page would be too large."))
    if not found:
        sections.append(tag("p", "No check of this run reported anything."))
    parts: list[tuple[str, str, Content]] = [("checks", "Checks", _table(found, anchors))]
    gate, lint = gate_part(run), lint_part(run)
    if gate is not None:
        parts.append(("gate", "Lock file", gate))
    if lint is not None:
        parts.append(("lint", "In the source", lint))
    parts.append(("details", "Check by check", tag("div", *sections)))
    title = f"Prompt cache report: {verdict(run, found)}"
    head = tag("head", *_head(title))
    body = tag("body", *_body(run, found, parts))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _head(title: str) -> list[Markup]:
    policy = f"default-src 'none'; style-src '{style_hash()}'; base-uri 'none'; form-action 'none'"
    return [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(STYLE)),
    ]


def _body(run: Run, found: Sequence[Facts], parts: Sequence[tuple[str, str, Content]]) -> list[Content]:
    good = all(one.status in ("passed", "warning") for one in found) and not any(r.failed for r in run.regressions)
    links = [tag("li", tag("a", title, href=f"#{anchor}")) for anchor, title, _ in parts]
    hidden = {
        "text": "Prompt texts are left out of this report; their lengths stand in their place.",
        "hash": "Prompt texts are left out of this report; their lengths and checksums stand in their place.",
    }.get(run.redact)
    return [
        tag("a", "Skip to the checks", href="#checks", class_="skip"),
        patterns(),
        tag(
            "header",
            tag("p", "pytest-cachesafe", class_="brand"),
            tag("h1", "Prompt cache report"),
            tag("p", verdict(run, found), class_=f"verdict {'good' if good else 'bad'}"),
            counts(run, found),
            first_steps(found),
            tag("p", hidden, class_="hint") if hidden else None,
            tag("nav", tag("ul", *links), aria_label="Parts of the report"),
        ),
        tag(
            "main",
            *(
                tag("section", tag("h2", title, id=f"{anchor}-title"), content, id=anchor, tabindex="-1",
                    aria_labelledby=f"{anchor}-title")
                for anchor, title, content in parts
            ),
        ),
        tag("footer", tag("p", _FOOT)),
    ]  # fmt: skip


_FOOT = (
    "Kept: tokens of earlier requests that the next request begins with, so that a cache can serve them. "
    "Recomputed: they were sent before and are paid for again."
)


def _table(found: Sequence[Facts], anchors: dict[int, str]) -> Content:
    if not found:
        return tag("p", "None.")
    more = tag("p", f"{len(found) - _MOST_ROWS:,} more checks are not shown.") if len(found) > _MOST_ROWS else None
    return tag("div", overview(found[:_MOST_ROWS], anchors), more)
