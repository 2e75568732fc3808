"""A replay for people: the first line complete, then why, for whom, when, what else, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.engines.replay.reasons import REASONS
from pytest_cachesafe.engines.replay.totals import Groups, LeftOut, Totals, Windows
from pytest_cachesafe.report.visible import clip, display_width, visible

if TYPE_CHECKING:
    from pytest_cachesafe.engines.replay.policies import PolicyReport
    from pytest_cachesafe.engines.replay.result import ReplayReport, SweepPoint

__all__ = ["percent", "render", "render_policies", "skipped", "table"]

# Rows of a table of tags or tenants; -v shows all.
_GROUPS = 10
# Windows on the line that shows the share over time; -v shows all, as a table.
_SPANS = 12
_NAME_WIDTH = 40
_KINDS = {"message": "messages", "tool call": "tool calls", "tool result": "tool results"}


def render(report: ReplayReport, verbosity: int = 0) -> str:
    """The text of a report."""
    return "\n".join(_lines(report, verbosity))


def percent(part: int, whole: int) -> str:
    """A share; 0.0 % and 100.0 % are said of nothing else."""
    if not part or not whole:
        return "0.0%"
    return "100.0%" if part == whole else f"{min(max(part / whole, 0.001), 0.999):.1%}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns, the first to the left and the others to the right."""
    cells = [list(head), *map(list, rows)]
    widths = [max(display_width(row[i]) for row in cells) for i in range(len(head))]
    for row in cells:
        padded = [" " * (width - display_width(cell)) for cell, width in zip(row, widths, strict=True)]
        yield (
            "  "
            + "  ".join(
                cell + pad if i == 0 else pad + cell for i, (cell, pad) in enumerate(zip(row, padded, strict=True))
            ).rstrip()
        )


def _lines(report: ReplayReport, verbosity: int) -> Iterator[str]:
    yield _first(report)
    if report.limits:
        yield f"  limit: {visible(report.limits)}"
    if report.trace_format == "mooncake" and report.setup["block_size"] == 1:
        yield "  each hash id of 512 tokens counts as one token; --block-size 512 counts their real lengths"
    if report.skipped:
        yield f"  {skipped(report.skipped, report.too_large)}"
    if report.not_rendered.requests:
        yield f"  note: {_left_out(report.not_rendered)}"
    if report.untimed:
        yield f"  {_number(report.untimed, 'request')} without a timestamp: in no window"
    if report.waited:
        yield f"  {_number(report.waited, 'request')} had to wait until others ended"
    if report.replies_dropped:
        yield f"  {report.replies_dropped:,} replies found no room beside the live requests and were not kept"
    yield from _why(report)
    yield from _groups("tag", report.by_tag, verbosity)
    yield from _groups("tenant", report.by_tenant, verbosity)
    yield from _over_time(report.windows, verbosity)
    yield from _sweep(report.sweep)
    if report.advice:
        yield ""
    for words in report.advice:
        yield f"  {words}"


def skipped(count: int, too_large: int) -> str:
    """How many lines of the log were passed over, and why."""
    lines = f"{_number(count, 'line')} skipped: "
    if too_large == count:
        return f"{lines}larger than the whole cache"
    return lines + ("no request" + (f", but for {too_large:,} larger than the whole cache" if too_large else ""))


def _left_out(found: LeftOut) -> str:
    kinds = ", ".join(f"{_KINDS.get(kind, kind)} ({count:,})" for kind, count in sorted(found.what.items()))
    return (
        f"the template leaves out what {_number(found.requests, 'request')} say{'s' if found.requests == 1 else ''}: "
        f"{kinds}, first in line {found.first_line}; sizes and shares are those without"
    )


def _first(report: ReplayReport) -> str:
    setup = report.setup
    blocks = setup["num_blocks"]
    parts = [f"block size {setup['block_size']}"] if setup["engine"] != "llamacpp" else []
    if setup["engine"] != "llamacpp":
        parts.append("pool without limit" if blocks is None else f"{blocks:,} blocks")
    parts += [f"{name} {value}" for name, value in setup["options"].items()]
    if setup["assumed"]:
        parts.append(setup["assumed"])
    if report.live > 1:
        parts.append(f"{report.live} requests at once")
    if report.shard is not None:
        parts.append(f"a cache per {report.shard['by']}")
        if report.shard["count"] > 1:
            parts.append(f"shard {report.shard['index']} of {report.shard['count']}")
    partial = "partial result: " if report.partial else ""
    share = percent(report.cached_tokens, report.tokens)
    return (
        f"{partial}{report.label} reuses {share} of prompt tokens: {report.cached_tokens:,} of {report.tokens:,} in "
        f"{_number(report.requests, 'request')}" + (f" ({visible(', '.join(parts))})" if parts else "")
    )


