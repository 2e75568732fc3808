"""Copies of requests with one thing changed: order, settings, clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pytest_cachesafe.prefix.inputs import Item, Plan
from pytest_cachesafe.prefix.toggles import Toggle, permutations, reorder_keys
from pytest_cachesafe.prompt import Chat, UsageError

__all__ = ["changed", "freeze", "frozen_like", "permuter", "reordered"]


def permuter(name: str, n: int) -> Callable[[Sequence[Any]], list[Any]]:
    """How `turn.order` permutes while an order toggle is on; short sequences stay as they are."""

    def permute(items: Sequence[Any]) -> list[Any]:
        if name == "schema_keys":
            return [reorder_keys(item) for item in items]
        orders = permutations(items)
        return orders[min(n, len(orders) - 1)] if orders else list(items)

    return permute


def reordered(toggle: Toggle, base: Plan) -> list[tuple[Any, list[Item]]]:
    """Order toggles over given requests: their tools, permuted."""
    if toggle.name not in ("tools", "schema_keys"):
        raise UsageError(
            f"Toggle.order({toggle.name!r}) over given requests: only 'tools' and 'schema_keys' can be permuted; "
            "use a builder"
        )
    out: list[tuple[Any, list[Item]]] = []
    for n, label in enumerate(("reversed", "moved by one")):
        items: list[Item] = []
        differs = False
        for item in base.items:
            tools = item.tools if isinstance(item, Chat) else None
            orders = (
                [[reorder_keys(t) for t in tools]]
                if tools and toggle.name == "schema_keys"
                else permutations(tools or [])
            )
            if n < len(orders):
                differs = True
                item = changed(item, tools=orders[n])
            items.append(item)
        if differs:
            out.append((label, items))
    return out


def changed(item: Item, **changes: Any) -> Item:
    """A copy of a request with other settings, tools or clock; prompts have none of them."""
    if not isinstance(item, Chat):
        return item
    if "settings" in changes:
        changes["settings"] = {**item.settings, **changes["settings"]}
    if "tools" in changes and item.body is not None and "tools" in item.body:
        order = changes["tools"]
        places = [next(i for i, t in enumerate(item.tools or []) if t is tool) for tool in order] if all(
            any(t is tool for t in item.tools or []) for tool in order
        ) else None  # fmt: skip
        listed = item.body["tools"]
        body_tools = [listed[i] for i in places] if places and len(places) == len(listed) else reorder_keys(listed)
        changes["body"] = {**item.body, "tools": body_tools}
    return replace(item, **changes)


def freeze(items: Sequence[Item], now: datetime) -> None:
    """One clock for all requests that name none: midnight must not fall into a test by accident."""
    for item in items:
        if isinstance(item, Chat) and item.now is None:
            item.now = now


def frozen_like(items: Sequence[Item], base: Sequence[Item]) -> list[Item]:
    now = next((item.now for item in base if isinstance(item, Chat) and item.now is not None), datetime.now())
    freeze(items, now)
    return list(items)
