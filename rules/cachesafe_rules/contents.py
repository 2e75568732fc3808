"""What holds the text of a message."""

from __future__ import annotations

from cachesafe_rules.expressions import last_part
from cachesafe_rules.model import Expr

__all__ = ["is_content"]

_CONTENT = frozenset({"content", "text", "parts"})


def is_content(expr: Expr) -> bool:
    """`m["content"]`, `m.text`, `m.get("parts")`."""
    if expr.kind == "attribute":
        return last_part(expr.name) in _CONTENT
    if expr.kind == "subscript":
        return expr.items[1].value in _CONTENT
    call = expr.call
    return call is not None and last_part(call.name) == "get" and bool(call.args) and call.args[0].value in _CONTENT
