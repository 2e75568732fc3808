"""What picks tools, or a model, by the newest question: a search, an order by likeness, a table of kinds."""

from __future__ import annotations

from cachesafe_rules.blocks import given_to
from cachesafe_rules.changing import takes_turn
from cachesafe_rules.expressions import is_constant_name, is_history, last_part, name_words, walk, words
from cachesafe_rules.model import Call, Expr
from cachesafe_rules.questions import is_asked, made_of
from cachesafe_rules.shape import Shape
from cachesafe_rules.turns import turn_test

__all__ = ["by_kind", "picked"]

_KIND = frozenset(
    {"kind", "category", "intent", "difficulty", "complexity", "topic", "task", "question", "stage", "phase", "state"}
)
# What is found by a text is another thing for another text; of what is selected that must be seen.
_FINDING = frozenset(
    {"retrieve", "search", "query", "similarity", "similar", "nearest", "relevant", "rank", "retriever"}
)
_PICKING = frozenset({"pick", "select", "choose", "closest", "top", "best", "match", "matching"})
_SORTS = frozenset({"sorted", "nlargest", "nsmallest"})


def picked(shape: Shape, function: str, expr: Expr) -> str | None:
    """A search for tools by the newest text, or a table that is asked for its kind."""
    if expr.kind == "subscript" and is_constant_name(expr.items[0]):
        return by_kind(shape, function, expr.items[1])
    call = expr.call
    if call is None:
        return None
    if last_part(call.name) == "get" and call.receiver is not None and is_constant_name(call.receiver) and call.args:
        return by_kind(shape, function, call.args[0])
    given = (*call.args, *call.keywords.values())
    if call.name in _SORTS or last_part(call.name) in _SORTS:
        return f"{call.name}()" if _by_text(shape, function, call.keywords.get("key")) else None
    if local := shape.local_function(call, function):
        return f"{call.name}()" if _searches(shape, function, call, local) else None
    if _FINDING.isdisjoint(name_words(last_part(call.name))) and "retriever" not in name_words(call.name):
        return None
    asked = any(takes_turn(shape, function, arg) or is_asked(shape, function, arg) for arg in given)
    return f"{call.name}()" if asked else None


def _by_text(shape: Shape, function: str, key: Expr | None) -> bool:
    """Whether the order of tools is worked out with the newest text, and not only with the tools themselves."""
    parts = [part for part in walk(key) if part.kind == "name"] if key is not None else []
    return any(is_asked(shape, function, part) for part in parts)


def _searches(shape: Shape, function: str, call: Call, local: str) -> bool:
    """Whether a helper gives back what it finds for the newest text: by a search, or worked out of it under a name that
    says so."""
    given = given_to(shape, local, call, function)
    asked = {name for name, (value, _) in given.items() if takes_turn(shape, function, value) and not is_history(value)}
    values = [item.value for item in shape.returns(local) if item.value is not None]
    if asked.isdisjoint(made_of(shape, local, values)):
        return False
    if not (_FINDING | _PICKING).isdisjoint(name_words(last_part(local))):
        return True
    return any(
        found.function == local
        and not _FINDING.isdisjoint(name_words(found.name))
        and not asked.isdisjoint(word.name for arg in (*found.args, *found.keywords.values()) for word in walk(arg))
        for found in shape.view.calls
    )


def by_kind(shape: Shape, function: str, key: Expr) -> str | None:
    """The key of a table that is the kind of the question, a phase or a counter."""
    called = key.call
    if called is not None and any(takes_turn(shape, function, arg) for arg in called.args):
        return f"{called.name}()"
    if shape.is_parameter(function, key) and not _KIND.isdisjoint(words(key)):
        return key.name
    if key.kind == "operation":
        return turn_test(shape, function, key)
    return None
