"""A threshold sweep as text and CSV; pictures are in `report.semantic_curve`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_cachesafe.report.simulate import table
from pytest_cachesafe.report.visible import visible

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.sweep.curve import Point
    from pytest_cachesafe.semantic.sweep.result import Advice, SweepReport

__all__ = ["advice_line", "headline", "render", "rows"]

# Thresholds of the table where a grid has more points than that.
_SHOWN = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.95, 0.97, 0.98, 0.99, 1.0)
_MOST = 16
_LABELS = {"cosine": "cosine alone", "certain": "certain differences as veto", "all": "all differences as veto"}


def render(report: SweepReport, form: str, verbosity: int = 0) -> str:
    """The report as `text`, `csv`, `svg` or `html`."""
    if form == "text":
        return "\n".join(_lines(report, verbosity))
    if form == "csv":
        return _csv(report)
    from pytest_cachesafe.report.semantic_curve import page, picture

    return picture(report) if form == "svg" else page(report)


def headline(report: SweepReport) -> str:
    """What to do, in one line."""
    where = f"among {report.same + report.different:,} labelled pairs [{visible(report.encoder)}]"
    if not report.enough:
        return (
            f"no advice on a threshold: {report.same:,} pairs with one answer and {report.different:,} with different "
            f"ones; {report.least_same} and {report.least_different:,} are the least for {_budget(report)}"
        )
    alone = report.advice_for("cosine")
    best = max(report.advice, key=_hits)
    better = f"with {_LABELS[best.curve]}, {best.threshold:g}" if best.threshold is not None else ""
    if alone.threshold is not None:
        beside = f"; {better} keeps {_hits(best):.1%}" if _hits(best) > _hits(alone) else ""
        return (
            f"threshold {alone.threshold:g} is the smallest safe one for {_budget(report)} {where}: it keeps "
            f"{_hits(alone):.1%} of the hits{beside}"
        )
    beside = f"; {better} keeps {_hits(best):.1%} of the hits" if better else ""
    return f"no threshold separates for {_budget(report)} {where}{beside}"


def _hits(found: Advice) -> float:
    """Share of the hits that the advised threshold keeps; below all where none is advised."""
    return found.point.hits.value or 0.0 if found.point is not None and found.threshold is not None else -1.0


def _budget(report: SweepReport) -> str:
    return f"at most {report.budget:.2%} wrong hits ({report.confidence:.0%} sure)".replace(".00%", "%")


def _lines(report: SweepReport, verbosity: int) -> Iterator[str]:
    yield headline(report)
    for found in report.advice:
        yield f"  {advice_line(report, found)}"
    if report.auc is not None:
        yield (
            f"  a pair with one answer is closer than one with different answers in {report.auc:.0%} of all cases "
            "(a coin: 50%)"
        )
    yield ""
    head = ["threshold", *(f"{_LABELS[found.key].partition(' diff')[0]}: hits, wrong" for found in report.curves)]
    yield from table(head, list(rows(report, verbosity)))
    yield (
        f"  hits: of {report.same:,} pairs with one answer, the share a cache serves; wrong: of {report.different:,} "
        f"with different answers; -v shows all thresholds with their {report.confidence:.0%} intervals"
    )
    for note in report.notes:
        yield f"  note: {visible(note)}"


def advice_line(report: SweepReport, found: Advice) -> str:
    """What is said about one way to decide."""
    label = _LABELS[found.curve]
    if found.point is not None:
        verdict = "" if found.outcome == "safe" else "no threshold separates: "
        return (
            f"{label}: {verdict}{found.point.threshold:g} keeps {found.point.hits} of the hits; wrong hits "
            f"{found.point.wrong.count:,} of {found.point.wrong.n:,}, at most {found.bound or 0:.2%}"
        )
    beside = ""
    if found.observed is not None:
        beside = (
            f"; in these pairs {found.observed.threshold:g} keeps the budget ({found.observed.hits.value or 0:.1%} of "
            f"the hits), which may be chance"
        )
    if found.outcome == "too_few":
        return f"{label}: too few pairs{beside}"
    return f"{label}: no threshold separates{beside}"


def rows(report: SweepReport, verbosity: int = 0) -> Iterator[list[str]]:
    """Of the table: the usual thresholds and those advised; all with `-v`."""
    grid = [point.threshold for point in report.curves[0].points]
    wanted = set(grid) if verbosity or len(grid) <= _MOST else set(_SHOWN)
    wanted |= {found.threshold for found in report.advice if found.threshold is not None}
    for index, threshold in enumerate(grid):
        if threshold in wanted:
            yield [f"{threshold:g}", *(_cell(found.points[index], verbosity) for found in report.curves)]


def _cell(point: Point, verbosity: int) -> str:
    if verbosity:
        return f"{point.hits}, {point.wrong}"
    return f"{point.hits.value or 0.0:.1%}, {point.wrong.value or 0.0:.1%}"


def _csv(report: SweepReport) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ("decision", "threshold", "hits", "same_pairs", "hit_rate", "hit_rate_low", "hit_rate_high", "wrong_hits",
         "different_pairs", "wrong_hit_rate", "wrong_hit_rate_low", "wrong_hit_rate_high")
    )  # fmt: skip
    for found in report.curves:
        for point in found.points:
            row: list[object] = [found.key, f"{point.threshold:g}"]
            for share in (point.hits, point.wrong):
                row += [share.count, share.n, *(f"{x:.6f}" for x in (share.value or 0.0, share.low, share.high))]
            writer.writerow(row)
    return out.getvalue()
