"""Where a chat is cut to its newest messages: slices, pops, bounded queues, limits, age and size."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.batches import dropped_at_once, is_changed_for_all
from cachesafe_rules.expressions import is_history, last_part, name_words, spelt
from cachesafe_rules.lasting import begins, is_short
from cachesafe_rules.model import Condition, Expr, Span
from cachesafe_rules.queried_windows import forgotten, reads_newest_rows
from cachesafe_rules.shape import Part, Shape
from cachesafe_rules.side_lists import only_asked_about
from cachesafe_rules.turns import is_side_call, overflow_guarded
from cachesafe_rules.volatile import volatile_in
from cachesafe_rules.window_memories import reads_last

__all__ = ["bounded", "dropped", "fitted", "is_tail", "sliced"]

_ON_DEMAND = frozenset({"clear", "reset", "forget"})


def _free(shape: Shape, function: str, conditions: tuple[Condition, ...]) -> bool:
    """Whether a place is reached turn by turn, as far as its tests and its function's name say."""
    asked_for = not _ON_DEMAND.isdisjoint(name_words(last_part(function)))
    return not (overflow_guarded(shape, function, conditions) or is_side_call(function) or asked_for)


def is_tail(expr: Expr) -> bool:
    """`x[-n:]`, `x[len(x) - n:]`: the end of a list; `x[-1:]` is the newest message alone."""
    if expr.kind != "subscript" or expr.items[1].kind != "slice":
        return False
    lower, upper, step = expr.items[1].items
    if upper.value is not None or upper.kind != "constant" or step.value is not None:
        return False
    if lower.call is not None and lower.call.name == "max" and lower.call.args:
        lower = lower.call.args[-1]
    if lower.kind == "constant":
        return isinstance(lower.value, int) and lower.value < -1
    if lower.kind == "operation" and lower.name == "*" and _is_negative(lower.items[0]):
        # `[-2 * turns:]`
        return True
    if lower.kind != "operation" or lower.name != "-":
        return False
    first = lower.items[0]
    if len(lower.items) == 1 and first.call is not None and first.call.name == "len":
        # As many as were just added: the rest is at hand elsewhere.
        return False
    return len(lower.items) == 1 or (first.call is not None and first.call.name == "len")


def _is_negative(expr: Expr) -> bool:
    if expr.kind == "operation":
        return expr.name == "-" and len(expr.items) == 1
    return isinstance(expr.value, int) and expr.value < 0


# A place, how it is told, the function, what the list is called there, first before it is cut, and how many messages
# are dropped at once.
_Found = tuple[Span, str, str, tuple[str, ...], int]


def sliced(shape: Shape) -> Iterator[_Found]:
    beside = only_asked_about(shape)
    for part in shape.parts:
        expr = part.expr
        if expr.span in beside:
            continue
        if expr.kind != "subscript" or not _free(shape, part.function, part.conditions):
            continue
        if begins(shape, part):
            continue
        if not (
            is_history(expr.items[0])
            or _of_history(shape, part.function, expr.items[0])
            or _becomes_history(shape, part.function, expr)
        ):
            continue
        if is_short(shape, part):
            continue
        if is_tail(expr) or (_drops_first(expr) and _counts(part.conditions)):
            name = spelt(expr.items[0])
            cut = [b.target.name for b in shape.view.bindings if b.value is expr and b.target and b.target.name]
            step = dropped_at_once(shape, part.function, expr, part.conditions) or 1
            yield expr.span, f"{name}[{'-n' if is_tail(expr) else 'n'}:]", part.function, (name, *cut), step


def _of_history(shape: Shape, function: str, expr: Expr) -> bool:
    """A list that was filtered or copied from the history."""
    value = shape.resolve(function, expr)
    if value.kind == "comprehension":
        return is_history(value.generators[0].iterable)
    return value is not expr and is_history(value)


def _becomes_history(shape: Shape, function: str, expr: Expr) -> bool:
    """`messages = store.fetch(user)[-10:]`: what was read is called a chat from there on."""
    call = expr.items[0].call
    return call is not None and any(
        item.value is expr and item.function == function and is_history(item.target) for item in shape.view.bindings
    )


def _drops_first(expr: Expr) -> bool:
    """`x[2:]`."""
    if expr.items[1].kind != "slice":
        return False
    lower, upper, _ = expr.items[1].items
    return isinstance(lower.value, int) and lower.value > 0 and upper.kind == "constant" and upper.value is None


def _sent(shape: Shape) -> set[tuple[str, str]]:
    return {
        (shape.home(part.function, part.expr.name), part.expr.name)
        for part in shape.parts
        if part.expr.name and part.expr.kind in ("name", "attribute") and is_history(part.expr)
    }


