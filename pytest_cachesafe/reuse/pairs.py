"""Which earlier prompt a given prompt continues: an engine serves chats side by side, and so do lists of prompts."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_cachesafe.prefix.inputs import Item, Pair, Plan
from pytest_cachesafe.prompt import Prompt

__all__ = ["continued"]


def continued(plan: Plan) -> Plan:
    """The plan with each rendered prompt against the longest earlier one that it begins with, if there is one.

    Where there is none, it stays against the one before it: what should have continued and does not must be seen. But
    where both go on later, each by itself, they are two chats, and it begins its own.
    """
    if plan.kind != "prompts":
        return plan
    contents = [_content(item) for item in plan.items]
    # The longest earlier prompt that each begins with; of equal ones the latest.
    found: list[int | None] = []
    for i, content in enumerate(contents):
        begun = [j for j in range(i) if _begins(content, contents[j])]
        found.append(max(begun, key=lambda j: (len(contents[j]), j)) if begun else None)
    goes_on = {j for j in found if j is not None}
    pairs = [
        Pair(i, earlier) if earlier is not None else Pair(i, None) if {i, i - 1} <= goes_on else pair
        for i, (earlier, pair) in enumerate(zip(found, plan.pairs, strict=True))
    ]
    return Plan(plan.items, pairs, plan.kind, sum(p.against is None for p in pairs), plan.notes)


def _content(item: Item) -> str | Sequence[int]:
    if isinstance(item, Prompt):
        return item.text or tuple(item.token_ids or ())
    return item.raw if item.raw is not None else ""


def _begins(content: str | Sequence[int], other: str | Sequence[int]) -> bool:
    return bool(other) and type(content) is type(other) and content[: len(other)] == other
