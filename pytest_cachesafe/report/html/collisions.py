"""Pairs of prompts that a semantic cache would serve one answer, with what differs marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_cachesafe.report.html.markup import Content, Markup, tag
from pytest_cachesafe.report.html.reading import dollars, mapping, rows, whole
from pytest_cachesafe.report.html.window import marked
from pytest_cachesafe.report.html.words import badge

__all__ = ["collisions", "worst_pair"]

_MOST = 20
_RANK = {"certain": 0, "suspect": 1}


def worst_pair(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The pair that says most; None where none differs."""
    return next(iter(_pairs(data)), None)


def _pairs(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    pairs = rows(data.get("pairs"))
    if not pairs and "a" in data and "b" in data:
        # An assertion about one pair.
        return [data]

    def weight(pair: Mapping[str, Any]) -> tuple[bool, bool, int]:
        tier = str(pair.get("verified") or pair.get("different_answer"))
        return not pair.get("merged"), "allowed" in pair, _RANK.get(tier, 2)

    telling = [pair for pair in pairs if pair.get("different_answer") in _RANK or "allowed" in pair]
    return sorted(telling, key=weight)


def collisions(data: Mapping[str, Any], redact: str) -> Iterator[Content]:
    """What was judged, then the pairs, the worst first."""
    if "pairs" in data:
        threshold = dollars(data.get("threshold"))
        at = "" if threshold is None else f" at threshold {threshold:g}"
        yield tag(
            "p",
            f"{whole(data.get('distinct')):,} distinct prompts, {whole(data.get('merged')):,} of "
            f"{whole(data.get('compared')):,} compared pairs would share an answer{at} [{data.get('encoder')}]",
        )
    reasons = [text for text in data.get("reasons") or () if isinstance(text, str)]
    if reasons:
        yield tag("p", "; ".join(reasons))
    pairs = _pairs(data)
    if not pairs and isinstance(data.get("closest"), Mapping):
        pairs = [data["closest"]]
    yield from (_pair(pair, redact) for pair in pairs[:_MOST])
    if len(pairs) > _MOST:
        yield tag("p", f"{len(pairs) - _MOST} more pairs are not shown.")
    for group in rows(mapping(data.get("truncated")).get("equal")):
        at_ = ", ".join(str(whole(place)) for place in (group.get("at") or ())[:8])
        yield tag("p", f"Prompts {at_} are the same to the encoder, which reads the beginning of them only.")


def _pair(pair: Mapping[str, Any], redact: str) -> Markup:
    tier = str(pair.get("verified") or pair.get("different_answer") or "none")
    merged, kinds = pair.get("merged"), list(dict.fromkeys(str(s.get("kind")) for s in rows(pair.get("spans"))))
    if "allowed" in pair:
        sign = badge("note", f"allowed: {pair['allowed']}")
    elif merged and tier == "certain":
        sign = badge("failed", "collision")
    elif merged and tier == "suspect":
        sign = badge("suspect", "suspect")
    else:
        sign = badge("note", "merged, nothing found" if merged else "not merged")
    similarity = dollars(pair.get("similarity"))
    close = "" if similarity is None else f" cosine {similarity:.3f}"
    at = pair.get("at") if isinstance(pair.get("at"), (list, tuple)) else ()
    sides = []
    for i, side in enumerate(("a", "b")):
        spans = [
            (span[0], span[1])
            for difference in rows(pair.get("spans"))
            for span in difference.get(side) or ()
            if isinstance(span, (list, tuple)) and len(span) == 2 and all(isinstance(n, int) for n in span)
        ]
        label = f"prompt {at[i]}" if at and len(at) == 2 else side
        text = str(pair.get(side) or "")
        shown = marked(text, spans if redact == "none" else [], "mark")
        sides.append(tag("div", tag("dt", label), tag("dd", shown)))
    differs = f" {', '.join(kinds[:6])};" if kinds else ""
    return tag(
        "div",
        tag("h4", sign, differs, close),
        tag("dl", *sides, class_="window pair"),
        class_="fault",
    )
