"""Where the first message of a chat is written anew."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.changing import changing_value
from cachesafe_rules.expressions import is_history, last_part, walk
from cachesafe_rules.history_edits import Edit, is_content, is_free, senders
from cachesafe_rules.kept import holds_sent
from cachesafe_rules.model import Expr
from cachesafe_rules.shape import Shape

__all__ = ["first_rewritten"]


def first_rewritten(shape: Shape) -> Iterator[Edit]:
    """`messages[0]["content"] = …` with a text of the turn."""
    sends = senders(shape)
    for binding in shape.view.bindings:
        target, value = binding.target, binding.value
        if target is None or value is None or binding.function not in sends or binding.operator not in ("=", "+="):
            continue
        root = target.items[0] if is_content(target) and target.items else target
        if root.kind != "subscript" or root.items[1].value not in (0, 1) or not is_history(root.items[0]):
            continue
        if root.items[1].kind != "constant" or isinstance(root.items[1].value, bool):
            continue
        if not is_free(shape, binding.function, binding.conditions):
            continue
        if not holds_sent(shape, binding.function, root.items[0]):
            continue
        if value.kind == "dict":
            value = value.entries.get("content", value)
        if value.call is not None and value.call.args and last_part(value.call.name).endswith("Message"):
            value = value.call.args[0]
        if any(_is_cut(part) for part in walk(value)):
            # What stands behind a marker in it is taken off.
            continue
        if found := changing_value(shape, binding.function, value):
            yield binding.span, f"the first message is rewritten with {found}", binding.function, root.items[0]


def _is_cut(expr: Expr) -> bool:
    """`text[:place]`."""
    if expr.kind != "subscript" or expr.items[1].kind != "slice":
        return False
    lower, upper, _ = expr.items[1].items
    return lower.kind == "constant" and lower.value is None and upper.kind in ("name", "call")
