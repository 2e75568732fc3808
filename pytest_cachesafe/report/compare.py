"""Text form of a comparison of two prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_cachesafe.prefix.causes import CAUSES, advice
from pytest_cachesafe.prefix.compare import Comparison, Divergence
from pytest_cachesafe.prefix.rendered import Missing
from pytest_cachesafe.prefix.wording import missing_sentence, place
from pytest_cachesafe.report.excerpt import WIRE_LEGEND, WIRE_SIGNS, excerpt
from pytest_cachesafe.report.visible import Redact, visible
from pytest_cachesafe.report.visible import redact as hidden

__all__ = ["comparison_text"]


def comparison_text(
    result: Comparison, texts: tuple[str, str], missing: Sequence[Missing] = (), *, redact: Redact = "none"
) -> str:
    """Several lines, the first one complete in itself.

    `texts` are the two prompts, for the excerpt; `missing` is what the template left out of them.
    """
    first, second = result.tokens
    share = f"{'' if result.exact else 'about '}{result.shared_tokens:,} of {first:,} and {second:,} tokens"
    found = result.divergence
    legend: list[str] = []
    if found is None:
        lines = [f"B begins with all of A: {share}" if result.extends else f"B ends inside A ({result.scope}): {share}"]
    else:
        lines = [
            f"{visible(place(found))}: {CAUSES[found.cause]} ({result.scope}); A and B share {share}",
            f"  where:  {_position(found, result.exact)}",
            f"  cause:  {found.cause} ({found.origin})",
        ]
        if found.index_a is not None and found.index_b is not None and (texts[0] or texts[1]):
            sides = excerpt(*texts, found.index_a, at_b=found.index_b, labels=("A", "B"), redact_mode=redact)
            lines += ["    " + line for line in sides]
            if any(sign in line for line in sides for sign in WIRE_SIGNS):
                legend = [f"  {WIRE_LEGEND}"]
        lines.append(f"  fix:    {advice(found.cause, found.origin)}")
    if missing:
        shown = [
            m if redact == "none" or m.what == "tools" else replace(m, name=hidden(m.name, redact)) for m in missing
        ]
        lines[0] += f"; {visible(missing_sentence(shown))}"
    lines.append(f"  front end: {visible(result.front_end)}")
    lines += [*legend, *(f"  note: {visible(note)}" for note in result.notes)]
    return "\n".join(lines) + "\n"


def _position(found: Divergence, exact: bool) -> str:
    where = found.location
    parts = [f"{'' if exact else 'about '}token {where.token_index:,}"] if where.token_index is not None else []
    if where.block_index is not None and exact:
        parts.append(f"block {where.block_index:,}")
    if where.char_index is not None:
        parts.append(f"character {where.char_index:,}")
    return ", ".join(parts)
