"""The screen of `--cachesafe-observe`: which conversations lose their prefix, where, what it costs, what to do next."""

from __future__ import annotations

import os
from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING, cast

from pytest_cachesafe.report.excerpt import WIRE_LEGEND, WIRE_SIGNS, excerpt
from pytest_cachesafe.report.visible import Redact, visible

if TYPE_CHECKING:
    from pytest_cachesafe.providers.observe.observer import Broken, Seen

__all__ = ["observe_lines"]

_MOST = 8
_WIDTH = 110


def observe_lines(seen: Seen, root: str, verbosity: int = 0, mode: str = "none") -> list[str]:
    """Lines for the end of a run: one where nothing is wrong, or where nothing was seen."""
    if not seen.requests:
        why = "no LLM request of an SDK was seen (fakes that replace an SDK's own methods send nothing)"
        return [f"cachesafe observe: {why}", *_unjudged(seen)]
    apart = f"{_n(seen.requests, 'request')} in {_n(seen.conversations, 'conversation')} of {_n(seen.tests, 'test')}"
    if not seen.broken:
        kept = "keep their prefix" if seen.continuing else "were seen, none continues another: nothing was compared"
        return [f"cachesafe observe: {apart} {kept}", *_unjudged(seen)]
    return list(_screen(seen, apart, root, verbosity, cast("Redact", mode)))


def _screen(seen: Seen, apart: str, root: str, verbosity: int, mode: Redact) -> Iterator[str]:
    kinds: dict[tuple[str, str | None, str | None, str | None], list[Broken]] = {}
    for one in seen.broken:
        # The same line that sends the same fault from many tests is told once.
        kinds.setdefault((one.code, one.path, one.line, one.cause), []).append(one)
    providers = ", ".join(f"{name} {count}" for name, count in sorted(seen.providers.items()))
    estimated = "; token counts are estimates" if seen.estimated else ""
    yield f"{apart} ({providers}{estimated})"
    # One conversation may have several faults.
    broken = len({(one.test, one.conversation) for one in seen.broken})
    yield f"{_n(broken, 'conversation')} {'loses its' if broken == 1 else 'lose their'} prefix:"
    ordered = sorted(kinds.values(), key=lambda group: -sum(one.lost_tokens for one in group))
    shown = ordered if verbosity > 0 else ordered[:_MOST]
    for group in shown:
        yield ""
        yield from _group(group, root, mode)
    if len(ordered) > len(shown):
        yield f"… {len(ordered) - len(shown)} more kinds (-v shows all)"
    yield from _unjudged(seen)
    if any(s in text for group in shown for text in (group[0].lead, group[0].before) for s in WIRE_SIGNS):
        yield f"  {WIRE_LEGEND}"
    yield ""
    first = quote(visible(_worst(ordered[0]).test))
    yield f"next: mend the first, run pytest --cachesafe-observe {first}; then keep it so with the fixture llm_traffic"


def _group(group: list[Broken], root: str, mode: Redact) -> Iterator[str]:
    worst = _worst(group)
    others = len({one.test for one in group}) - 1
    more = f" (and {others} more)" if others else ""
    yield f"  {worst.severity}: {worst.code}: {visible(worst.message)}"
    yield f"    test:   {visible(worst.test)}{more}"
    yield f"    where:  {visible(worst.path or 'the whole request')}"
    built = _built(worst, root)
    if built is not None:
        yield f"    built:  {visible(built)}"
    if worst.line:
        yield f"    sent:   {visible(worst.line)}"
    if worst.lead or worst.before or worst.after:
        text = excerpt(
            worst.lead + worst.before, worst.lead + worst.after, len(worst.lead), width=_WIDTH, redact_mode=mode
        )
        for line in text:
            yield f"    {line}"
    about = "about " if worst.estimated else ""
    if worst.lost_tokens:
        money = "" if worst.usd_per_1000 is None else f"; {about}{worst.usd_per_1000:,.2f} USD per 1,000 chats"
        yield f"    lost:   {about}{worst.lost_tokens:,} tokens in {_n(worst.requests, 'request')}{money}"
    if worst.help:
        yield f"    fix:    {visible(worst.help)}"


def _worst(group: list[Broken]) -> Broken:
    return max(group, key=lambda one: one.lost_tokens)


def _built(one: Broken, root: str) -> str | None:
    """The line that built the changing text, where the source shows it."""
    from pytest_cachesafe.source import told

    return told(one.lead, one.before, one.cause, root, os.path.join(root, one.test.partition("::")[0]))


def _unjudged(seen: Seen) -> Iterator[str]:
    for words, count in sorted(seen.unjudged.items()):
        yield f"  not judged: {visible(words)}{f' ({count} times)' if count > 1 else ''}"


def _n(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
