"""The curve of a sweep as SVG, and as a page with the table: no script, nothing loaded, every word escaped."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from pytest_cachesafe.report.semantic_sweep import advice_line, headline, rows
from pytest_cachesafe.report.visible import visible

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.sweep.curve import Curve
    from pytest_cachesafe.semantic.sweep.result import SweepReport

__all__ = ["page", "picture"]

_WIDTH, _HEIGHT = 720, 470
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 40, 692, 360
_TICKS_X = (0.0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
_TICKS_Y = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
# Thresholds that are written beside the curve of the cosine alone.
_NAMED = (0.7, 0.8, 0.85, 0.9, 0.95, 0.98)
# Told apart by dashes as well, for those who see or print no colours.
_DASHES = {"cosine": "none", "certain": "9 4", "all": "2 4"}
# Plain rules, no variables: many programs that draw SVG know no others.
_STYLE = """
.sweep{font:12px system-ui,sans-serif}.sweep text{fill:#1f2328}.sweep .paper{fill:#fff}.sweep .grid{stroke:#d0d7de}
.sweep .axis{stroke:#1f2328;fill:none}.sweep .budget{stroke:#cf222e;stroke-dasharray:4 3}
.sweep .line{fill:none;stroke-width:2.5}.sweep .safe{fill:#fff;stroke-width:2.5}
.sweep .cosine{stroke:#b35900}.sweep .certain{stroke:#0969da}.sweep .all{stroke:#1a7f37}
.sweep .dot{stroke:none}.sweep .dot.cosine{fill:#b35900}
@media (prefers-color-scheme:dark){.sweep text{fill:#e6edf3}.sweep .paper,.sweep .safe{fill:#0d1117}
.sweep .grid{stroke:#3d444d}.sweep .axis{stroke:#e6edf3}.sweep .budget{stroke:#ff7b72}
.sweep .cosine{stroke:#f0a35e}.sweep .certain{stroke:#6cb6ff}.sweep .all{stroke:#57c27b}
.sweep .dot{stroke:none}.sweep .dot.cosine{fill:#f0a35e}}
""".replace("\n", "")


def picture(report: SweepReport) -> str:
    """Hit rate over wrong-hit rate, a line for each way to decide."""
    return "\n".join(_svg(report)) + "\n"


def page(report: SweepReport) -> str:
    """The picture, the advice and the table of all thresholds."""
    head = "".join(f"<th>{escape(found.label)}: hits, wrong hits</th>" for found in report.curves)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows(report, verbosity=1)
    )
    said = "\n".join(f"<li>{_text(advice_line(report, found))}</li>" for found in report.advice)
    notes = "\n".join(f"<li>{_text(visible(note))}</li>" for note in report.notes)
    style = (
        ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;"
        "padding:0 1rem}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
        "td,th{border-bottom:1px solid #8884;padding:.2rem .7rem;text-align:right}svg{max-width:100%;height:auto}"
        "div{overflow-x:auto}"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Threshold sweep</title>\n<style>{style}</style>\n</head>\n<body>\n<h1>Threshold sweep</h1>\n"
        f"<p>{_text(headline(report))}</p>\n<ul>\n{said}\n</ul>\n{picture(report)}"
        f"<div><table>\n<thead><tr><th>threshold</th>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>\n"
        + (f"<ul>\n{notes}\n</ul>\n" if notes else "")
        + "</body>\n</html>\n"
    )


def _text(words: str) -> str:
    return escape(words)


def _x(share: float) -> float:
    # By its root: what matters happens below a few per cent.
    return round(_LEFT + (_RIGHT - _LEFT) * math.sqrt(share), 2)


def _y(share: float) -> float:
    return round(_BOTTOM - (_BOTTOM - _TOP) * share, 2)


def _svg(report: SweepReport) -> Iterator[str]:
    yield (
        f'<svg class="sweep" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'aria-labelledby="sweep-title sweep-text">'
    )
    yield '<title id="sweep-title">Hits against wrong hits</title>'
    yield f'<desc id="sweep-text">{_text(headline(report))}</desc>'
    yield f'<style>{_STYLE}</style><rect class="paper" width="{_WIDTH}" height="{_HEIGHT}"/>'
    yield (
        f'<text x="{_LEFT}" y="22">{report.same:,} pairs with one answer, {report.different:,} with different answers; '
        f"{_text(visible(report.encoder))}</text>"
    )
    for share in _TICKS_X:
        yield f'<line class="grid" x1="{_x(share)}" y1="{_TOP}" x2="{_x(share)}" y2="{_BOTTOM}"/>'
        yield f'<text x="{_x(share)}" y="{_BOTTOM + 16}" text-anchor="middle">{share:.0%}</text>'
    for share in _TICKS_Y:
        yield f'<line class="grid" x1="{_LEFT}" y1="{_y(share)}" x2="{_RIGHT}" y2="{_y(share)}"/>'
        yield f'<text x="{_LEFT - 8}" y="{_y(share) + 4}" text-anchor="end">{share:.0%}</text>'
    yield (
        f'<path class="axis" d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}"/>'
        f'<text x="{(_LEFT + _RIGHT) / 2}" y="{_BOTTOM + 36}" text-anchor="middle">wrong hits: share of the pairs with '
        "different answers that are served (root scale)</text>"
        f'<text transform="translate(16 {(_TOP + _BOTTOM) / 2}) rotate(-90)" text-anchor="middle">hits: share of the '
        "pairs with one answer</text>"
    )
    budget = f"{report.budget:.2%}".replace(".00%", "%")
    yield (
        f'<line class="budget" x1="{_x(report.budget)}" y1="{_TOP}" x2="{_x(report.budget)}" y2="{_BOTTOM}"/>'
        f'<text x="{_x(report.budget) + 4}" y="{_TOP + 12}">budget {budget}</text>'
    )
    for found in report.curves:
        yield from _curve(report, found)
    yield from _legend(report)
    yield "</svg>"


def _curve(report: SweepReport, found: Curve) -> Iterator[str]:
    points = [(point, _x(point.wrong.value or 0.0), _y(point.hits.value or 0.0)) for point in found.points]
    path = " ".join(f"{x},{y}" for _, x, y in points)
    yield f'<polyline class="line {found.key}" stroke-dasharray="{_DASHES[found.key]}" points="{path}"/>'
    safe = report.advice_for(found.key).threshold
    for point, x, y in points:
        named = found.key == "cosine" and point.threshold in _NAMED
        words = f"{found.label}, threshold {point.threshold:g}: hits {point.hits}, wrong hits {point.wrong}"
        if point.threshold == safe:
            shape = f'<circle class="safe {found.key}" cx="{x}" cy="{y}" r="6">'
            yield f"{shape}<title>safe: {_text(words)}</title></circle>"
            named = True
        elif named:
            yield f'<circle class="dot {found.key}" cx="{x}" cy="{y}" r="3.5"><title>{_text(words)}</title></circle>'
        if named:
            yield f'<text x="{x + 8}" y="{y + 14}">{point.threshold:g}</text>'


def _legend(report: SweepReport) -> Iterator[str]:
    y = _BOTTOM + 62
    for index, found in enumerate(report.curves):
        x = _LEFT + index * 215
        yield (
            f'<line class="line {found.key}" stroke-dasharray="{_DASHES[found.key]}" x1="{x}" y1="{y}" x2="{x + 34}" '
            f'y2="{y}"/><text x="{x + 42}" y="{y + 4}">{_text(found.label)}</text>'
        )
    yield f'<text x="{_LEFT}" y="{y + 28}">○ smallest safe threshold within the budget; numbers are thresholds</text>'
