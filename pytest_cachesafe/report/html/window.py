"""Both sides of a divergence, with the changed words marked."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from pytest_cachesafe.report.excerpt import WIRE_SIGNS
from pytest_cachesafe.report.html.markup import Content, Markup, tag

__all__ = ["WIRE_LEGEND", "marked", "window"]

WIRE_LEGEND = f"{WIRE_SIGNS[0]} begins a block or field and names it, {WIRE_SIGNS[1]} ends it"
_WIDTH = 140
# A value is marked whole, not from its first changed digit on.
_VALUE = re.compile(r"[\w:.+-]{0,40}\Z")
# Characters that both sides share by coincidence are fewer.
_ALIKE = 10
_REST = re.compile(r"[\w:.+-]{0,40}")


def window(lead: str, before: str, after: str, *, plain: bool) -> Markup:
    """Two lines with what stood there and what stands there now.

    Args:
        plain: texts are placeholders of a redacted run: they are shown as they are.
    """
    if plain:
        return _lines([(before or "(nothing)",), (after or "(nothing)",)])
    legend = any(sign in text for text in (lead, before, after) for sign in WIRE_SIGNS)
    start, value = _split(lead)
    ends = _ends(before, after)
    sides: list[tuple[Content, ...]] = []
    for name, text, end in (("del", before, ends[0]), ("ins", after, ends[1])):
        changed = f"{value}{text[:end]}"
        gap = "(nothing)" if text[end:] else "(ends here)"
        mark: Content = tag(name, changed) if changed else tag(name, gap, class_="end")
        sides.append((start, mark, text[end:_WIDTH]))
    lines = _lines(sides)
    return tag("div", lines, tag("p", WIRE_LEGEND, class_="legend")) if legend else lines


def _lines(sides: list[tuple[Content, ...]]) -> Markup:
    rows = [
        tag("div", tag("dt", label), tag("dd", tag("code", *side)))
        for label, side in zip(("before", "after"), sides, strict=True)
    ]
    return tag("dl", *rows, class_="window")


def _split(lead: str) -> tuple[str, str]:
    """Shared text, and the part of it that belongs to the value which changed."""
    match = _VALUE.search(lead)
    at = match.start() if match is not None else len(lead)
    return lead[:at], lead[at:]


def _ends(before: str, after: str) -> tuple[int, int]:
    """Where what changed ends on either side: where both go on alike, or at the end of the excerpt."""
    first, second = _word(before), _word(after)
    n = min(len(before) - first, len(after) - second)
    if n and before[first : first + n] == after[second : second + n]:
        return first, second
    match = SequenceMatcher(None, before, after, autojunk=False).find_longest_match()
    return (match.a, match.b) if match.size >= _ALIKE else (len(before), len(after))


def _word(text: str) -> int:
    match = _REST.match(text)
    return match.end() if match is not None and match.end() else min(len(text), 1)


def marked(text: str, spans: list[tuple[int, int]], name: str, most: int = 400) -> Markup:
    """A prompt with spans of it marked."""
    parts: list[Content] = []
    begin = max(min((start for start, _ in spans), default=0) - 80, 0) if len(text) > most else 0
    at = begin
    if begin:
        parts.append("…")
    for start, end in sorted(spans):
        start, end = max(start, at), min(end, begin + most, len(text))
        if start >= end:
            continue
        parts += [text[at:start], tag(name, text[start:end])]
        at = end
    parts.append(text[at : begin + most])
    if begin + most < len(text):
        parts.append("…")
    return tag("code", *parts)
