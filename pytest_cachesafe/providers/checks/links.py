"""Which request is compared with which: conversations, with switches of model or interface inside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_cachesafe.messages import conversations
from pytest_cachesafe.prefix.causes import SELF_CHANGING
from pytest_cachesafe.prefix.common import common_prefix
from pytest_cachesafe.prompt import Chat
from pytest_cachesafe.providers.checks.content import tool_name
from pytest_cachesafe.providers.checks.requests import Asked
from pytest_cachesafe.values import classify_change

__all__ = ["link"]


def link(asked: Sequence[Asked]) -> None:
    """Give every request its parent and its conversation, numbered in the order of first requests.

    A request is compared with the one of its own model and interface that it continues. Only where there is none may
    it continue one of another model: then that switch is what has happened. A request that holds no answer yet is
    such a continuation only if it is the other one to the letter, for the same question is also asked on purpose.
    """
    known = [item for item in asked if item.chat is not None]
    own = _parents([item.chat for item in known if item.chat is not None])
    any_model: list[int | None] | None = None
    for position, item in enumerate(known):
        parent = own[position]
        if parent is None and item.chat is not None and len({_identity(k) for k in known[: position + 1]}) > 1:
            if any_model is None:
                # Without model and format, the messages alone decide.
                any_model = _parents([_plain(k.chat) for k in known if k.chat is not None])
            parent = any_model[position]
            if parent is not None and not _continues(known[parent], item):
                parent = None
            if parent is not None and parent in own and _fresh(item):
                # That conversation goes on with its own model: this one is another run of the same.
                parent = None
        item.parent = None if parent is None else known[parent].index
    for item in known:
        if item.parent is not None and _is_another_agent(asked[item.parent], item, asked):
            item.parent = None
    _part_chats(asked)
    number = 0
    by_index = {item.index: item for item in asked}
    for item in asked:
        if item.parent is None:
            item.conversation, number = number, number + 1
        else:
            item.conversation = by_index[item.parent].conversation


def _is_another_agent(earlier: Asked, later: Asked, asked: Sequence[Asked]) -> bool:
    """Whether two agents were asked the same, rather than one agent asked twice with another system text.

    That is so where their tools differ as well, or where the first one goes on later as it was. A text that changes by
    itself (a time, an id) is one agent's in any case.
    """
    if not _fresh(later) or not _fresh(earlier):
        return False
    one, other = _texts(earlier, "system"), _texts(later, "system")
    if one == other or classify_change(one, other, common_prefix(one, other))[0] in SELF_CHANGING:
        return False
    if _names(earlier) != _names(later):
        return True
    return any(not _fresh(a) and _texts(a, "system") == one for a in asked[later.index + 1 :])


def _part_chats(asked: Sequence[Asked]) -> None:
    """Take apart chats that open with the same question, each with a system text that it keeps from turn to turn.

    An id or a time that is pinned for each session makes texts that differ between chats, and breaks none of them. Only
    a chat that goes on shows whether its text is pinned: where all of them hold but the one question, or none keeps its
    text, it may as well be one that asks the same again.
    """
    roots: list[int] = []
    for item in asked:
        roots.append(item.index if item.parent is None else roots[item.parent])
    again = [i for i in asked if i.parent is not None and _opens(i, asked[i.parent], asked[roots[i.index]])]
    if not again:
        return
    inside = {roots[item.index] for item in again}
    texts = {item.index: _texts(item, "system") for item in asked if roots[item.index] in inside}
    kept = {
        roots[item.index]
        for item in asked
        if item.index in texts
        and item.parent is not None
        and not _opens(item, asked[item.parent], asked[roots[item.index]])
        and texts[item.index] == texts[item.parent]
    }
    for item in again:
        if item.parent is not None and roots[item.index] in kept and texts[item.index] != texts[item.parent]:
            item.parent = None
            item.parted = True


def _opens(item: Asked, parent: Asked, first: Asked) -> bool:
    """Whether a request opens a chat as another one was opened: with a question, after the same examples."""
    if _fresh(item) and _fresh(parent):
        return True
    said, opening = _said(item), _said(first)
    return len(said) == len(opening) and said[:-1] == opening[:-1]


def _said(item: Asked) -> list[Any]:
    return [] if item.chat is None else [m for m in item.chat.messages if m.get("role") not in ("system", "developer")]


def _fresh(item: Asked) -> bool:
    """Whether nothing but the user has spoken."""
    return item.chat is not None and all(m.get("role") in ("system", "developer", "user") for m in item.chat.messages)


def _texts(item: Asked, level: str) -> str:
    return "\n".join(block.text for block in item.layout.blocks if block.level == level)


def _names(item: Asked) -> set[str]:
    return {tool_name(block.value) for block in item.layout.blocks if block.level == "tools"}


def _parents(chats: Sequence[Chat]) -> list[int | None]:
    found: list[int | None] = [None] * len(chats)
    for group in conversations(chats):
        for edge in group:
            found[edge[0]] = edge.parent
    return found


def _identity(item: Asked) -> tuple[str | None, str]:
    return item.exchange.model, item.exchange.api


def _plain(chat: Chat) -> Chat:
    return replace(chat, model=None, wire="messages")


def _continues(earlier: Asked, later: Asked) -> bool:
    if _identity(earlier) == _identity(later):
        # Its own model knows it as another conversation.
        return False
    one, other = earlier.chat, later.chat
    if one is None or other is None:
        return False
    if any(m.get("role") in ("assistant", "tool") for m in other.messages):
        return True
    if earlier.exchange.provider != later.exchange.provider:
        # Models are compared that way.
        return False
    return one.messages == other.messages and one.tools == other.tools