def dropped(shape: Shape) -> Iterator[_Found]:
    sent = _sent(shape)
    for call in shape.view.calls:
        root, _, method = call.name.rpartition(".")
        if (
            (method == "popleft" or (method == "pop" and len(call.args) == 1 and call.args[0].value in (0, 1)))
            and (shape.home(call.function, root), root) in sent
            and _free(shape, call.function, call.conditions)
            and (method == "popleft" or _counts(call.conditions))
        ):
            yield call.span, f"{call.name}(…)", call.function, (root,), 1
    for binding in shape.view.bindings:
        target = binding.target
        if (
            binding.operator == "del"
            and target is not None
            and target.kind == "subscript"
            and is_history(target.items[0])
        ):
            name, key = target.items[0].name or "", target.items[1]
            at_front = key.value in (0, 1) if key.kind == "constant" else key.kind == "slice" and _front(key)
            if (
                at_front
                and (shape.home(binding.function, name), name) in sent
                and _free(shape, binding.function, binding.conditions)
                and _counts(binding.conditions)
            ):
                step = _width(key) if is_changed_for_all(shape, binding, target.items[0]) else 1
                yield binding.span, f"del {name}[…]", binding.function, (name,), step


def _width(key: Expr) -> int:
    """How many messages `del x[:20]` drops."""
    lower, upper = (item.value for item in key.items[:2]) if key.kind == "slice" else (0, 1)
    return upper - (lower or 0) if isinstance(upper, int) and isinstance(lower, int | None) else 1


def _front(key: Expr) -> bool:
    lower, upper = key.items[0], key.items[1]
    return (
        lower.kind == "constant" and lower.value in (None, 0, 1) and upper.value is not None
    ) or upper.kind != "constant"


def _counts(conditions: tuple[Condition, ...]) -> bool:
    """Whether the place depends on how many messages there are."""
    for condition in conditions:
        if condition.test is not None and condition.kind in ("if", "while"):
            test = condition.test
            if any(item.kind == "constant" and item.value in (0, 1) for item in test.items):
                # Whether there is anything behind the first message.
                continue
            if test.kind == "operation" and any(
                item.call is not None and item.call.name == "len" for item in test.items
            ):
                return any(symbol in (test.name or "") for symbol in (">", "<"))
    return False


def bounded(shape: Shape) -> Iterator[tuple[Span, str]]:
    for part in shape.parts:
        call = part.expr.call
        if call is not None and last_part(call.name) == "deque":
            bound = call.keywords.get("maxlen") or (call.args[1] if len(call.args) > 1 else None)
            if bound is not None and not (bound.kind == "constant" and bound.value is None):
                yield call.span, "deque(maxlen=…)"
        elif call is not None and last_part(call.name) == "trim_messages":
            counter = call.keywords.get("token_counter")
            if counter is not None and counter.name == "len":
                yield call.span, "trim_messages(token_counter=len)"
        elif (
            call is not None
            and reads_last(call)
            and _free(shape, part.function, part.conditions)
            and not begins(shape, part)
            and not _is_cut_again(shape, part)
        ):
            yield call.span, f"{call.name}(limit=…)"
        elif (
            reads_newest_rows(shape, part) and _free(shape, part.function, part.conditions) and not begins(shape, part)
        ):
            yield part.expr.span, "the query of the newest rows"
    yield from _aged(shape)
    for part in forgotten(shape):
        if not overflow_guarded(shape, part.function, part.conditions):
            yield part.span, f"RemoveMessage of {spelt(part.expr.items[0])}[…]"


def _aged(shape: Shape) -> Iterator[tuple[Span, str]]:
    """`[m for m in history if m["at"] > now - HOUR]`: what is older drops out, one message after the other."""
    for part in shape.parts:
        expr = part.expr
        if expr.kind != "comprehension" or not is_history(expr.generators[0].iterable):
            continue
        if not _free(shape, part.function, part.conditions) or begins(shape, part):
            continue
        for test in expr.generators[0].tests:
            if test.kind == "operation" and any(volatile_in(shape, part.function, side) for side in test.items):
                yield expr.span, f"the age of {spelt(expr.generators[0].iterable)}"


def _is_cut_again(shape: Shape, read: Part) -> bool:
    """Whether of what was read only the end is taken: that is the window then."""
    names = {item.target.name for item in shape.view.bindings if item.target and item.value is read.expr}
    return any(
        part.function == read.function
        and is_tail(part.expr)
        and is_history(part.expr.items[0])
        and part.expr.items[0].name in names
        for part in shape.parts
    )


def fitted(shape: Shape) -> Iterator[tuple[Span, str]]:
    """`while tokens > limit: messages.pop(0)`."""
    sent = _sent(shape)
    for call in shape.view.calls:
        root, _, method = call.name.rpartition(".")
        if method != "popleft" and not (method == "pop" and len(call.args) == 1 and call.args[0].value in (0, 1)):
            continue
        loops = [condition for condition in call.conditions if condition.kind == "while"]
        if (
            loops
            and (shape.home(call.function, root), root) in sent
            and not is_side_call(call.function)
            and overflow_guarded(shape, call.function, loops)
        ):
            yield call.span, f"{call.name}(…)"
