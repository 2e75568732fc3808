"""Whether a list of messages lasts from turn to turn: only of such a list a cut moves the front of each request."""

from __future__ import annotations

from cachesafe_rules.expressions import last_part, name_words, walk
from cachesafe_rules.model import Condition
from cachesafe_rules.shape import Part, Shape

__all__ = ["begins", "is_short"]

_REQUESTED = frozenset({"messages", "contents", "input"})
_LOADS = frozenset({"load", "reload", "restore", "resume"})


def begins(shape: Shape, part: Part) -> bool:
    """Whether code there runs once for an object: what it takes of an older chat is where the new one begins.

    Such are constructors, and functions that fill an attribute with what they load.
    """
    name = last_part(part.function)
    if name in ("__init__", "__post_init__", "model_post_init"):
        return True
    if _LOADS.isdisjoint(name_words(name)):
        return False
    return any(
        item.function == part.function
        and item.target is not None
        and item.target.kind == "attribute"
        and item.value is not None
        and any(inner.span == part.expr.span for inner in walk(item.value))
        for item in shape.view.bindings
    )


def is_short(shape: Shape, part: Part) -> bool:
    """Whether the function begins the list that is cut anew, and nothing but single messages, outside of loops, is
    written into it anywhere: then it has as many messages in each request."""
    cut = part.expr.items[0]
    if cut.kind not in ("name", "attribute") or _loops(part.conditions):
        return False
    begun = False
    for item in shape.bindings(part.function, cut):
        if item.value is None or item.operator != "=" or _loops(item.conditions):
            return False
        if item.value.kind == "list" and not any(inner.kind == "star" for inner in item.value.items):
            here = item.function == part.function and item.span.row < part.span.row
            begun = begun or (here and not any(c.kind in ("if", "left", "except") for c in item.conditions))
        elif item.value is not part.expr:
            return False
    grown = shape.mutations(part.function, cut)
    if any(
        last_part(call.name) != "append" or call.function != part.function or _loops(call.conditions) for call in grown
    ):
        return False
    # Whoever is handed the list itself may fill it; a request only reads it.
    calls = [call for call in shape.view.calls if call.function == part.function and last_part(call.name) != "len"]
    given = [arg.name for call in calls for arg in call.args]
    given += [value.name for call in calls for word, value in call.keywords.items() if word not in _REQUESTED]
    return begun and cut.name not in given


def _loops(conditions: tuple[Condition, ...]) -> bool:
    return any(condition.kind in ("for", "while") for condition in conditions)
