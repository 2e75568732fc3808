"""What an engine reuses, for people: the first line complete, then a line per request. No prompt text is in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_cachesafe.report.visible import visible

if TYPE_CHECKING:
    from pytest_cachesafe.reuse.result import EngineReport, RequestReuse

__all__ = ["render", "statement"]

# Columns of the bar that stands for the longest prompt.
_BAR = 40
_ROWS = 24


def render(report: EngineReport, verbosity: int = 0) -> str:
    """The text of a report; `verbosity` 2 and more shows every request."""
    return "\n".join(_lines(report, verbosity))


def statement(report: EngineReport) -> str:
    """One line beside another report: how much, and at which request most is lost, and why."""
    from pytest_cachesafe.reuse.wording import summary, why

    worst = max(report.continuing, key=_lost, default=None)
    if report.limits is not None or worst is None or not _lost(worst):
        return summary(report)
    return f"{summary(report)}; at request {worst.request}: {why(worst, report)}"


def _lost(request: RequestReuse) -> int:
    return request.changed_tokens + request.namespace_tokens + request.evicted_tokens + request.rounding_tokens


def _lines(report: EngineReport, verbosity: int) -> Iterator[str]:
    from pytest_cachesafe.reuse.wording import summary

    failures = report.failures()
    name = f" [{visible(report.name)}]" if report.name else ""
    front_end = visible(report.front_end)
    if failures:
        head = "prompt is not complete" if failures[0] == report.missing else f"{report.engine} does not reuse enough"
        yield f"{head}{name}: {visible(failures[0])} [{front_end}]"
        for text in failures[1:]:
            yield f"  also: {visible(text)}"
        yield f"  {visible(summary(report))}"
    else:
        yield f"{visible(summary(report))}{name} [{front_end}]"
    rows = report.requests if verbosity >= 2 or len(report.requests) <= _ROWS else report.requests[: _ROWS - 1]
    longest = max((r.tokens for r in report.requests), default=1) or 1
    width = len(f"{longest:,}")
    for request in rows:
        yield _row(request, report, longest, width)
    if len(rows) < len(report.requests):
        yield f"  … {len(report.requests) - len(rows)} more requests (-vv shows all)"
    yield f"  █ reused  ░ computed; {_unit(report)}, one request at a time"
    for words in report.notes:
        yield f"  note: {visible(words)}"


def _row(request: RequestReuse, report: EngineReport, longest: int, width: int) -> str:
    from pytest_cachesafe.reuse.wording import why

    cells = max(round(request.tokens * _BAR / longest), 1)
    # Something reused shows, and something computed as well: the last token always is.
    full = min(max(round(request.cached_tokens * _BAR / longest), request.cached_tokens > 0), cells - 1)
    bar = "█" * full + "░" * (cells - full)
    if request.reset is not None:
        words = f"a new beginning ({request.reset})"
    elif request.against is None:
        words = "first of its conversation"
    else:
        words = why(request, report)
    numbers = f"{request.cached_tokens:>{width},} of {request.tokens:>{width},}"
    return f"  request {request.request:>3}  {bar:<{_BAR}}  {numbers}  {visible(words)}".rstrip()


def _unit(report: EngineReport) -> str:
    return f"blocks of {report.unit} tokens" if report.unit > 1 else "any number of tokens"
