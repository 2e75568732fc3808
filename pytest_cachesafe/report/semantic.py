"""Collisions for people: the first line complete, then the worst pairs with what differs marked, then what to do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.report.visible import ELLIPSIS, Redact, clip, display_width, redact, visible

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.pair import PairReport
    from pytest_cachesafe.semantic.result import CollisionReport, CutGroup, JudgedPair
    from pytest_cachesafe.semantic.verdict import PairVerdict, Span, TextVerdict, Tier

__all__ = ["marked", "pair_lines", "quoted", "render", "render_pair", "what_differs"]

# Pairs shown of each sort, by verbosity; -vv shows all.
_MOST = (10, 50)
_WIDTH = 100
# Characters shown before the first difference of a long prompt.
_LEAD = 32
_QUOTE = 60


def render(report: CollisionReport, verbosity: int = 0, mode: Redact = "none") -> str:
    """The text of a report."""
    return "\n".join(_lines(report, verbosity, mode))


def _lines(report: CollisionReport, verbosity: int, mode: Redact) -> Iterator[str]:
    yield _headline(report, mode)
    if report.as_pairs:
        yield from _capped(report.pairs, report, verbosity, mode)
    else:
        failures = report.failures
        yield from _capped(failures, report, verbosity, mode)
        if report.level == "certain":
            yield from _capped(report.suspects, report, verbosity, mode)
        yield from _capped(report.near, report, verbosity, mode)
        yield from _capped([p for p in report.pairs if p.allowed], report, verbosity, mode)
        harmless = [p for p in report.pairs if p.verdict.merged and p.tier == "none"]
        judged = sum(p.verdict.text.note is None for p in harmless)
        if judged:
            yield f"  {_pairs(judged)} merged in which nothing was found that needs another answer"
        if verbosity:
            yield from _capped(harmless, report, verbosity, mode)
        closest = report.closest
        above = [*report.suspects, *report.near, *(p for p in report.pairs if p.allowed)]
        if closest is not None and not verbosity and not failures and all(_other(closest, pair) for pair in above):
            yield from pair_lines(
                closest.verdict, _labels(closest, report), mode, "  closest pair: ", heard=closest.heard
            )
    yield from (_cut(group, report) for group in report.cut)
    yield from (f"  what to do: {line}" for line in _advice(report))
    for entry, why in report.unused:
        texts = f"{quoted(entry.a, mode)} / {quoted(entry.b, mode)}"
        yield f"  note: unused allow entry, {why}: {texts} ({_reason(entry.reason, mode)})"
    for note in report.notes:
        yield f"  note: {visible(note)}"


def _other(one: JudgedPair, pair: JudgedPair) -> bool:
    return {one.verdict.a, one.verdict.b} != {pair.verdict.a, pair.verdict.b}


def _cut(group: CutGroup, report: CollisionReport) -> str:
    places = list(dict.fromkeys(group.at))
    shown = ", ".join(map(str, places[:6])) + (", …" if len(places) > 6 else "")
    subject = f"{report.unit}s {shown} are" if len(places) > 1 else f"{report.unit} {shown}: both prompts are"
    return (
        f"  {subject} the same to the encoder, which reads {report.window} of up to {group.tokens:,} tokens: a cache "
        "serves them one answer at any threshold; embed the part that differs"
    )


def _headline(report: CollisionReport, mode: Redact) -> str:
    certain, suspects = report.collisions, report.suspects
    name = f"[{visible(report.name)}] " if report.name else ""
    if report.as_pairs:
        of = f"among {_pairs(report.given)}"
    else:
        repeats = f" ({report.given - report.distinct:,} repeats left out)" if report.given > report.distinct else ""
        of = f"among {report.distinct:,} prompts{repeats}"
    at = "" if report.threshold is None else f" at threshold {report.threshold:g}"
    where = f"{of}{at} [{visible(report.encoder)}]"
    found = [f"{len(certain):,} {_plural('collision', certain)}"] if certain else []
    if suspects and report.level == "suspect":
        found.append(f"{len(suspects):,} {_plural('suspect', suspects)}")
    if report.cut:
        found.append(f"{len(report.cut):,} {_plural('group', report.cut)} of prompts equal after truncation")
    if not found:
        beside = f", {_pairs(len(suspects))} suspected" if suspects else ""
        return f"{name}no collisions {where}{beside}{_closest(report)}"
    failures = report.failures
    worst = f": {_short(failures[0].verdict, mode)}" if failures else ""
    return f"{name}{' and '.join(found)} {where}{worst}"


def _closest(report: CollisionReport) -> str:
    if report.closest is None:
        return ""
    # An allowed one is listed as such below.
    which = "closest pair (allowed)" if report.closest.allowed is not None else "closest pair"
    return f"; {which}: {_distance(report.closest.verdict)}"


def _short(found: PairVerdict, mode: Redact) -> str:
    texts = f"{quoted(found.a, mode)} / {quoted(found.b, mode)}"
    close = "" if math.isnan(found.similarity) else f", cosine {found.similarity:.3f}"
    return f"{what_differs(found, mode, 1)}{close}: {texts}"


def render_pair(report: PairReport, verbosity: int = 0, mode: Redact = "none") -> str:
    """The text of a report about one pair; short enough for every verbosity."""
    texts = f"{quoted(report.a, mode)} / {quoted(report.b, mode)}"
    where = f"{visible(report.where)}: " if report.where else ""
    encoder = f" [{visible(report.encoder)}]" if report.encoder else ""
    said = visible("; also, ".join(report.reasons)) or "as asserted"
    lines = [f"{where}{said}{encoder}: {texts}"]
    found = report.verdict
    if found is None:
        lines.append(f"  by their words: {_by_words(report.text_verdict, mode)}")
        lines += _sides(report.a, report.b, report.text_verdict, ("a", "b"), mode)
    else:
        lines += pair_lines(found, ("a", "b"), mode)
    lines += [f"  what to do: {visible(line)}" for line in report.advice]
    return "\n".join(lines)


def quoted(text: str, mode: Redact = "none") -> str:
    """A prompt within a sentence."""
    return redact(text, mode) if mode != "none" else f'"{clip(visible(text[: 4 * _QUOTE]), _QUOTE)}"'


def _reason(text: str, mode: Redact) -> str:
    """Why a pair is allowed; people quote the prompts in it."""
    return redact(text, mode)


def what_differs(found: PairVerdict, mode: Redact = "none", most: int = 4) -> str:
    """The kinds in which two prompts differ, with the values where they may be shown."""
    return _kinds(found.text, mode, most)


def _kinds(text: TextVerdict, mode: Redact, most: int = 4) -> str:
    parts = []
    for difference in text.differences[:most]:
        words = f" ({clip(visible(difference.words), _QUOTE)})" if difference.words and mode == "none" else ""
        parts.append(f"{visible(difference.kind)}{words}")
    more = len(text.differences) - most
    return ", ".join(parts) + (f" and {more} more" if more > 0 else "")


def _capped(pairs: Sequence[JudgedPair], report: CollisionReport, verbosity: int, mode: Redact) -> Iterator[str]:
    most = len(pairs) if verbosity >= 2 else _MOST[min(verbosity, 1)]
    for pair in pairs[:most]:
        reason = None if pair.allowed is None else pair.allowed.reason
        yield from pair_lines(pair.verdict, _labels(pair, report), mode, "  ", reason, pair.heard)
    if len(pairs) > most:
        yield f"  … {len(pairs) - most:,} more like these (-vv shows all)"


def _labels(pair: JudgedPair, report: CollisionReport) -> tuple[str, str]:
    if report.as_pairs:
        return f"{report.unit} {pair.a_at} a", f"{report.unit} {pair.b_at} b"
    return f"{report.unit} {pair.a_at}", f"{report.unit} {pair.b_at}"


def pair_lines(
    found: PairVerdict,
    labels: tuple[str, str],
    mode: Redact,
    before: str = "  ",
    allowed: str | None = None,
    heard: Tier | None = None,
) -> Iterator[str]:
    """What is said about one pair, then its prompts, each with a line that marks what differs.

    Args:
        before: begins the first line.
        allowed: the reason why it may share an answer.
        heard: the tier after a calibrated verifier was heard.
    """
    verifier = "" if found.verifier is None else f"; verifier {found.verifier:.3f}"
    if heard is not None:
        verifier += {"certain": ": confirmed", "none": ": cleared", "suspect": ": undecided"}[heard]
    tier = found.different_answer if heard is None else heard
    yield f"{before}{_verdict(found, tier, mode, allowed)}; {_distance(found)}{verifier}"
    yield from _sides(found.a, found.b, found.text, labels, mode)


def _sides(a: str, b: str, text: TextVerdict, labels: tuple[str, str], mode: Redact) -> Iterator[str]:
    width = max(map(len, labels))
    for label, prompt, side in zip(labels, (a, b), ("a", "b"), strict=True):
        spans = [span for difference in text.differences for span in getattr(difference, side)]
        yield from marked(f"      {label + ':':<{width + 1}} ", prompt, spans, mode)


def _by_words(text: TextVerdict, mode: Redact) -> str:
    if text.different_answer == "none":
        return visible(text.note) if text.note else "nothing found that needs another answer"
    return f"{text.different_answer}, {_kinds(text, mode)}"


def _verdict(found: PairVerdict, tier: Tier, mode: Redact, allowed: str | None) -> str:
    if found.different_answer == "none":
        said = visible(found.text.note) if found.text.note else "nothing found that needs another answer"
        return f"{'merged' if found.merged else 'apart'}, {said}"
    if tier == "none":
        word = "cleared"
    elif allowed is not None:
        word = f"allowed ({_reason(allowed, mode)})"
    elif found.merged:
        word = "collision" if tier == "certain" else "suspect"
    else:
        word = "not merged" if tier == "certain" else "not merged, suspect"
    return f"{word}, {what_differs(found, mode)}"


def _distance(found: PairVerdict) -> str:
    if math.isnan(found.similarity):
        return "served one answer" if found.merged else "not served one answer"
    gap = found.similarity - found.threshold
    size = f"{abs(gap):.3f}" if abs(gap) >= 0.0005 else "less than 0.001"
    where = f"{size} {'above' if gap > 0 else 'below'} the threshold" if gap else "at the threshold"
    return f"cosine {found.similarity:.3f}, {where}"


def marked(label: str, text: str, spans: Sequence[Span], mode: Redact = "none", width: int = _WIDTH) -> list[str]:
    """A prompt on one line, and below it marks under the spans that show; no marks where redacted."""
    if mode != "none":
        return [f"{label}{redact(text, mode)}"]
    begin = 0
    if len(text) > width and spans:
        begin = max(0, min(span.start for span in spans) - _LEAD)
    piece = text[begin : begin + width]
    head = ELLIPSIS if begin else ""
    tail = ELLIPSIS if begin + width < len(text) else ""
    shown = clip(f"{head}{visible(piece)}{tail}", width)
    cells = [" "] * display_width(shown)
    for span in spans:
        start, end = (min(max(place - begin, 0), len(piece)) for place in span)
        if start < end:
            first, last = (display_width(head + visible(piece[:place])) for place in (start, end))
            cells[first:last] = "^" * (min(last, len(cells)) - min(first, len(cells)))
    marks = "".join(cells).rstrip()
    return [f"{label}{shown}", *([" " * display_width(label) + marks] if marks else [])]


def _advice(report: CollisionReport) -> Iterator[str]:
    failures = report.failures
    if not failures:
        return
    top = max(pair.verdict.similarity for pair in failures)
    kinds = list(dict.fromkeys(kind for pair in failures if (kind := pair.verdict.text.kind) is not None))
    yield (
        f"keep what differs ({', '.join(visible(kind) for kind in kinds[:4])}{', …' if len(kinds) > 4 else ''}) out of "
        "the similarity: put it into the cache key or a filter, or ask CollisionJudge.compare before serving"
    )
    harmless = [p.verdict.similarity for p in report.pairs if p.verdict.merged and p.tier == "none"]
    left = sum(value > top for value in harmless)
    of = f" and keep {left:,} of the {len(harmless):,} merges that look harmless" if harmless else ""
    if math.isnan(top):
        pass
    elif top < 1:
        yield f"a threshold above {top:.3f} would keep these pairs apart{of}; other prompts may come closer still"
    else:
        yield "no threshold keeps these pairs apart: the encoder gives both prompts the same vector"
    yield "where one answer serves both, allow the pair with a reason"


def _pairs(count: int) -> str:
    return f"{count:,} {'pair' if count == 1 else 'pairs'}"


def _plural(noun: str, found: Sequence[object]) -> str:
    return noun if len(found) == 1 else noun + "s"
