"""Findings about requests, for people: the first line complete, worst first, then what was predicted a request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from pytest_cachesafe.prefix.wording import number
from pytest_cachesafe.report.excerpt import WIRE_LEGEND, WIRE_SIGNS, excerpt
from pytest_cachesafe.report.visible import Redact, redact, visible

if TYPE_CHECKING:
    from pytest_cachesafe.findings import Finding
    from pytest_cachesafe.providers.checks.result import CacheReport, RequestVerdict

__all__ = ["render"]

_WIDTH = 120
_SHOWN = 8
_ROWS = 24


def render(report: CacheReport, verbosity: int = 0, mode: str = "none") -> str:
    """The text of a report. `verbosity` 2 and more shows every finding and every request."""
    return "\n".join(_lines(report, verbosity, cast("Redact", mode)))


def _lines(report: CacheReport, verbosity: int, mode: Redact) -> Iterator[str]:
    name = f" [{visible(report.name)}]" if report.name else ""
    estimated = "" if report.exact else "; token counts are estimates"
    head = f"{report.provider}{estimated}"
    failures = report.failures()
    if report.missed:
        found = f" (and {number(len(report.findings), 'finding')})" if report.findings else ""
        yield f"requests are not cached{name}: {visible('; '.join(report.missed))}{found} [{head}]"
    elif failures:
        yield f"requests are not cache-safe{name}: {visible(failures[0].message)}{_more(report)} [{head}]"
    else:
        apart = f" in {report.conversations} conversations" if report.conversations > 1 else ""
        notes = f", {number(len(report.findings), 'note')}" if report.findings else ""
        yield f"requests are cache-safe{name}: {number(len(report.requests), 'request')}{apart}{notes} [{head}]"
    folded = _folded(report.findings)
    shown = folded if verbosity >= 2 else folded[:_SHOWN]
    for group in shown:
        yield ""
        yield from _finding(group, report, mode)
    if len(folded) > len(shown):
        yield f"  {number(len(folded) - len(shown), 'more finding')} not shown (-vv)"
    if report.findings:
        yield ""
    yield from _requests(report, verbosity)
    for words in report.notes:
        yield f"  note: {visible(words)}"
    if any(s in str(f.data.get(k, "")) for f, *_ in shown for k in ("lead", "before", "after") for s in WIRE_SIGNS):
        yield f"  {WIRE_LEGEND}"


def _more(report: CacheReport) -> str:
    rest = len(report.findings) - 1
    return f" (and {number(rest, 'more finding')})" if rest else ""


def _folded(findings: list[Finding]) -> list[list[Finding]]:
    """The same thing at the same place of several requests is told once."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        key = (finding.code, str(finding.severity), finding.location.path, finding.cause)
        groups.setdefault(key, []).append(finding)
    return list(groups.values())


def _finding(group: list[Finding], report: CacheReport, mode: Redact) -> Iterator[str]:
    finding = group[0]
    others = [f.location.request for f in group[1:]]
    data = finding.data
    yield f"  {finding.severity}: {finding.code}: {visible(finding.message)}"
    if others:
        shown = ", ".join(map(str, others[:8])) + (f" and {len(others) - 8} more" if len(others) > 8 else "")
        yield f"    also:   {'request' if len(others) == 1 else 'requests'} {shown}"
    place = visible(finding.location.path or "the whole request")
    yield f"    where:  request {finding.location.request}, {place}"
    cause = str(finding.origin or "unknown")
    if finding.cause and finding.origin:
        cause = f"{finding.cause} ({finding.origin})"
    reason = f", the provider's name for it: {data['reason']}" if data.get("reason") else ""
    yield f"    cause:  {visible(cause)}{reason}"
    if data.get("detail"):
        yield f"    what:   {redact(str(data['detail']), mode)}"
    lead, before, after = (str(data.get(key) or "") for key in ("lead", "before", "after"))
    if lead or before or after:
        if finding.cause == "setting_changed" or "lead" not in data or not lead:
            yield f"    before: {redact(before[:_WIDTH], mode)}"
            yield f"    after:  {redact(after[:_WIDTH], mode)}"
        else:
            for line in excerpt(lead + before, lead + after, len(lead), width=_WIDTH - 4, redact_mode=mode):
                yield f"    {line}"
    if data.get("lost_tokens") is not None:
        yield f"    lost:   {_lost(group)}"
    if finding.help:
        yield f"    fix:    {finding.help}"
    built = report.built.get((lead, before))
    if built is not None:
        yield f"    built:  {visible(built)}"
    sent = report.lines.get(finding.location.request if finding.location.request is not None else -1)
    if sent is not None:
        yield f"    sent:   {visible(sent)}"