def _why(report: ReplayReport) -> Iterator[str]:
    if not report.reasons:
        return
    yield ""
    rows = [
        [name, f"{report.reasons[name][1]:,}", percent(report.reasons[name][1], report.tokens),
         f"{report.reasons[name][0]:,}", words]
        for name, words in REASONS.items() if name in report.reasons
    ]  # fmt: skip
    shown = list(table(["not reused", "tokens", "share", "requests"], [row[:4] for row in rows]))
    width = max(map(len, shown))
    yield shown[0]
    for line, row in zip(shown[1:], rows, strict=True):
        yield f"{line.ljust(width)}  {row[4]}"
    if report.forgot:
        yield f"  {report.forgot:,} blocks had to be forgotten: some of new_prefix may have been evicted or edited"


def _groups(what: str, groups: Groups, verbosity: int) -> Iterator[str]:
    if not groups:
        return
    yield ""
    ordered = sorted(groups.items(), key=lambda item: (-item[1].tokens, item[0]))
    shown = ordered if verbosity else ordered[:_GROUPS]
    rows = [[clip(visible(name), _NAME_WIDTH) or "(empty)", *_cells(totals)] for name, totals in shown]
    yield from table([what, "requests", "tokens", "reused", "share"], rows)
    if len(ordered) > len(shown):
        yield f"  … {len(ordered) - len(shown):,} more (-v shows all)"


def _cells(totals: Totals) -> list[str]:
    return [
        f"{totals.requests:,}",
        f"{totals.tokens:,}",
        f"{totals.cached_tokens:,}",
        percent(totals.cached_tokens, totals.tokens),
    ]


def _over_time(windows: Windows, verbosity: int) -> Iterator[str]:
    if len(windows.found) < 2:
        return
    unit = "requests" if windows.by == "requests" else "s"
    yield ""
    if verbosity:
        begins = "from request" if windows.by == "requests" else "from second"
        rows = [[f"{at * windows.width:,}", *_cells(windows.found[at])] for at in sorted(windows.found)]
        yield from table([begins, "requests", "tokens", "reused", "share"], rows)
        return
    width = windows.width
    found = dict(windows.found)
    while max(found) >= _SPANS:
        width *= 2
        halved: dict[int, Totals] = {}
        for at, totals in found.items():
            halved.setdefault(at // 2, Totals()).add(
                totals.requests, totals.tokens, totals.cached_tokens, totals.hit_blocks
            )
        found = halved
    shares = [
        percent(found[at].cached_tokens, found[at].tokens) if at in found else "-" for at in range(max(found) + 1)
    ]
    per = "request" if width == 1 and windows.by == "requests" else f"{width:,} {unit}"
    yield f"  reused over time, per {per}: {' '.join(shares)}"


def _sweep(points: Sequence[SweepPoint]) -> Iterator[str]:
    if not points:
        return
    yield ""
    large = any(point.too_large for point in points)
    salts = len({point.salts for point in points}) > 1
    head = ["block size", "blocks", *(["salts"] if salts else []), "reused", "share"]
    if large:
        head.append("too large")
    rows = []
    for point in points:
        row = [f"{point.block_size:,}", "no limit" if point.num_blocks is None else f"{point.num_blocks:,}"]
        if salts:
            row.append("as logged" if point.salts else "none")
        row += [f"{point.totals.cached_tokens:,}", percent(point.totals.cached_tokens, point.totals.tokens)]
        if large:
            row.append(f"{point.too_large:,}")
        rows.append(row)
    yield from table(head, rows)


def render_policies(report: PolicyReport) -> str:
    """The text of a comparison of history policies."""
    return "\n".join(_policies(report))


def _policies(report: PolicyReport) -> Iterator[str]:
    from pytest_cachesafe.engines.replay.policies import POLICIES

    whole = [one for one in report.costs if one.refused is None]
    least = min(whole, key=lambda one: one.prefilled_tokens, default=report.costs[0])
    most = max(whole, key=lambda one: one.prefilled_tokens, default=report.costs[0])
    yield (
        f"{report.label} prefills {least.prefilled_tokens:,} tokens ({least.policy}) to {most.prefilled_tokens:,} "
        f"({most.policy}) over {_number(report.requests, 'request')} of one conversation [{visible(report.front_end)}]"
    )
    yield ""
    rows = [
        [one.policy, f"{one.tokens:,}", f"{one.cached_tokens:,}", f"{one.prefilled_tokens:,}"] for one in report.costs
    ]
    lines = list(table(["policy", "prompt tokens", "reused", "prefilled"], rows))
    width = max(map(len, lines))
    yield lines[0]
    for line, one in zip(lines[1:], report.costs, strict=True):
        refused = "" if one.refused is None else f"; refused by the template: {clip(visible(one.refused), 80)}"
        yield f"{line.ljust(width)}  {POLICIES[one.policy]}{refused}"
    sizes = report.sizes
    yield ""
    yield (
        f"  tool results cut to {sizes.tool_chars:,} characters (in place after {sizes.cut_after} requests), summary "
        f"of {sizes.summary_chars:,} characters above {sizes.limit_tokens:,} tokens, "
        f"{sizes.keep_messages} messages stay"
    )
    yield "  a summary is placeholder text, and making it is not counted; replies are the ids the template renders"
    for note in report.notes:
        yield f"  note: {visible(note)}"


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
