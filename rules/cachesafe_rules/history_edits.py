"""Where a file changes messages that were sent, by their distance from the end of the chat or with the time of day.

Only what differs between two requests counts: an edit that is the same for every message and every time (a strip, a
filter by role) sends the same bytes again.
"""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.borders import ends_before, from_end, is_border, moves
from cachesafe_rules.changing import is_local, pieces_of
from cachesafe_rules.contents import is_content
from cachesafe_rules.counted_back import counted_back, counted_down
from cachesafe_rules.expressions import is_constant_name, is_history, last_part, name_words, parts_of, walk
from cachesafe_rules.fitting import is_cut_to_fit, is_left_in
from cachesafe_rules.kept import holds_sent
from cachesafe_rules.model import Binding, Call, Condition, Expr, Source, Span
from cachesafe_rules.roles import is_search
from cachesafe_rules.shape import Shape
from cachesafe_rules.turns import is_setup, is_side_call, overflow_guarded
from cachesafe_rules.volatile import volatile_in

__all__ = [
    "Edit",
    "appended",
    "assigned",
    "is_content",
    "is_free",
    "rebuilt",
    "senders",
    "taken_off",
    "unguarded_callers",
]

_SHORTENS = frozenset({"truncate", "shorten", "cut", "clip", "trim", "abbreviate", "summarize", "summarise", "elide"})
# Fields of a message that a request shows the model; a marker may be taken off.
_TAKEN_OFF = frozenset(
    {"content", "reasoning_content", "reasoning", "thinking", "images", "image", "tool_calls", "reasoning_details",
     "audio", "attachments"}
)  # fmt: skip
_TO_FIT = "earlier messages are cut to what the others leave"
_DISTANCE = "earlier messages change with their distance from the end"


# A place, what is done there, and the list in its function that must be sent for it to matter.
Edit = tuple[Span, str, str, Expr]


def rebuilt(shape: Shape) -> Iterator[Edit]:
    """Comprehensions over the history that flow into a request."""
    for part in shape.parts:
        expr = part.expr
        if expr.kind != "comprehension" or not is_free(shape, part.function, part.conditions):
            continue
        iterable, target, element = expr.generators[0].iterable, expr.generators[0].target, expr.items[-1]
        if _is_sent(shape, part.function, iterable) and (
            why := _changed(shape, part.function, element, _index_of(iterable, target), _stored(iterable))
        ):
            yield expr.span, why, part.function, expr


def appended(shape: Shape) -> Iterator[Edit]:
    """`messages.append({… m …})` in a loop over the history."""
    sent = {(shape.home(part.function, part.expr.name), part.expr.name) for part in shape.parts if part.expr.name}
    for call in shape.view.calls:
        root = call.name.rpartition(".")[0]
        if last_part(call.name) != "append" or not call.args or (shape.home(call.function, root), root) not in sent:
            continue
        grown = Expr("name", call.span, name=root)
        if not is_free(shape, call.function, call.conditions):
            continue
        for span, item, conditions in _forms(shape, call):
            for test, target in _loops(conditions):
                if not _is_sent(shape, call.function, test):
                    continue
                index = _index_of(test, target)
                if why := _changed(shape, call.function, item, index, _stored(test)):
                    yield span, why, call.function, grown
                elif moves(shape, call.function, conditions, index) and _loses(shape, call.function, item):
                    yield span, _DISTANCE, call.function, grown


def _forms(shape: Shape, call: Call) -> Iterator[tuple[Span, Expr, tuple[Condition, ...]]]:
    """What `append` is given: the message as it stands there, or each form that the loop gives it before."""
    item = call.args[0]
    given = 0
    for binding in shape.bindings(call.function, item) if item.kind == "name" else ():
        around = {id(condition.test) for condition in binding.conditions}
        loops = [condition for condition in call.conditions if condition.kind == "for"]
        if binding.operator == "=" and binding.value is not None and all(id(loop.test) in around for loop in loops):
            given += 1
            yield binding.span, binding.value, binding.conditions
    if not given:
        yield call.span, shape.resolve(call.function, item), call.conditions


