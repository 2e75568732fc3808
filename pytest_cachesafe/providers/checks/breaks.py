"""One request against the one it continues: the first thing, in the provider's order, that voids what was cached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.findings import Origin, Severity
from pytest_cachesafe.providers.blocks.block import Block
from pytest_cachesafe.providers.checks.content import Contents, Difference
from pytest_cachesafe.providers.checks.requests import Asked
from pytest_cachesafe.providers.checks.settings import ALL, MESSAGES, SYSTEM, TOOLS, Change, Rank, changes

if TYPE_CHECKING:
    from pytest_cachesafe.prefix.compare import Divergence

__all__ = ["Break", "breaks_between", "first_lost", "stripped"]

# How many earlier requests of a conversation an agent may come back to.
_RECENT = 16


@dataclass(slots=True)
class Break:
    """Why a request does not find what the request before wrote. `index`: its first block that is not there again."""

    code: str
    request: int
    against: int
    path: str
    rank: Rank
    cause: str | None = None
    origin: Origin = "application"
    # A change that comes once a day is a note whatever its code.
    note: bool = False
    before: Any = None
    after: Any = None
    divergence: Divergence | None = None
    # Which tools came and went.
    detail: str = ""
    # Whether the block that changed carries a marker, with none in front of it.
    marked: bool = False
    # The first block that is lost, where blocks do not tell.
    index: int | None = None


def breaks_between(asked: Sequence[Asked], item: Asked, contents: Contents) -> list[Break]:
    """What is worth a note, then at most one break; nothing where the request continues its parent."""
    if item.parent is None or item.chat is None:
        return []
    if _asked_anew(asked[item.parent], item):
        return []
    found = _against(asked[item.parent], item, contents)
    if any(b.code == "handoff" for b in found):
        # The agent that had the conversation before the last handoff finds its own prefix again.
        for earlier in _earlier(asked, item):
            back = _against(earlier, item, contents)
            if all(b.note for b in back):
                item.parent = earlier.index
                return back
    return found


def _asked_anew(parent: Asked, item: Asked) -> bool:
    """Whether two requests differ in nothing but the user's newest message: two branches of one history.

    Nothing that anybody was to read again comes after it, and what stands before it is read.
    """
    one, other = parent.layout.blocks, item.layout.blocks
    at = shared_blocks(parent, item)
    if at >= len(one) or at >= len(other) or parent.exchange.model != item.exchange.model:
        return False
    if parent.layout.settings != item.layout.settings:
        return False
    ends = [
        {(b.level, b.role, b.message_index, b.kind == "tool_result") for b in blocks[at:]} for blocks in (one, other)
    ]
    newest = ("messages", "user", one[at].message_index, False)
    # With nothing in front, or the start of the same message, it is a beginning that changed.
    return ends == [{newest}, {newest}] and at > 0 and one[at - 1].role == "assistant"


def _earlier(asked: Sequence[Asked], item: Asked) -> list[Asked]:
    same = [a for a in asked[: item.index] if a.conversation == item.conversation and a.index != item.parent]
    return [a for a in reversed(same) if a.chat is not None][:_RECENT]


def _against(parent: Asked, item: Asked, contents: Contents) -> list[Break]:
    told = (
        []
        if parent.shows("settings") and item.shows("settings")
        else ["model-changed", "endpoint-changed", "provider-changed"]
    )
    changed = changes(parent.exchange, parent.layout, item.exchange, item.layout)
    settings = [_of_setting(c, parent, item) for c in changed if not told or c.code in told]
    if settings and settings[0].code in ("endpoint-changed", "provider-changed"):
        return settings[:1]
    assert parent.chat is not None
    assert item.chat is not None
    differences: list[Difference] = []
    if shared_blocks(parent, item) < min(len(parent.layout.blocks), len(item.layout.blocks)):
        # Blocks are equal exactly if their canonical texts are; where none differs there is no need to write them out.
        differences = contents.differences(parent.index, parent.chat, item.index, item.chat)
    content = [_of_content(d, parent, item) for d in differences if _costs(d, parent, item)]
    notes = [b for b in content if b.note]
    worse = sorted([*settings, *(b for b in content if not b.note)], key=lambda b: b.rank)
    return [*notes, *worse[:1]]


def _costs(difference: Difference, parent: Asked, item: Asked) -> bool:
    """A text that only goes on (a prefilled answer, a question that was lengthened) costs the entry at its end."""
    if difference.divergence.scope != "tail":
        return True
    return any(block.marker is not None for block in parent.layout.blocks[shared_blocks(parent, item) :])


def _of_setting(change: Change, parent: Asked, item: Asked) -> Break:
    return Break(
        change.code, item.index, parent.index, change.path, change.rank, "setting_changed",
        before=change.before, after=change.after,
    )  # fmt: skip


def _of_content(difference: Difference, parent: Asked, item: Asked) -> Break:
    divergence = difference.divergence
    return Break(
        difference.code, item.index, parent.index, difference.path or _lost_path(parent, item), difference.rank,
        difference.cause, difference.origin, difference.severity is Severity.NOTE,
        divergence.before, divergence.after, divergence, difference.detail,
        marked=difference.rank == SYSTEM and _first_marked(parent, item),
    )  # fmt: skip


def _lost_path(parent: Asked, item: Asked) -> str:
    """Where the first block stood that is not there again."""
    at = shared_blocks(parent, item)
    return parent.layout.blocks[at].path if at < len(parent.layout.blocks) else ""


def _first_marked(parent: Asked, item: Asked) -> bool:
    """Whether the first block that differs carries a marker in both requests, and none in front of it does."""
    one, other = parent.layout.blocks, item.layout.blocks
    at = shared_blocks(parent, item)
    if at >= len(one) or at >= len(other) or any(b.marker for b in (*one[:at], *other[:at])):
        return False
    return all(b.marker is not None and b.marker.explicit for b in (one[at], other[at]))


def stripped(parent: Asked, item: Asked) -> Break | None:
    """Thinking that the provider itself takes out of an unbroken request, for models that do not keep it.

    That is what was thought since the user's last words, once new words of the user follow ("Prompt caching", caching
    with thinking blocks); thinking from before was taken out earlier.
    """
    blocks = parent.layout.blocks
    start = max((i for i, block in enumerate(blocks) if _speaks(block)), default=-1)
    thought = next((i for i, b in enumerate(blocks) if i > start and b.kind in ("thinking", "redacted_thinking")), None)
    if thought is None or not any(_speaks(block) for block in item.layout.blocks[len(blocks) :]):
        return None
    code, path = "thinking-stripped", blocks[thought].path
    return Break(
        code, item.index, parent.index, path, MESSAGES, "reasoning_dropped", "provider", note=True, index=thought
    )


def _speaks(block: Block) -> bool:
    return block.level == "messages" and block.role == "user" and block.kind != "tool_result"


def shared_blocks(a: Asked, b: Asked) -> int:
    """How many blocks two requests begin with alike."""
    n = 0
    for one, other in zip(a.layout.blocks, b.layout.blocks):  # noqa: B905 (as far as both go)
        if one.key != other.key:
            break
        n += 1
    return n


def first_lost(found: Break, parent: Asked, item: Asked) -> int:
    """Index of the parent's first block that is not read again because of a break."""
    blocks = parent.layout.blocks
    if found.index is not None:
        return found.index
    if found.rank == ALL:
        return 0
    if found.rank in (TOOLS, SYSTEM, MESSAGES):
        return min(shared_blocks(parent, item), len(blocks))
    level = ("system", "messages") if found.rank < SYSTEM else ("messages",)
    return next((i for i, block in enumerate(blocks) if block.level in level), len(blocks))
