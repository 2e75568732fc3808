"""Copies of requests with one thing changed: order, settings, clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pytest_cachesafe.prefix.datadiff import equal
from pytest_cachesafe.prefix.inputs import Item, Plan
from pytest_cachesafe.prefix.toggles import Toggle, permutations, reorder_keys
from pytest_cachesafe.prompt import Chat, UsageError

# Where Gemini keeps several declarations in one entry of the list.
_DECLARED = ("functionDeclarations", "function_declarations")

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
        made = [_with_order(item, toggle.name, n) for item in base.items]
        if any(new is not old for new, old in zip(made, base.items, strict=True)):
            out.append((label, made))
    return out


def _with_order(item: Item, name: str, n: int) -> Item:
    """A request with its tools in the n-th other order; the request itself if it has no such order."""
    if not isinstance(item, Chat):
        return item

    def order(tools: Any) -> Any:
        if not isinstance(tools, list):
            return tools
        nested = [t for t in tools if isinstance(t, Mapping) and any(isinstance(t.get(k), list) for k in _DECLARED)]
        if nested and len(nested) == len(tools):
            return [{k: order(v) if k in _DECLARED else v for k, v in t.items()} for t in tools]
        if name == "schema_keys":
            return [reorder_keys(t) for t in tools] if n == 0 else tools
        orders = permutations(tools)
        return orders[n] if n < len(orders) else tools

    changes: dict[str, Any] = {}
    tools = order(item.tools)
    if not equal(tools, item.tools):
        changes["tools"] = tools
    if item.body is not None:
        body = dict(item.body)
        if "tools" in body:
            body["tools"] = order(body["tools"])
        for holder in ("toolConfig", "config"):
            if isinstance(body.get(holder), Mapping) and "tools" in body[holder]:
                body[holder] = {**body[holder], "tools": order(body[holder]["tools"])}
        if not equal(body, dict(item.body)):
            changes["body"] = body
    return replace(item, **changes) if changes else item


def changed(item: Item, **changes: Any) -> Item:
    """A copy of a request with other settings or another clock; prompts have neither."""
    if not isinstance(item, Chat):
        return item
    if "settings" in changes:
        changes["settings"] = {**item.settings, **changes["settings"]}
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