def taken_off(shape: Shape) -> Iterator[Edit]:
    """`m.pop("reasoning_content")`, `del m["images"]` for all but the newest messages."""
    found = [(c.span, c.function, c.conditions, c.receiver, c.args[0]) for c in shape.view.calls
             if last_part(c.name) == "pop" and c.args and c.receiver is not None]  # fmt: skip
    found += [(b.span, b.function, b.conditions, b.target.items[0], b.target.items[1]) for b in shape.view.bindings
              if b.operator == "del" and b.target is not None and b.target.kind == "subscript"]  # fmt: skip
    for span, function, conditions, message, key in found:
        if key.value not in _TAKEN_OFF or not is_free(shape, function, conditions):
            continue
        for test, target in _loops(conditions):
            whole = _over(test)
            if (
                message.name == target.name
                and ends_before(shape, function, test)
                and holds_sent(shape, function, whole)
            ):
                yield span, _DISTANCE, function, whole


def parts_taken(shape: Shape) -> Iterator[Edit]:
    """`m["content"].remove(part)` for all but the newest, in a loop from the newest message back."""
    for call in shape.view.calls:
        if last_part(call.name) not in ("remove", "pop", "clear") or call.receiver is None:
            continue
        if not is_content(call.receiver) or not is_free(shape, call.function, call.conditions):
            continue
        taken = Binding("del", call.receiver, None, call.span, call.function, call.conditions)
        if (back := counted_back(shape, taken)) is not None:
            yield call.span, _DISTANCE, call.function, back


def assigned(shape: Shape) -> Iterator[Edit]:
    """`m["content"] = …` in a loop over the history, or over a part of it that ends k messages before the newest."""
    sends = senders(shape)
    for binding in shape.view.bindings:
        target, value, function = binding.target, binding.value, binding.function
        if target is None or value is None or not target.items or is_setup(function):
            continue
        if not is_content(target) and not _is_written_over(shape, function, target, value):
            continue
        if overflow_guarded(shape, function, _outside(binding.conditions)) or not unguarded_callers(shape, function):
            continue
        # Inside the loop a test on the size ends it when enough is cut: with each new message there is more to cut.
        fitted = overflow_guarded(shape, function, binding.conditions)
        if not fitted and (back := counted_back(shape, binding)) is not None and _loses(shape, function, value):
            yield binding.span, _DISTANCE, function, back
            continue
        if not is_content(target):
            continue
        if (whole := counted_down(shape, binding)) is not None:
            yield binding.span, _DISTANCE, function, whole
            continue
        for test, element in _loops(binding.conditions):
            from_front = is_left_in(shape, function, binding.conditions, test)
            if fitted and not from_front and not ends_before(shape, function, test):
                continue
            messages = _edited(shape, binding, test, element)
            if messages is None or is_search(test, binding.conditions) or not holds_sent(shape, function, messages):
                continue
            if _in_batches(shape, binding, _over(test)):
                continue
            index = _index_of(test, element)
            if any(p.kind == "subscript" and is_cut_to_fit(shape, function, p) for p in walk(value)):
                yield binding.span, _TO_FIT, function, _over(test)
                continue
            whole = _over(messages.generators[0].iterable) if messages.generators else messages
            if (
                ends_before(shape, function, test)
                or from_front
                or (function in sends and moves(shape, function, binding.conditions, index))
            ):
                if _loses(shape, function, value):
                    yield binding.span, _DISTANCE, function, whole
            elif function in sends and (found := _stamped(shape, function, value)):
                yield binding.span, found, function, whole


def _is_written_over(shape: Shape, function: str, target: Expr, value: Expr) -> bool:
    """A part of a message's content, or a whole message, for which another one is put: `m["content"][0] = {…}`."""
    if target.kind != "subscript" or (value.kind != "dict" and value.call is None):
        return False
    whole = target.items[0]
    return is_history(whole) or is_content(shape.resolve(function, whole))


