"""The text of a RAG order check: counts only, no ids and no text of the documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_cachesafe.prefix.wording import number

if TYPE_CHECKING:
    from pytest_cachesafe.engines.rag import RagReport

__all__ = ["render"]


def render(report: RagReport) -> str:
    """What each engine keeps as the documents came, and what it would with them sorted by id."""
    return "\n".join(_lines(report))


def _lines(report: RagReport) -> Iterator[str]:
    tokens = report.tokens
    yield f"document order: {number(len(report.requests), 'request')}, {number(tokens, 'prompt token')}"
    width = max((len(totals.label) for totals in report.engines), default=0)
    for totals in report.engines:
        line = f"  {totals.label:<{width}}  reuses {_share(totals.cached, tokens)}"
        if totals.cached_sorted != totals.cached:
            line += f", with the documents sorted by id {_share(totals.cached_sorted, tokens)}"
        yield line
    if report.blend is not None:
        yield (
            f"  CacheBlend in LMCache would find {_share(report.blend.found, tokens)}; about {report.blend.computed} "
            f"would still be computed (estimate, {report.blend.ratio:.0%} of what is found and all of the rest)"
        )
    if report.best_gain > 0:
        yield "  fix: put the documents in an order that does not depend on the query, for example by id"


def _share(part: int, whole: int) -> str:
    share = part / whole if whole else 0.0
    # 100% is said of nothing less, 0% of nothing more.
    percent = "100%" if part == whole and whole else f"{min(share, 0.99):.0%}"
    if part and percent == "0%":
        percent = "less than 1%"
    return f"{part} of {whole} tokens ({percent})"
