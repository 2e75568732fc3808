"""Faults of the embedded text itself: longer than the encoder reads, or mostly text that all requests share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_cachesafe.findings import Finding, Location, Severity

if TYPE_CHECKING:
    from pytest_cachesafe.semantic.encoder import Encoder
    from pytest_cachesafe.semantic.judge import CollisionJudge

__all__ = ["Template", "find_templates", "template_findings", "window_findings"]

# Texts that have nothing to do with one another, put in place of what varies: 28 pairs.
_PROBES = (
    "Where is my parcel?", "Penguins cannot fly.", "The meeting moves to Thursday.", "Boil the rice for ten minutes.",
    "My laptop does not charge.", "Who wrote this symphony?", "Cancel the second invoice.", "Rain is expected tonight.",
)  # fmt: skip
# Characters that keys must share before it is called a template.
_LEAST_SHARED = 20
_LEAST_KEYS = 3
# Keys of one template that are compared with each other, and templates that are looked at.
_MOST_KEYS = 200
_MOST_TEMPLATES = 10
_HEAD = 24
# Shorter texts are within every encoder's window; of the longer ones so many are tried where tokens cannot be counted.
_LONG = 400
_MOST_LONG = 64


def window_findings(
    encoder: Encoder, texts: Sequence[str], places: Mapping[str, int], lines: Sequence[int] | None = None
) -> Iterator[Finding]:
    """Keys of which the encoder reads only the beginning, and different keys that are the same to it.

    Args:
        places: index of the first request with a key.
        lines: of the file they come from, one a request, for the message.
    """
    longer, groups = _by_tokens(encoder, texts) if encoder.window is not None else _by_vectors(encoder, texts)
    reads = f"the {encoder.window} tokens" if encoder.window is not None else "what"
    reads += " that the encoder reads" if encoder.window is not None else " the encoder reads"
    help_ = "embed only the part that varies, or an encoder with a larger window; what lies behind decides nothing"
    for group in groups:
        where = [places[text] for text in group]
        shown = where if lines is None else [lines[index] for index in where]
        yield Finding(
            "key-equal-after-truncation",
            f"{len(group):,} different keys are the same within {reads}: they share one answer at any threshold "
            f"({'requests' if lines is None else 'lines'} {', '.join(map(str, shown[:5]))}"
            f"{', …' if len(where) > 5 else ''})",
            Severity.ERROR,
            Location(request=where[0]),
            cause="truncation",
            origin="application",
            help=help_,
            data={"requests": where},
        )
    alone = [text for text in longer if not any(text in group for group in groups)]
    if alone:
        yield Finding(
            "key-longer-than-window",
            f"{len(alone):,} keys are longer than {reads}",
            Severity.WARNING,
            Location(request=places[alone[0]]),
            cause="truncation",
            origin="application",
            help=help_,
            data={"requests": [places[text] for text in alone]},
        )


def _by_tokens(encoder: Encoder, texts: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    window = encoder.window or 0
    # A token is a character at the least.
    longer = [text for text in texts if len(text) + 2 > window and (encoder.count(text) or 0) > window]
    groups: dict[Any, list[str]] = {}
    for text in longer:
        groups.setdefault(encoder.truncated_ids(text), []).append(text)
    return longer, [group for ids, group in groups.items() if ids is not None and len(group) > 1]


def _by_vectors(encoder: Encoder, texts: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Without a tokenizer: a text that more text changes nothing of fills the window."""
    import numpy as np

    long = sorted((text for text in texts if len(text) >= _LONG), key=len, reverse=True)[:_MOST_LONG]
    if not long:
        return [], []
    plain = encoder.embed(long)
    more = encoder.embed([f"{text} {_PROBES[1]}" for text in long])
    same = np.abs(plain - more).max(axis=1) <= 1e-6
    longer = [text for text, equal in zip(long, same, strict=True) if equal]
    groups: dict[bytes, list[str]] = {}
    for text, vector, equal in zip(long, plain, same, strict=True):
        if equal:
            groups.setdefault(np.round(vector, 5).tobytes(), []).append(text)
    return longer, [group for group in groups.values() if len(group) > 1]


