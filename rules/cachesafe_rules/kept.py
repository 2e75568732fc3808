"""Whether a list holds messages that were sent before: only then it costs something to move or to change them."""

from __future__ import annotations

from cachesafe_rules.expressions import is_history, last_part, name_words, walk
from cachesafe_rules.model import Call, Condition, Expr
from cachesafe_rules.shape import Shape

__all__ = ["holds_sent"]

_COPIES = frozenset({"list", "tuple", "copy", "deepcopy", "reversed", "sorted", "filter", "enumerate"})
_READS = frozenset({"get", "load", "read", "fetch", "list", "recent", "query", "find", "retrieve"})
_STORES = frozenset(
    {"memory", "history", "messages", "chat", "conversation", "session", "thread", "transcript", "turns", "dialog"}
)
_HOLDERS = _STORES | {
    "state", "request", "req", "body", "ctx", "context", "data", "payload", "input", "inputs", "agent", "params",
    "event", "run", "user", "client", "llm", "bot", "model", "env", "task", "result", "response", "app", "st",
}  # fmt: skip
_DEPTH = 5


def holds_sent(shape: Shape, function: str, expr: Expr) -> bool:
    """Whether a list visibly comes from earlier requests.

    Such are a parameter called like a chat that callers must give or do give such a list, an attribute or item called
    like one (`self.messages`, `state["messages"]`) that the function does not begin anew, what is read from a memory,
    a list that a loop sends and appends to, and copies, slices and filters of these.
    """
    return _holds(shape, function, expr, _DEPTH, set())


def _holds(shape: Shape, function: str, expr: Expr, depth: int, seen: set[tuple[str, str]]) -> bool:
    """The same; a name is looked up once, however often it is bound to what is made of itself."""
    if depth < 1:
        return False
    if expr.kind == "star" or (expr.kind == "subscript" and expr.items[1].kind == "slice"):
        return _holds(shape, function, expr.items[0], depth, seen)
    if expr.kind == "comprehension":
        return _holds(shape, function, expr.generators[0].iterable, depth - 1, seen)
    if expr.kind in ("list", "operation", "conditional"):
        parts = [item for item in expr.items if expr.kind != "list" or item.kind == "star"]
        return any(_holds(shape, function, part, depth - 1, seen) for part in parts)
    if expr.call is not None:
        return _given_back(shape, function, expr.call, depth, seen)
    if expr.kind != "name":
        return is_history(expr) and _of_chat(expr) and not _is_begun(shape, function, expr)
    key = (function, expr.name or "")
    if key in seen:
        return False
    seen.add(key)
    if _is_grown(shape, function, expr):
        return True
    if shape.is_parameter(function, expr):
        given = is_history(expr) and _is_given(shape, function, key[1], depth, seen)
        return given and not _is_begun(shape, function, expr)
    return any(
        bound.value is not None and _holds(shape, bound.function, bound.value, depth - 1, seen)
        for bound in shape.bindings(function, expr)
    )


def _of_chat(expr: Expr) -> bool:
    """Whether an attribute is one of the object itself or of what holds a chat: an error has messages as well."""
    root = (expr.name or "").partition(".")[0]
    return expr.kind != "attribute" or not root or root in ("self", "cls") or not _HOLDERS.isdisjoint(name_words(root))


def _is_begun(shape: Shape, function: str, expr: Expr) -> bool:
    """Whether a function always begins the list anew; `if not self.messages: self.messages = […]` does so once."""
    return any(
        item.function == function
        and item.operator != "+="
        and item.value is not None
        and item.value.kind == "list"
        and not any(part.kind == "star" for part in item.value.items)
        and not any(condition.kind in ("if", "left", "except") for condition in item.conditions)
        for item in shape.bindings(function, expr)
    )


def _given_back(shape: Shape, function: str, call: Call, depth: int, seen: set[tuple[str, str]]) -> bool:
    name = last_part(call.name)
    given = [*call.args, *([call.receiver] if call.receiver is not None else [])]
    if name in _COPIES or shape.local_function(call, function):
        return any(_holds(shape, function, part, depth - 1, seen) for part in given)
    if name == "get" and call.args and call.args[0].kind == "constant":
        # `state.get("messages")`
        return is_history(Expr("call", call.span, call=call))
    words = name_words(call.name)
    return not _READS.isdisjoint(name_words(name)) and not _STORES.isdisjoint(words)


def _is_given(shape: Shape, function: str, name: str, depth: int, seen: set[tuple[str, str]]) -> bool:
    """Whether calls of this file give a parameter such a list; without a call, whether one must be given."""
    known = shape.view.functions[function]
    callers = shape.callers(function)
    if not callers:
        return name not in known.optional
    place = [p for p in known.parameters if p not in ("self", "cls")].index(name)
    for call in callers:
        value = call.keywords.get(name) or (call.args[place] if place < len(call.args) else None)
        if value is not None and _holds(shape, call.function, value, depth - 1, seen):
            return True
    return False


def _is_grown(shape: Shape, function: str, expr: Expr) -> bool:
    """Whether a loop of turns that did not make the list appends to it."""
    made = [id(c.test) for item in shape.bindings(function, expr) for c in item.conditions]
    sent = [id(c.test) for request in shape.requests if request.function == function for c in request.conditions]
    return any(
        last_part(call.name) in ("append", "extend")
        and id(condition.test) not in made
        and (condition.kind == "while" or id(condition.test) in sent or _counts_turns(condition))
        for call in shape.mutations(function, expr)
        for condition in call.conditions
        if condition.kind in ("for", "while") and not is_history(condition.test)
    )


def _counts_turns(loop: Condition) -> bool:
    """`for step in range(9)`; `range(len(rows))` goes through something that is there."""
    call = loop.test.call if loop.test is not None else None
    return call is not None and call.name == "range" and not any(p.call for arg in call.args for p in walk(arg))
