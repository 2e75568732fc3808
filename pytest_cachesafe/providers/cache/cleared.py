"""What a provider takes out of a request by itself before its model reads it: then what was sent says little.

Anthropic: "Context editing" (`clear_tool_uses_20250919`, `clear_thinking_20251015`) and "Compaction"
(`compact_20260112`, read 2026-11-30), and the beta types of the anthropic SDK 2.14. Old tool results and thinking give
way to a placeholder, or everything before a compaction block is dropped; the caller goes on sending all of it. A reply
lists what was done under `context_management.applied_edits`, or holds the compaction block. OpenAI's Responses do the
latter with an item of type `compaction`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_cachesafe.providers.blocks.block import Block
from pytest_cachesafe.providers.cache.usage import Tokens
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["cleared", "may_clear"]

# "Context editing", "Compaction": input tokens from which on an edit without a trigger of its own is made, and how many
# tool uses, and turns with thinking, are left.
_TRIGGERS = {"clear_tool_uses_20250919": 100_000, "compact_20260112": 150_000}
_KEPT_USES = 3
_KEPT_TURNS = 1


def cleared(exchange: Exchange) -> str | None:
    """What the provider took out of a request, in words, as the reply or the request says; None: nothing is known."""
    reply = exchange.reply
    if isinstance(reply, Mapping):
        managed = reply.get("context_management")
        edits = managed.get("applied_edits") if isinstance(managed, Mapping) else None
        names = dict.fromkeys(str(edit.get("type", "an edit")) for edit in _maps(edits))
        if names:
            return f"the provider took something out of it ({', '.join(names)})"
        if any(_compacts(block) for key in ("content", "output") for block in _maps(reply.get(key))):
            return "the provider summarised it (compaction)"
    where = _behind_compaction(exchange)
    return None if where is None else f"the provider leaves out what stands before the compaction at {where}"


def may_clear(exchange: Exchange, blocks: Sequence[Block], total: Tokens) -> bool | None:
    """Whether the edits that a request asks for are made: surely, surely not, or not known (None).

    Args:
        exchange: the request; what a real reply says of it counts, see `cleared`.
        blocks: its blocks; total: its input tokens as sent.
    """
    managed = exchange.body.get("context_management")
    edits = list(_maps(managed.get("edits") if isinstance(managed, Mapping) else managed))
    if not edits:
        return False
    if exchange.reply is not None and not exchange.predicted:
        # A reply that lists nothing made none.
        return cleared(exchange) is not None
    answers = [_made(edit, blocks, total) for edit in edits]
    return True if True in answers else None if None in answers else False


def _made(edit: Mapping[str, Any], blocks: Sequence[Block], total: Tokens) -> bool | None:
    name = edit.get("type")
    if name == "clear_thinking_20251015":
        turns = _number(edit.get("keep"), _KEPT_TURNS)
        thinking = {b.message_index for b in blocks if b.kind in ("thinking", "redacted_thinking")}
        # Which messages make one turn is left to the provider: more of them than turns are kept may still be one.
        return False if edit.get("keep") == "all" or len(thinking) <= turns else None
    uses = sum(block.kind == "tool_use" for block in blocks)
    trigger = edit.get("trigger", edit.get("compact_threshold"))
    by_uses = isinstance(trigger, Mapping) and trigger.get("type") == "tool_uses"
    limit = _number(trigger, _TRIGGERS.get(str(name), min(_TRIGGERS.values())))
    reached = uses > limit if by_uses else total.at_least(limit)
    if name != "clear_tool_uses_20250919":
        return reached
    if reached is False or uses <= _number(edit.get("keep"), _KEPT_USES):
        return False
    return None if edit.get("clear_at_least") or edit.get("exclude_tools") else reached


def _number(value: Any, otherwise: int) -> int:
    if isinstance(value, Mapping):
        value = value.get("value")
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _behind_compaction(exchange: Exchange) -> str | None:
    """Path of the last compaction block that has messages in front of it."""
    found = None
    if exchange.api in ("messages", "invoke"):
        for i, message in enumerate(_maps(exchange.body.get("messages"))):
            for j, block in enumerate(_maps(message.get("content"))):
                if _compacts(block) and (i or j):
                    found = f"messages[{i}].content[{j}]"
    elif exchange.api == "responses":
        for i, item in enumerate(_maps(exchange.body.get("input"))):
            if i and _compacts(item):
                found = f"input[{i}]"
    return found


def _compacts(block: Mapping[str, Any]) -> bool:
    """Whether a block stands for what was said before it; one without content is a summary that failed."""
    return block.get("type") == "compaction" and bool(block.get("content") or block.get("encrypted_content"))


def _maps(value: Any) -> Iterator[Mapping[str, Any]]:
    return (item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else iter(())
