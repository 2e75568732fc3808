"""One sentence per fact, complete in itself: what broke, where, why, whose doing, what it costs.

Plain text with the user's values in it as they are; whoever prints it makes it harmless first.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_cachesafe.prefix.causes import CAUSES
from pytest_cachesafe.prefix.compare import Divergence
from pytest_cachesafe.prefix.rendered import Missing
from pytest_cachesafe.prefix.step import Step

__all__ = ["lost_most", "missing_sentence", "number", "place", "step_sentence"]

_ORIGINS = {
    "application": "the request itself changed",
    "framework": "the framework rewrote it",
    "template": "the template's doing",
    "tokenizer": "the tokenizer's doing",
    "provider": "the provider's doing",
}


def number(count: int, noun: str) -> str:
    """`1 token`, `2 tokens`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def place(divergence: Divergence) -> str:
    """Where it happened, in words, with the JSON path where the request holds the text."""
    where = divergence.location
    path = f" at {where.path}" if where.path and where.path not in ("prompt", where.part) else ""
    if where.part == "generation_prompt":
        return "the generation prompt"
    if where.part == "template":
        return "text that the template puts in" if divergence.origin == "template" else f"the head of the prompt{path}"
    if where.part == "tools":
        return f"the tools{path}"
    if where.part == "system":
        return f"the system text{path}"
    if where.message_index is None:
        return "the prompt"
    return f"message {where.message_index} ({where.role or 'unknown role'}){path}"


def step_sentence(step: Step, exact: bool) -> str:
    """What happened at one step."""
    under = f" under {step.under}" if step.under else ""
    if step.verdict == "raises":
        which = f" (message {step.message_index})" if step.message_index is not None else ""
        return f"request {step.request} cannot be rendered{under}: the template raises{which}: {step.raised}"
    divergence = step.divergence
    if divergence is None:
        return f"request {step.request} continues request {step.against}{under}"
    about = "" if exact else "about "
    lost = f"{about}{step.lost_tokens} of {number(step.tokens, 'token')} lost"
    start = (
        "" if divergence.location.token_index is None else f" from token {about}{divergence.location.token_index} on"
    )
    block = divergence.location.block_index
    blocks = f" (block {block})" if block is not None and exact else ""
    if step.against == step.request:
        worlds = (step.under or "").split(" against ")
        head = f"request {step.request} is not the same under {' and '.join(worlds)}"
    else:
        head = f"request {step.request} does not continue request {step.against}{under}"
    where = "" if divergence.cause == "generation_prompt" else f" in {place(divergence)}"
    what = f"{CAUSES[divergence.cause]}{where}, {_ORIGINS[divergence.origin]}"
    return f"{head}: {what}; {lost}{start}{blocks}"


def lost_most(step: Step, divergence: Divergence, *, accepted: bool, exact: bool) -> str:
    """Where a check loses most, whether it fails for it or not."""
    about = "" if exact else "about "
    where = "" if divergence.cause == "generation_prompt" else f" in {place(divergence)}"
    what = f"{CAUSES[divergence.cause]}{where}{' (accepted)' if accepted else ''}"
    return f"most at request {step.request}, {about}{number(step.tokens - step.shared_tokens, 'token')}: {what}"


def missing_sentence(missing: Sequence[Missing]) -> str:
    """What the prompt does not say although the request does."""
    tools = [m.name for m in missing if m.what == "tools"]
    rest = [m for m in missing if m.what != "tools"]
    parts = []
    if tools:
        parts.append(f"tools {', '.join(tools[:6])}{' …' if len(tools) > 6 else ''}")
    parts += [f"{m.what} {m.path} ({m.name})" for m in rest[:3]]
    if len(rest) > 3:
        parts.append(f"{len(rest) - 3} more")
    return f"not rendered: the template leaves out {'; '.join(parts)}; the model never sees what you send there"
