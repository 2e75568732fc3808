"""Sentences about reuse, each complete in itself: how much, where, why not more, what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_cachesafe.prefix.wording import number

if TYPE_CHECKING:
    from pytest_cachesafe.reuse.result import EngineReport, RequestReuse

__all__ = ["failures", "summary", "why"]


def summary(report: EngineReport) -> str:
    """ "vLLM reuses N of M prompt tokens …"."""
    if report.limits is not None:
        return f"{report.engine} reuses nothing here: {report.limits}"
    tokens = sum(r.tokens for r in report.continuing)
    found = sum(r.cached_tokens for r in report.continuing)
    first = len(report.requests) - len(report.continuing)
    beside = f" (the first {'' if first == 1 else f'{first} '}apart)" if first else ""
    return (
        f"{report.engine} reuses {found:,} of {tokens:,} prompt tokens ({_percent(found, tokens)}) over "
        f"{number(len(report.requests), 'request')}{beside}"
    )


def why(request: RequestReuse, report: EngineReport) -> str:
    """What keeps a request from finding more, largest loss first; '' where nothing does."""
    if report.limits is not None:
        return report.limits
    losses = [
        (
            request.changed_tokens,
            "of the tail are rendered differently"
            if request.tail
            else "changed: the prompt does not begin with all of the one it continues",
        ),
        (request.namespace_tokens, "stored under another salt or adapter"),
        (request.evicted_tokens, "evicted for lack of room"),
        (request.rounding_tokens, _rounding(request, report)),
    ]
    told = [(n, words) for n, words in losses if n > 0]
    return "; ".join(f"{number(n, 'token')} {words}" for n, words in sorted(told, key=lambda x: -x[0]))


def failures(report: EngineReport) -> list[str]:
    """One sentence per kind of failure, the worst request named."""
    return list(_failures(report))


def _failures(report: EngineReport) -> Iterator[str]:
    if report.missing is not None:
        yield report.missing
    if report.over_resets is not None:
        yield report.over_resets
    if report.all_that_can_be:
        short = [(missing, r) for r in report.continuing if (missing := _avoidable(r, report)) > 0]
        if short:
            missing, worst = max(short, key=lambda x: x[0])
            yield (
                f"request {worst.request} finds {worst.cached_tokens} of the {number(worst.continued_tokens, 'token')} "
                f"of request {worst.against}{_because(worst, report)}{_also(short, worst)}"
            )
    if report.min_cached is not None:
        short = [(missing, r) for r in report.continuing if (missing := _missing(r, report.min_cached)) > 0]
        if short:
            missing, worst = max(short, key=lambda x: x[0])
            yield (
                f"request {worst.request} finds {worst.cached_tokens} of {number(worst.tokens, 'token')} "
                f"({_percent(worst.cached_tokens, worst.tokens)}), min_cached is {_asked(report.min_cached)}"
                f"{_because(worst, report)}{_also(short, worst)}"
            )
    if report.min_share is not None and report.share < report.min_share:
        worst = max(report.continuing, key=lambda r: r.continued_tokens - r.cached_tokens)
        tokens = sum(r.tokens for r in report.continuing)
        found = sum(r.cached_tokens for r in report.continuing)
        yield (
            f"{found:,} of {tokens:,} prompt tokens are reused ({_percent(found, tokens)}), min_share is "
            f"{report.min_share:.0%}; most is lost at request {worst.request}{_because(worst, report)}"
        )


def _rounding(request: RequestReuse, report: EngineReport) -> str:
    """Why tokens that are the same and were stored are computed all the same."""
    if request.cannot_rewind:
        return "that the engine holds: a recurrent or hybrid model cannot go back to an earlier token"
    if request.stable_tokens >= request.tokens:
        last = "of the last block: the last token of a prompt is always computed"
        return last if report.unit > 1 else "at the end: the last token of a prompt is always computed"
    if report.unit > 1:
        return f"behind the last whole block of {report.unit}"
    return f"that {report.engine} does not find again, set up like this"


def _avoidable(request: RequestReuse, report: EngineReport) -> int:
    """Tokens of the continued request that are not found although whole blocks of them could be."""
    if report.limits is not None:
        return request.continued_tokens
    changed = 0 if request.tail else request.changed_tokens
    return changed + request.namespace_tokens + request.evicted_tokens


def _also(short: list[tuple[int, RequestReuse]], worst: RequestReuse) -> str:
    also = [str(r.request) for _, r in short if r is not worst]
    return f" (also request{'s' if len(also) > 1 else ''} {_few(also)})" if also else ""


def _missing(request: RequestReuse, least: int | float) -> int:
    """Tokens short of what was asked for."""
    if isinstance(least, float):
        # By the exact share, then in tokens: 0.8 of 10 tokens is 8.
        return 0 if request.share >= least else max(1, round(least * request.tokens) - request.cached_tokens)
    return least - request.cached_tokens


def _because(request: RequestReuse, report: EngineReport) -> str:
    words = why(request, report)
    return f": {words}" if words else ": the rest of the prompt is new"


def _asked(least: int | float) -> str:
    return f"{least:.0%}" if isinstance(least, float) else number(least, "token")


def _percent(part: int, whole: int) -> str:
    """100% is said of nothing less, 0% of nothing more."""
    if not whole or not part:
        return "0%"
    share = part / whole
    return "100%" if part == whole else f"{min(max(share, 0.001), 0.999):.1%}"


def _few(items: list[str]) -> str:
    return ", ".join(items if len(items) <= 6 else [*items[:5], f"{len(items) - 5} more"])
