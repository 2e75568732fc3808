"""Text form of a comparison of two prompts."""

from __future__ import annotations

from pytest_cachesafe.prefix.causes import ADVICE, CAUSES
from pytest_cachesafe.prefix.compare import Comparison, Divergence
from pytest_cachesafe.report.excerpt import excerpt
from pytest_cachesafe.report.visible import Redact, visible

__all__ = ["comparison_text", "place"]


def comparison_text(result: Comparison, *, redact: Redact = "none") -> str:
    """Several lines; the first one is complete in itself."""
    about = "" if result.exact else "about "
    first, second = result.tokens
    share = f"{about}{result.shared_tokens:,} of {first:,} and {second:,} tokens"
    found = result.divergence
    if found is None:
        head = (
            f"extends: B begins with all of A, sharing {share}"
            if result.extends
            else f"cut short: B ends inside A, sharing {share}"
        )
        lines = [head]
    else:
        why = CAUSES.get(found.cause, found.cause)
        lines = [
            f"{found.scope}: A is not continued in {place(found)}, sharing {share}: {why}",
            f"  where:  {position(found, estimated=not result.exact)}",
            f"  cause:  {found.cause} (origin: {found.origin})",
            *("  " + line for line in excerpt(found.before, found.after, _first_difference(found), redact_mode=redact)),
        ]
        if found.cause in ADVICE:
            lines.append(f"  change: {ADVICE[found.cause]}")
    lines.append(f"  front end: {visible(result.front_end)}")
    lines += [f"  note: {visible(note)}" for note in result.notes]
    return "\n".join(lines) + "\n"


def place(found: Divergence) -> str:
    """The place in words: "message 2 (tool)", "the tools", "text the template inserts"."""
    where = found.location
    names = {
        "template": "text the template inserts",
        "tools": "the tools",
        "generation_prompt": "the generation prompt",
    }
    if where.part in names:
        return names[where.part]
    if where.message_index is None:
        return "the system text" if where.part == "system" else "the text"
    role = f" ({visible(str(where.role))})" if where.role else ""
    return f"message {where.message_index}{role}"


def position(found: Divergence, *, estimated: bool) -> str:
    """Indexes of the divergence, with the JSON path where one is known."""
    where = found.location
    parts = [f"{'about ' if estimated else ''}token {where.token_index:,}"] if where.token_index is not None else []
    if where.block_index is not None:
        parts.append(f"block {where.block_index:,}")
    if where.char_index is not None:
        parts.append(f"character {where.char_index:,}")
    if where.path:
        parts.append(visible(where.path))
    return ", ".join(parts)


def _first_difference(found: Divergence) -> int:
    pairs = zip(found.before, found.after, strict=False)
    return next((i for i, (x, y) in enumerate(pairs) if x != y), min(len(found.before), len(found.after)))