def _lost(group: list[Finding]) -> str:
    """Tokens and money of all requests of a group together."""
    bands = [f.data.get("lost_tokens_band") or (0, 0) for f in group]
    low, high = (sum(band[i] for band in bands) for i in (0, 1))
    tokens = sum(f.data["lost_tokens"] or 0 for f in group)
    words = f"{tokens:,} tokens" if low == high else f"about {tokens:,} tokens ({low:,} to {high:,}, estimated)"
    requests = sum(f.data.get("lost_requests", 1) for f in group)
    if requests > 1:
        words += f" in {requests} requests"
    prices = [f.data.get("lost_usd_per_1000") for f in group]
    known = [price for price in prices if price is not None]
    if len(known) < len(prices):
        return words
    return f"{words}; {'' if low == high else 'about '}{sum(known):,.2f} USD per 1,000 conversations"


def _requests(report: CacheReport, verbosity: int) -> Iterator[str]:
    """A line per request with what is predicted."""
    rows = report.requests if verbosity >= 2 or len(report.requests) <= _ROWS else report.requests[: _ROWS - 1]
    reasons = {verdict.unpredicted for verdict in rows}
    why = next(iter(reasons)) if len(rows) > 1 and len(reasons) == 1 else None
    if why is not None:
        yield f"  no prediction for any request ({visible(why)})"
        return
    for verdict in rows:
        yield f"  {_row(verdict, report)}"
        if verbosity >= 1:
            yield from (f"    open: {visible(words)}" for words in verdict.unsure)
    if len(rows) < len(report.requests):
        yield f"  … {len(report.requests) - len(rows)} more requests (-vv shows all)"
    if verbosity >= 1:
        yield from _money(report)
    cost, plain = report.cost_usd, report.uncached_cost_usd
    if cost is not None and plain is not None:
        about = "" if report.exact else "about "
        left = sum(v.usage is None and v.paid for v in report.requests)
        rest = f" ({number(left, 'request')} without a prediction not counted)" if left else ""
        yield f"  together {about}{_usd(cost)}, without caching {_usd(plain)}{rest}"


def _money(report: CacheReport) -> Iterator[str]:
    """What each conversation costs, and when a write pays."""
    about = "" if report.exact else "about "
    for item in report.costs if report.conversations > 1 else ():
        if item["cost_usd"] is not None and item["uncached_cost_usd"] is not None:
            plain = _usd(item["uncached_cost_usd"])
            yield f"  conversation {item['conversation']}: {about}{_usd(item['cost_usd'])}, without caching {plain}"
    for model, points in report.break_even.items():
        words = [
            f"{p['ttl']} from reuse {p['reuses']} on ({p['cached']:g} against {p['plain']:g} times the input price)"
            for p in points
            if p["reuses"] is not None
        ]
        if words:
            yield f"  a write pays with {visible(model)}: {'; '.join(words)}"


def _row(verdict: RequestVerdict, report: CacheReport) -> str:
    head = f"request {verdict.request}"
    if report.conversations > 1:
        head += f" (conversation {verdict.conversation})"
    usage = verdict.usage
    if usage is None:
        return f"{head}: no prediction ({visible(verdict.unpredicted or 'nothing is known of it')})"
    about = "" if usage.exact else "about "
    words = f"{head}: {about}write={usage.write} read={usage.read} uncached={usage.uncached}"
    if verdict.cost_usd is not None:
        words += f", {_usd(verdict.cost_usd)}"
    if verdict.miss_reason is not None:
        words += f", miss: {verdict.miss_reason}"
    return words


def _usd(value: float) -> str:
    return f"{value:,.2f} USD" if value >= 1 else f"{value:.6f} USD"
