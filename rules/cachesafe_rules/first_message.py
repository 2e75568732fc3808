"""Where the first message of a chat is written anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cachesafe_rules.changing import changing_value
from cachesafe_rules.contents import is_content
from cachesafe_rules.excerpts import ends_before_request, is_excerpt
from cachesafe_rules.expressions import is_history, last_part, spelt, walk
from cachesafe_rules.growing_front import answered_requests
from cachesafe_rules.history_edits import Edit, is_free, senders
from cachesafe_rules.kept import holds_sent
from cachesafe_rules.model import Binding, Call, Condition, Expr, Span
from cachesafe_rules.moment_names import varies_in_excerpt
from cachesafe_rules.shape import Request, Shape
from cachesafe_rules.told_state import told_state
from cachesafe_rules.turn_state import state_in
from cachesafe_rules.turns import is_side_call
from cachesafe_rules.volatile import volatile_in

__all__ = ["first_rewritten", "first_swapped", "first_varied"]


class _Write(NamedTuple):
    """A statement that gives the first message of a list another text."""

    span: Span
    function: str
    conditions: tuple[Condition, ...]
    messages: Expr
    value: Expr


def first_rewritten(shape: Shape) -> Iterator[Edit]:
    """`messages[0]["content"] = …` with a text of the turn."""
    sends = senders(shape)
    for write in _writes(shape):
        if not _is_of_turn(shape, write, sends) or not holds_sent(shape, write.function, write.messages):
            continue
        if any(_is_cut(part) for part in walk(write.value)):
            # What stands behind a marker in it is taken off.
            continue
        if ends_before_request(shape) and volatile_in(shape, write.function, write.value):
            # A value that changes by itself is told where it reaches the system message.
            continue
        found = changing_value(shape, write.function, write.value)
        found = found or state_in(shape, write.function, write.value, write.conditions)
        if found := found or told_state(shape, write.function, write.value):
            yield write.span, f"the first message is rewritten with {found}", write.function, write.messages


def first_varied(shape: Shape) -> Iterator[Edit]:
    """The same in an excerpt, with a text that holds something else than what the program has written down."""
    sends = senders(shape)
    for write in _writes(shape) if is_excerpt(shape.view) else ():
        if write.value.kind in ("name", "attribute") or any(_is_cut(part) for part in walk(write.value)):
            continue
        if _is_of_turn(shape, write, sends) and holds_sent(shape, write.function, write.messages):
            found = varies_in_excerpt(shape, write.function, write.value)
            if found is not None:
                yield write.span, f"the first message is rewritten with {found}", write.function, write.messages
    yield from _put_into_first(shape)


def _put_into_first(shape: Shape) -> Iterator[Edit]:
    """`for m in messages: if m["role"] == "user": m["content"] = f"{note}{m['content']}"; break`."""
    for binding in shape.view.bindings if ends_before_request(shape) else ():
        target, value = binding.target, binding.value
        if target is None or value is None or not target.items or not is_content(target):
            continue
        for condition in binding.conditions:
            over, element = condition.test, condition.target
            if condition.kind != "for" or over is None or element is None or not is_history(over):
                continue
            if target.items[0].name != element.name or not is_free(shape, binding.function, binding.conditions):
                continue
            names = [part for part in walk(value) if part.kind in ("name", "attribute") and part.name != element.name]
            other = Expr("fstring", value.span, items=names)
            found = varies_in_excerpt(shape, binding.function, other) if any(map(is_content, walk(value))) else None
            if found is not None and holds_sent(shape, binding.function, over):
                yield binding.span, f"an earlier message is rewritten with {found}", binding.function, over


def first_swapped(shape: Shape) -> Iterator[Edit]:
    """`messages[0] = …` between two requests of one function that send the same list: the second reads none of it."""
    for write in _writes(shape):
        requests = [r for r in answered_requests(shape) if r.function == write.function and _sends(r, write.messages)]
        before = [request for request in requests if request.span < write.span]
        behind = [request for request in requests if request.span > write.span]
        name = write.messages.name
        fresh = any(
            bound.function == write.function and bound.operator == "=" and before and bound.span > before[-1].span
            for bound in shape.bindings(write.function, write.messages)
        )
        begun = shape.resolve(write.function, write.messages)
        same = begun.kind == "list" and bool(begun.items) and spelt(_text_of(begun.items[0])) == spelt(write.value)
        if before and behind and not (fresh or same or is_side_call(write.function)):
            yield write.span, f"{name}[0] is another message in the next request", write.function, write.messages


def _sends(request: Request, messages: Expr) -> bool:
    return request.messages is not None and request.messages.name == messages.name


def _is_of_turn(shape: Shape, write: _Write, sends: set[str]) -> bool:
    """Whether a function writes on its way to a request: it makes one, or a function that does calls it."""
    if not is_free(shape, write.function, write.conditions):
        return False
    return write.function in sends or any(
        call.function in sends and is_free(shape, call.function, call.conditions)
        for call in shape.callers(write.function)
    )


def _writes(shape: Shape) -> Iterator[_Write]:
    for binding in shape.view.bindings:
        target, value = binding.target, binding.value
        if target is None or value is None or binding.operator not in ("=", "+="):
            continue
        root = target.items[0] if is_content(target) and target.items else target
        messages = _of_first(shape, binding.function, root, whole=root is target) or _begun_with(binding)
        if messages is not None:
            yield _Write(binding.span, binding.function, binding.conditions, messages, _text_of(value))
    for call in shape.view.calls:
        messages = _of_first(shape, call.function, call.receiver) if call.receiver is not None else None
        if messages is not None and last_part(call.name) == "update" and (value := _updated(call)) is not None:
            yield _Write(call.span, call.function, call.conditions, messages, value)


def _of_first(shape: Shape, function: str, root: Expr, whole: bool = False) -> Expr | None:
    """The list whose first message an expression is: `messages[0]`, a name for it, `messages[:1]` as a target."""
    if root.kind == "name" and not whole:
        root = shape.resolve(function, root)
    if root.kind != "subscript" or not is_history(root.items[0]):
        return None
    index = root.items[1]
    if index.kind == "slice":
        lower, upper, _ = index.items
        first = lower.kind == "constant" and lower.value in (None, 0) and upper.value == 1
        return root.items[0] if whole and first else None
    at_front = index.kind == "constant" and index.value in (0, 1) and not isinstance(index.value, bool)
    return root.items[0] if at_front else None


def _begun_with(binding: Binding) -> Expr | None:
    """The list of `messages = [{…}, *messages[1:]]`."""
    target, value = binding.target, binding.value
    if target is None or value is None or not is_history(target) or binding.operator != "=":
        return None
    parts = value.items if value.kind == "list" or (value.kind == "operation" and value.name == "+") else []
    rest = parts[1] if len(parts) == 2 else None
    rest = rest.items[0] if rest is not None and rest.kind == "star" else rest
    if rest is None or rest.kind != "subscript" or rest.items[0].name != target.name:
        return None
    index = rest.items[1]
    return rest.items[0] if index.kind == "slice" and index.items[0].value == 1 and _is_open(index) else None


def _is_open(index: Expr) -> bool:
    """`[1:]`."""
    return all(end.kind == "constant" and end.value is None for end in index.items[1:])


def _text_of(value: Expr) -> Expr:
    """The text of a message that is written, or of the one message of a list."""
    if value.kind == "operation" and value.name == "+" and value.items[0].kind == "list":
        value = value.items[0]
    if value.kind == "list" and value.items:
        value = value.items[0]
    if value.kind == "dict":
        return value.entries.get("content", value)
    call = value.call
    if call is not None and last_part(call.name).endswith("Message"):
        return call.args[0] if call.args else call.keywords.get("content", value)
    return value


def _updated(call: Call) -> Expr | None:
    """The text of `messages[0].update(content=…)`, `messages[0].update({"content": …})`."""
    fields = [call.keywords, *(arg.entries for arg in call.args)]
    return next((given["content"] for given in fields if "content" in given), None)


def _is_cut(expr: Expr) -> bool:
    """`text[:place]`."""
    if expr.kind != "subscript" or expr.items[1].kind != "slice":
        return False
    lower, upper, _ = expr.items[1].items
    return lower.kind == "constant" and lower.value is None and upper.kind in ("name", "call")
