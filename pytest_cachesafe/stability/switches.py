"""Chats that go on with another model: nothing of their prefix is reused, and no comparison of prompts shows it."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_cachesafe.prefix.datadiff import equal
from pytest_cachesafe.prefix.inputs import Plan
from pytest_cachesafe.prompt import Chat

__all__ = ["model_switches"]


def model_switches(base: Plan, resets: Sequence[int], *, rendered: bool) -> list[str]:
    """A sentence for each conversation of a recording that continues a chat begun with another model.

    For requests given otherwise: one for the first that goes to another model than the request it continues.

    `resets` are requests at which a declared reset happened: those are meant. `rendered`: through one chat template,
    which does not show the model's name (the wire front end does).
    """
    if base.kind != "recording":
        return _rendered_alike(base, resets) if rendered else []
    out: list[str] = []
    begun: list[Chat] = []
    for pair in sorted(base.pairs):
        chat = base.items[pair.request]
        if pair.against is not None or not isinstance(chat, Chat) or chat.raw is not None:
            continue
        earlier = next((other for other in begun if _same_chat(other, chat)), None)
        begun.append(chat)
        # One question put to several models is a comparison of models; a chat with answers in it goes on.
        continues = any(message.get("role") == "assistant" for message in chat.messages)
        if earlier is not None and continues and pair.request not in resets:
            out.append(
                f"the model changes inside a chat at request {pair.request} ({earlier.model} to {chat.model}): nothing "
                "of the prefix is reused there, and the requests of each model were judged apart"
            )
    return out


def _rendered_alike(base: Plan, resets: Sequence[int]) -> list[str]:
    """Requests to two models that one template renders alike: equal ids, and yet no cache serves both."""
    for request, against in base.pairs:
        chat, before = base.items[request], base.items[against] if against is not None else None
        if not isinstance(chat, Chat) or not isinstance(before, Chat) or request in resets:
            continue
        if chat.model and before.model and chat.model != before.model:
            return [
                f"request {request} goes to model {chat.model}, request {against} to {before.model}: one template "
                "renders both, but caches are per model"
            ]
    return []


def _same_chat(one: Chat, other: Chat) -> bool:
    if one.key != other.key or one.model == other.model or not one.model or not other.model:
        return False
    first, second = (
        next((m for m in chat.messages if m.get("role") not in ("system", "developer")), None) for chat in (one, other)
    )
    return first is not None and second is not None and equal(first, second)