def _in_batches(shape: Shape, binding: Binding, over: Expr) -> bool:
    """Whether many are cut at once and then none for a while: what is left to cut is counted before."""
    left = shape.resolve(binding.function, over)
    if left.kind != "comprehension" or not any(is_content(p) for t in left.generators[0].tests for p in walk(t)):
        return False
    counted = (
        part.call.args[0]
        for condition in binding.conditions
        if condition.kind in ("if", "left") and condition.test is not None
        for part in walk(condition.test)
        if part.call is not None and part.call.name == "len" and part.call.args
    )
    return any(size.name == over.name or size is left for size in counted)


def _edited(shape: Shape, binding: Binding, iterable: Expr, target: Expr) -> Expr | None:
    """The list that a loop edits: `m["content"]` of `for m in x`, `x[i]["content"]` of a loop over places in it."""
    root = binding.target.items[0] if binding.target is not None else target
    names = {part.name for part in walk(target) if part.kind == "name"}
    if root.kind == "subscript":
        return root.items[0] if is_history(root.items[0]) and root.items[1].name in names else None
    over = _over(iterable)
    if root.name not in names or root.kind != "name":
        return None
    # `old = [m for m in messages if …]`
    value = shape.resolve(binding.function, over)
    return value if value.kind == "comprehension" else over if is_history(over) else None


def _changed(
    shape: Shape, function: str, element: Expr, index: str | None, stored: frozenset[Source] = frozenset()
) -> str | None:
    """What makes a message another one in the next request, None where it stays the same."""
    for part in walk(element):
        if part.kind == "subscript" and is_cut_to_fit(shape, function, part):
            return _TO_FIT
        if index and part.kind == "operation" and part.name == "-" and from_end(shape, function, part, index):
            return _DISTANCE
        border = index and part.kind == "conditional" and is_border(shape, function, part.items[0], index)
        if border and any(_loses(shape, function, branch) for branch in part.items[1:]):
            return _DISTANCE
    return _stamped(shape, function, element, stored)


def _stamped(shape: Shape, function: str, element: Expr, stored: frozenset[Source] = frozenset()) -> str | None:
    """The clock, or what else is another one at each call, that is written beside a message's own text."""
    text = _text_of(element)
    pieces = [*parts_of(text), *pieces_of(shape, function, text)]
    own = any(is_content(shape.resolve(function, piece)) for piece in pieces)
    # `texts = [mark(p["text"]) for p in m["parts"]]`, then `"\n".join(texts)`
    if not own and not (
        text.call is not None and last_part(text.call.name) == "join" and _holds_text(shape, function, text)
    ):
        return None
    found = volatile_in(shape, function, text, is_content, stored)
    return f"{found} is written into earlier messages" if found else None


def _holds_text(shape: Shape, function: str, text: Expr) -> bool:
    """Whether a joined list is made of a message's own text."""
    names = [part for part in walk(text) if part.kind == "name"]
    exprs = [text, *(shape.resolve(function, name) for name in names)]
    return any(is_content(part) for expr in exprs for part in walk(expr))


def _text_of(element: Expr) -> Expr:
    """The content of a message that is built, any other expression as it is."""
    fields = element.call.keywords if element.call is not None else element.entries
    return next((fields[key] for key in ("content", "text", "parts") if key in fields), element)


def _loses(shape: Shape, function: str, element: Expr) -> bool:
    """Whether a message's text is cut, filtered, or replaced by another one. What a call makes of it is not known,
    unless it is named for it."""
    text = shape.resolve(function, _text_of(_merged(shape, function, element)))
    if text.kind == "conditional":
        return any(_loses(shape, function, branch) for branch in text.items[1:])
    if text.kind == "list" and text.items:
        # `[{"type": "text", "text": "[removed]"}]`
        return all(part.kind in ("list", "dict", "constant") for part in walk(text))
    exprs = [text, *(shape.resolve(function, part) for part in walk(text) if part.kind == "name")]
    every = [part for expr in exprs for part in walk(expr)]
    if any(_is_shorter(shape, function, part) for part in every):
        return True
    read = any(is_content(part) or (part.call is not None and _reads(shape, function, part.call)) for part in every)
    return not read and (text.kind in ("constant", "fstring") or is_constant_name(text))


