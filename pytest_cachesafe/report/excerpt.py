"""The two sides of a divergence, one under the other, with a mark under the first difference."""

from __future__ import annotations

import unicodedata

from pytest_cachesafe.report.visible import ELLIPSIS, NEWLINE, Redact, clip, display_width, escape, redact, visible

__all__ = ["WIRE_LEGEND", "WIRE_SIGNS", "excerpt"]

_END = "(ends here)"
# How the canonical text of a request ends an entry: nothing of it is text that was sent.
_WIRE_END = "\u241f\n"
WIRE_SIGNS = ("\u241e", "\u241f")
WIRE_LEGEND = "in wire excerpts \u241e begins a block or field and names it, \u241f ends it"


def excerpt(
    a: str,
    b: str,
    at: int,
    *,
    at_b: int | None = None,
    labels: tuple[str, str] = ("before", "after"),
    width: int = 100,
    lead: int = 32,
    redact_mode: Redact = "none",
) -> list[str]:
    """Three lines: side a, side b and a caret under the first difference; no caret where redacted, no line at all where
    neither side has text there.

    Args:
        a, b: the whole texts; only a window around the difference is read.
        at: index of the first differing character, in both texts unless `at_b` gives it for `b`.
        width: screen columns of a line, label included.
        lead: shared characters shown before the difference.
        redact_mode: `text` and `hash` show lengths and checksums of what follows the difference, no text.
    """
    other = at if at_b is None else at_b
    if at >= len(a) and other >= len(b):
        return []
    tags = _tags(labels)
    if redact_mode != "none":
        # Hashing what a line would show, not megabytes behind it.
        return [
            f"{tag}{redact(t[i : i + width], redact_mode)}" for tag, t, i in zip(tags, (a, b), (at, other), strict=True)
        ]
    back = max(min(at, other, lead), 0)
    # A combining mark belongs to the character before it.
    while 0 < back < at and unicodedata.combining(a[at - back]):
        back -= 1
    shared = a[at - back : at]
    # Behind an accepted divergence the two sides may lead in differently: then each shows its own.
    leads = [shared, shared if b[other - back : other] == shared else b[other - back : other]]
    cut = at > back
    shown = [(ELLIPSIS if cut else "") + visible(text) for text in leads]
    columns = [display_width(text) for text in shown]
    shown = [" " * (max(columns) - n) + text for n, text in zip(columns, shown, strict=True)]
    rest = _different(a[at : at + width], b[other : other + width])
    lines = [
        clip(f"{tag}{text}{tail}", width) for tag, text, tail in zip(tags, shown, rest, strict=True)
    ]  # fmt: skip
    return [*lines, " " * (display_width(tags[0]) + max(columns)) + "^"]


def _tags(labels: tuple[str, str]) -> list[str]:
    longest = max(map(len, labels))
    return [f"{label}:{' ' * (longest - len(label))} " for label in labels]


def _different(a: str, b: str) -> tuple[str, str]:
    """Both tails visibly different: texts that only differ in Unicode form are written as escapes."""
    tails = []
    alike = unicodedata.normalize("NFKC", a[:24])[:12] == unicodedata.normalize("NFKC", b[:24])[:12]
    for text in (a, b):
        if not text:
            tails.append(_END)
        elif text.startswith(_WIRE_END):
            rest = visible(text[len(_WIRE_END) :])
            tails.append(f"{visible(_WIRE_END)} (the text ends here){' ' if rest else ''}{rest}")
        elif alike or unicodedata.combining(text[0]):
            tails.append("".join(c if c.isascii() or c == NEWLINE else escape(c) for c in visible(text)))
        else:
            tails.append(visible(text))
    return tails[0], tails[1]
