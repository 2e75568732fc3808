"""What a cache does with mutants, for people: the first line complete, a line per kind, then the closest ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_cachesafe.report.semantic import quoted
from pytest_cachesafe.report.simulate import table
from pytest_cachesafe.report.visible import Redact, visible

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.mutants.result import KindResult, MutantReport, TriedMutant

__all__ = ["render"]

# Mutants shown, by verbosity; -vv shows all.
_MOST = (5, 30)


def render(report: MutantReport, verbosity: int = 0, mode: Redact = "none") -> str:
    """The text of a report."""
    return "\n".join(_lines(report, verbosity, mode))


def _lines(report: MutantReport, verbosity: int, mode: Redact) -> Iterator[str]:
    yield _headline(report)
    if report.kinds:
        yield ""
        yield from table(
            ["changed", "served wrongly", "of", "95% interval", *_head(report), "detector"], _rows(report.kinds)
        )
    if report.twin_kinds:
        yield ""
        yield from table(["only written otherwise", "served", "of", "95% interval", *_head(report), "detector"],
                         _rows(report.twin_kinds))  # fmt: skip
    wrong = report.wrong if verbosity >= 2 else report.wrong[: _MOST[min(verbosity, 1)]]
    if wrong:
        yield ""
        # A cache that decides itself tells no cosine to order by.
        yield f"  served wrongly{', closest first' if report.threshold is not None else ''}:"
        for one in wrong:
            yield from _pair(one, report, mode)
        if len(wrong) < len(report.wrong):
            yield f"  … {len(report.wrong) - len(wrong):,} more (-vv shows all)"
        yield (
            "  what to do: keep what was changed out of the similarity (in the cache key or a filter), or ask "
            "CollisionJudge.compare before serving"
        )
    if report.without:
        names = ", ".join(report.without)
        yield f"  none by {names}: nothing to change, or what comes of it is a prompt of the set"
    yield "  detector: share of mutants that are told apart by their own kind, and of twins that rightly pass"
    yield "  a mutant probes the cache; that it reads oddly, or that users never ask it, is possible"
    for note in report.notes:
        yield f"  note: {visible(note)}"


def _headline(report: MutantReport) -> str:
    where = f"at threshold {report.threshold:g} " if report.threshold is not None else ""
    by = f"{where}[{visible(report.judged_by)}]"
    count, all_ = len(report.wrong), len(report.mutants)
    prompts = f"{report.prompts:,} {'prompt' if report.prompts == 1 else 'prompts'}"
    if not all_:
        missed = len(report.missed)
        return f"{missed:,} of {len(report.twins):,} twins of {prompts} are not served {by}"
    worst = report.kinds[0]
    if not count:
        return f"none of {all_:,} mutants of {prompts} is served wrongly {by}"
    return (
        f"{count:,} of {all_:,} mutants of {prompts} would be served wrongly {by}, {report.served_wrongly}; most often "
        f"{worst.name} ({worst.served.count:,} of {worst.served.n:,}); seed {report.seed}"
    )


def _head(report: MutantReport) -> list[str]:
    return ["median cosine"] if report.threshold is not None else []


def _rows(kinds: list[KindResult]) -> list[list[str]]:
    return [
        [
            found.name,
            f"{found.served.count:,}",
            f"{found.served.n:,}",
            f"{found.served.low:.0%} to {found.served.high:.0%}",
            *([f"{found.median:.3f}"] if found.median is not None else []),
            f"{found.flagged.value or 0.0:.0%}",
        ]
        for found in kinds
    ]


def _pair(one: TriedMutant, report: MutantReport, mode: Redact) -> Iterator[str]:
    cosine = "" if one.similarity is None else f", cosine {one.similarity:.3f}"
    yield f"  {one.mutant.mutator}{cosine}, {report.unit} {one.mutant.at}:"
    yield f"      {quoted(one.mutant.prompt, mode)}"
    yield f"      {quoted(one.mutant.text, mode)}"
