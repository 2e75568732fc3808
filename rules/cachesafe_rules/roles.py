"""Tests for the role of a message."""

from __future__ import annotations

from cachesafe_rules.expressions import last_part
from cachesafe_rules.model import Condition, Expr

__all__ = ["is_search"]


def _names_role(expr: Expr) -> bool:
    """`m["role"]`, `m.get("type")`, `m.role`."""
    if expr.kind == "attribute":
        return last_part(expr.name) in ("role", "type")
    key = expr.items[1] if expr.kind == "subscript" else None
    if expr.call is not None and last_part(expr.call.name) == "get" and expr.call.args:
        key = expr.call.args[0]
    return key is not None and key.value in ("role", "type")


def _of_people(conditions: tuple[Condition, ...]) -> bool:
    """`if m["role"] == "user"`."""
    for condition in conditions:
        test = condition.test
        if (
            condition.kind == "if"
            and test is not None
            and not condition.negated
            and test.kind == "operation"
            and test.name == "=="
            and len(test.items) == 2
            and _names_role(test.items[0])
            and _is_people(test.items[1])
        ):
            return True
    return False


def _is_people(role: Expr) -> bool:
    """`"user"`, `USER`, `Role.HUMAN`."""
    value = role.value if isinstance(role.value, str) else last_part(role.name)
    return value.lower() in ("user", "human", "role_user")


def is_search(iterable: Expr, conditions: tuple[Condition, ...]) -> bool:
    """`for m in reversed(messages): if m["role"] == "user"`: the newest question is looked for."""
    call = iterable.call
    return call is not None and last_part(call.name) == "reversed" and _of_people(conditions)