class Template(NamedTuple):
    """Text that keys share, and what varies between."""

    before: str
    after: str
    variable: tuple[str, ...]
    # The keys themselves, same order.
    keys: tuple[str, ...]


def find_templates(texts: Sequence[str]) -> list[Template]:
    """Keys that begin or end alike: all of them, or those that begin with the same characters."""
    whole = _template(texts)
    if whole is not None:
        return [whole]
    heads: dict[str, list[str]] = {}
    for text in texts:
        heads.setdefault(text[:_HEAD], []).append(text)
    found = [made for group in heads.values() if (made := _template(group)) is not None]
    return sorted(found, key=lambda template: -len(template.keys))[:_MOST_TEMPLATES]


def _template(texts: Sequence[str]) -> Template | None:
    if len(texts) < _LEAST_KEYS:
        return None
    before = _shared(texts)
    # To the end of a word, so that what varies keeps its own.
    before = before[: len(before) - len(before.split(" ")[-1].split("\n")[-1])]
    rest = [text[len(before) :] for text in texts]
    after = _shared([text[::-1] for text in rest])[::-1]
    cut = len(after) - len(after.lstrip())
    word = after[cut:].split(" ", 1)[0] if not cut else ""
    after = after[len(word) :]
    variable = tuple(text[: len(text) - len(after)].strip() for text in rest)
    if len(before.strip()) + len(after.strip()) < _LEAST_SHARED or not all(variable):
        return None
    return Template(before, after, variable, tuple(texts))


def _shared(texts: Sequence[str]) -> str:
    """What all begin with: what the first and the last one of them in order do."""
    low, high = min(texts), max(texts)
    at = next((index for index, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return low[:at]


def template_findings(judge: CollisionJudge, texts: Sequence[str]) -> Iterator[Finding]:
    """Shared text that alone lifts unrelated texts over the threshold."""
    for template in find_templates(texts):
        probes = [f"{template.before}{probe}{template.after}" for probe in _PROBES]
        with_it, without = _pairs(judge, probes), _pairs(judge, _PROBES)
        over = sum(value >= judge.threshold for value in with_it)
        # A threshold that unrelated texts reach by themselves is another fault.
        if over <= sum(value >= judge.threshold for value in without):
            continue
        lifted, compared = _lifted(judge, template)
        tokens = judge.encoder.count(f"{template.before}{template.after}")
        size = f"{tokens:,} tokens" if tokens is not None else f"{len(template.before + template.after):,} characters"
        seen = f"; {lifted:,} of {compared:,} pairs of these keys merge only because of it" if lifted else ""
        yield Finding(
            "key-template",
            f"{len(template.keys):,} keys share {size} of text that alone lifts {over} of {len(with_it)} pairs of "
            f"unrelated texts over the threshold (median cosine {_median(with_it):.2f}, without it "
            f"{_median(without):.2f}){seen}",
            Severity.WARNING,
            cause="template",
            origin="application",
            help="embed only the part that varies; put a checksum of the shared text into a filter",
            data={"pairs": len(with_it), "over": over, "lifted": lifted, "compared": compared},
        )


def _pairs(judge: CollisionJudge, texts: Sequence[str]) -> list[float]:
    import numpy as np

    vectors = judge.encoder.embed(texts)
    table = vectors @ vectors.T
    # As `similarity` rounds: equal vectors give 1.0.
    return [round(float(value), 6) for value in table[np.triu_indices(len(texts), 1)]]


def _lifted(judge: CollisionJudge, template: Template) -> tuple[int, int]:
    """Pairs of keys that merge, while what varies in them does not; and pairs compared."""
    keys, variable = template.keys[:_MOST_KEYS], template.variable[:_MOST_KEYS]
    full, part = _pairs(judge, keys), _pairs(judge, variable)
    limit = judge.threshold
    return sum(a >= limit > b for a, b in zip(full, part, strict=True)), len(full)


def _median(values: Sequence[float]) -> float:
    return sorted(values)[(len(values) - 1) // 2]
