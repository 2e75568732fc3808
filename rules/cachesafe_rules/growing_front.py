"""Whether a chat that is kept gets another message in front on every turn: then all earlier ones move, whatever it
says."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.expressions import is_history, last_part, name_words, walk
from cachesafe_rules.kept import holds_sent
from cachesafe_rules.model import Binding, Call, Condition, Expr, Span
from cachesafe_rules.one_chat import is_sent
from cachesafe_rules.shape import SEND, Request, Shape
from cachesafe_rules.turns import is_setup, is_side_call, overflow_guarded

__all__ = ["answered_requests", "grows_in_front", "is_stored", "put_in_front"]

_TAKES_OUT = frozenset({"pop", "popleft", "remove", "clear"})
_GROWS = frozenset({"append", "extend"})
# A test of such a name lets it come here once.
_ONCE = frozenset({"first", "new", "initial", "start", "started", "fresh", "ready", "is"})


def put_in_front(shape: Shape) -> Iterator[tuple[Span, str, Expr, tuple[Condition, ...]]]:
    """`x[:0] = […]`, and `x = [message, *x]` for the list of an object: where, the function, the list."""
    for binding in shape.view.bindings:
        target = binding.target
        if target is None or binding.value is None or binding.operator != "=":
            continue
        if target.kind == "subscript" and target.items[1].kind == "slice" and _is_before_all(target.items[1]):
            found = target.items[0]
        elif target.kind == "attribute" and _begins_anew(binding):
            found = target
        else:
            continue
        if is_history(found) and holds_sent(shape, binding.function, found):
            yield binding.span, binding.function, found, binding.conditions


def grows_in_front(shape: Shape, function: str, messages: Expr, conditions: tuple[Condition, ...]) -> bool:
    """Whether a statement that puts a message in front of a list runs once for each request of a chat that lives on,
    and nothing takes the message out again."""
    if is_setup(function) or is_side_call(function) or overflow_guarded(shape, function, conditions):
        return False
    places = [(function, conditions)]
    places += [(call.function, (*call.conditions, *conditions)) for call in shape.callers(function)]
    return any(
        request.function == where
        and _is_each_time(shape, where, around, messages, request)
        and not _is_taken_out(shape, {function, where}, messages, request)
        for where, around in places
        for request in answered_requests(shape)
    ) and is_sent(shape, function, messages, conditions)


def answered_requests(shape: Shape) -> list[Request]:
    """The requests of a file, those included whose messages are handed over without a name."""
    known = shape.view.memo.get("answered")
    if isinstance(known, list):
        return known
    out = list(shape.requests)
    for call in shape.view.calls:
        # `llm.invoke(messages)`: the list is not named there.
        if call.args and last_part(call.name) in SEND and (is_history(call.args[0]) or call.args[0].kind == "list"):
            out.append(Request({"messages": call.args[0]}, call.function, call.span, call.conditions, call))
    shape.view.memo["answered"] = out
    return out


def _is_each_time(
    shape: Shape, function: str, conditions: tuple[Condition, ...], messages: Expr, request: Request
) -> bool:
    """Whether the place is reached as often as the request is, of a list that the same turn lets grow behind."""
    if not _holds(shape, request, messages) or not all(_is_open(shape, function, c, messages) for c in conditions):
        return False
    loops = [condition for condition in request.conditions if condition.kind in ("for", "while")]
    if not all(any(other.test is loop.test for other in conditions) for loop in loops):
        # An agent's run, which puts it there once for many requests.
        return False
    grown = [call for call in shape.mutations(function, messages) if call.function == function]
    added = [call.args[0] for call in grown if last_part(call.name) in _GROWS and call.args]
    added += [
        item.value
        for item in shape.bindings(function, messages)
        if item.operator == "+=" and item.function == function and item.value is not None
    ]
    if loops:
        return bool(added)
    return any(_takes_parameter(shape, function, item) for item in added)


def _holds(shape: Shape, request: Request, messages: Expr) -> bool:
    if request.messages is None:
        return False
    parts = shape.flow(request.messages, request.function, request.span, request.conditions)
    return any(part.expr.name == messages.name for part in parts)


def _takes_parameter(shape: Shape, function: str, item: Expr) -> bool:
    """Whether a message holds what the function was asked: it is a turn then."""
    parts = walk(shape.resolve(function, item))
    return any(part.kind == "name" and shape.is_parameter(function, part) for part in parts)


def _is_open(shape: Shape, function: str, condition: Condition, messages: Expr) -> bool:
    """Whether a test may hold on every turn: it asks for what the function was given or has found, not for the list, a
    flag of the object or a first time."""
    if condition.kind in ("for", "while", "with", "try"):
        return True
    if condition.test is None or condition.kind == "except":
        return False
    for part in walk(condition.test):
        if part.kind not in ("name", "attribute"):
            continue
        name = part.name or ""
        if name == messages.name or name.startswith(("self.", "cls.")) or not _ONCE.isdisjoint(name_words(name)):
            return False
    return True


def _is_taken_out(shape: Shape, functions: set[str], messages: Expr, request: Request) -> bool:
    """Whether the list is shortened or begun anew by the functions themselves; before the loop that sends it is."""
    loops = [condition.test for condition in request.conditions if condition.kind in ("for", "while")]
    for function in functions:
        for call in shape.mutations(function, messages):
            if call.function in functions and last_part(call.name) in _TAKES_OUT:
                return True
        for item in shape.bindings(function, messages):
            reads = item.value is not None and any(part.name == messages.name for part in walk(item.value))
            inside = not loops or any(condition.test is test for condition in item.conditions for test in loops)
            if item.function in functions and inside and item.operator == "=" and not (reads and _begins_anew(item)):
                return True
    return any(
        item.operator == "del"
        and item.function in functions
        and item.target is not None
        and item.target.items
        and item.target.items[0].name == messages.name
        for item in shape.view.bindings
    )


def _begins_anew(binding: Binding) -> bool:
    """`x = [message, *x]`, `x = [message] + x`."""
    target, value = binding.target, binding.value
    if target is None or value is None:
        return False
    parts = value.items if value.kind == "list" or (value.kind == "operation" and value.name == "+") else []
    rest = parts[-1] if len(parts) > 1 else None
    rest = rest.items[0] if rest is not None and rest.kind == "star" else rest
    return rest is not None and rest.name == target.name and parts[0].kind in ("list", "dict", "call", "name")


def _is_before_all(index: Expr) -> bool:
    """`[:0]`, `[0:0]`."""
    lower, upper, _ = index.items
    return upper.kind == "constant" and upper.value == 0 and lower.value in (None, 0)


_STORE = frozenset({"set", "save", "put", "store", "persist", "update", "write", "set_messages", "save_messages"})


def is_stored(shape: Shape, call: Call) -> bool:
    """Whether the list is stored with its new first message, so that the next turn puts another one in front."""
    name = call.name.rpartition(".")[0]
    if any(condition.kind in ("if", "while") for condition in call.conditions):
        return False
    for other in shape.view.calls:
        if (
            other.function == call.function
            and other.span > call.span
            and last_part(other.name) in _STORE
            and any(arg.name == name for arg in other.args)
        ):
            return True
    return False
