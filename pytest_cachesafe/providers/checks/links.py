"""Which request is compared with which: conversations, with switches of model or interface inside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_cachesafe.messages import conversations
from pytest_cachesafe.prompt import Chat
from pytest_cachesafe.providers.checks.requests import Asked

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
        item.parent = None if parent is None else known[parent].index
    number = 0
    by_index = {item.index: item for item in asked}
    for item in asked:
        if item.parent is None:
            item.conversation, number = number, number + 1
        else:
            item.conversation = by_index[item.parent].conversation


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
    return one.messages == other.messages and one.tools == other.tools