def _merged(shape: Shape, function: str, element: Expr) -> Expr:
    """The part of `{**m, **cleared}` that gives the message its text."""
    if element.kind == "dict" and "content" not in element.entries:
        for item in reversed(element.items):
            value = shape.resolve(function, item.items[0] if item.kind == "star" else item)
            if value.kind == "dict" and "content" in value.entries:
                return value
    return element


def _reads(shape: Shape, function: str, call: Call) -> bool:
    """Whether a call may make its text of the message: it is given something of the function's own."""
    given = [*call.args, *call.keywords.values(), *([call.receiver] if call.receiver is not None else [])]
    return any(
        part.kind in ("name", "attribute") and (is_content(part) or is_local(shape, function, part))
        for value in given
        for part in walk(value)
    )


def _is_shorter(shape: Shape, function: str, part: Expr) -> bool:
    """`m["content"][:500]`, `[p for p in parts if …]`, `truncate(…)`."""
    if part.kind == "subscript":
        return part.items[1].kind == "slice" and is_content(shape.resolve(function, part.items[0]))
    if part.kind == "comprehension":
        return bool(part.generators[0].tests)
    return part.call is not None and not _SHORTENS.isdisjoint(name_words(last_part(part.call.name)))


# Loops and callers


def _over(iterable: Expr) -> Expr:
    """What a loop runs over, without `enumerate` and slices."""
    while True:
        if iterable.call is not None and last_part(iterable.call.name) in ("enumerate", "list", "reversed"):
            if not iterable.call.args:
                return iterable
            iterable = iterable.call.args[0]
        elif iterable.kind == "subscript" and iterable.items[1].kind == "slice":
            iterable = iterable.items[0]
        else:
            return iterable


def _is_sent(shape: Shape, function: str, iterable: Expr) -> bool:
    over = _over(iterable)
    return is_history(over) and holds_sent(shape, function, over)


def _index_of(iterable: Expr, target: Expr) -> str | None:
    call = iterable.call
    if call is not None and last_part(call.name) == "enumerate" and target.kind == "tuple":
        return target.items[0].name
    if call is not None and last_part(call.name) == "range":
        return target.name
    return None


def _loops(conditions: tuple[Condition, ...]) -> Iterator[tuple[Expr, Expr]]:
    for condition in conditions:
        if condition.kind == "for" and condition.test is not None and condition.target is not None:
            yield condition.test, condition.target


def _outside(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Those around the first loop over something."""
    first = next((n for n, condition in enumerate(conditions) if condition.kind == "for"), len(conditions))
    return conditions[:first]


def _stored(*exprs: Expr) -> frozenset[Source]:
    """What the messages hold before anything is done to them: a time in them was stored with them."""
    return frozenset(taint.source for expr in exprs for part in walk(expr) for taint in part.taints)


def is_free(shape: Shape, function: str, conditions: tuple[Condition, ...]) -> bool:
    return not (
        overflow_guarded(shape, function, conditions)
        or is_side_call(function)
        or is_setup(function)
        or _only_once(shape, function, conditions)
    )


def _only_once(shape: Shape, function: str, conditions: tuple[Condition, ...]) -> bool:
    """Whether a flag that the function sets itself lets it come here a single time."""
    return any(
        bound.function == function and bound.value is not None and bound.value.value is True
        for condition in conditions
        if condition.kind in ("if", "left") and condition.test is not None
        for part in walk(condition.test)
        if part.kind == "attribute"
        for bound in shape.bindings(function, part)
    )


def senders(shape: Shape) -> set[str]:
    return {part.function for part in shape.parts} | {request.function for request in shape.requests}


def unguarded_callers(shape: Shape, function: str) -> bool:
    """Whether a helper runs on each request, as far as its own file shows."""
    callers = shape.callers(function)
    return not callers or any(not overflow_guarded(shape, call.function, call.conditions) for call in callers)
