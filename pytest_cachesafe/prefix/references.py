"""Requests that were collected by reference: one list object stands for several of them and shows its last state only.

A mock's recorded calls are the usual way to get there: it keeps the arguments, not copies of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_cachesafe.prompt import Chat, UsageError

__all__ = ["refuse_shared"]

_LISTS = ("messages", "input", "contents", "prompt_token_ids")


def refuse_shared(requests: Sequence[Any]) -> None:
    """Refuse requests of which several hold the very same list: edits between them would go unseen.

    Raises:
        UsageError: naming the requests, counted from 0.
    """
    holders: dict[int, list[int]] = {}
    for index, request in enumerate(requests):
        held = _list_of(request)
        if held is not None:
            holders.setdefault(id(held), []).append(index)
    shared = next((found for found in holders.values() if len(found) > 1), None)
    if shared is not None:
        raise UsageError(
            f"requests {_names(shared)} hold the same list object: they were recorded by reference and all show its "
            "last state; copy the messages when they are sent (copy.deepcopy(messages)), or use a Recording, which does"
        )


def _list_of(request: Any) -> list[Any] | None:
    if isinstance(request, list):
        return request
    if isinstance(request, Chat):
        return request.messages or None
    if isinstance(request, Mapping):
        # A message, not a request: its content may be shared.
        if "role" in request or "type" in request:
            return None
        return next((request[key] for key in _LISTS if isinstance(request.get(key), list)), None)
    held = getattr(request, "messages", None)
    return held if isinstance(held, list) else None


def _names(found: list[int]) -> str:
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"{found[0]} to {found[-1]}"
    shown = found if len(found) <= 6 else [*found[:5], f"{len(found) - 5} more"]
    return " and ".join(filter(None, [", ".join(map(str, shown[:-1])), str(shown[-1])]))
