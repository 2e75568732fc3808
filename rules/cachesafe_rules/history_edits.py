"""Where a file changes the earlier messages of a chat on their way into a request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cachesafe_rules.expressions import is_history, last_part, parts_of, walk
from cachesafe_rules.model import Binding, Call, Condition, Expr, Source, Span
from cachesafe_rules.roles import is_search, names_role, of_people
from cachesafe_rules.shape import Shape
from cachesafe_rules.turns import is_setup, is_side_call, overflow_guarded
from cachesafe_rules.volatile import volatile_in

__all__ = ["all_but_last", "appended", "assigned", "is_content", "is_free", "rebuilt", "senders"]

_CONTENT = frozenset({"content", "text", "parts"})
_SPACE = frozenset({"strip", "lstrip", "rstrip", "split", "splitlines", "expandtabs"})
_SPACE_CHANGED = "white space of earlier messages is changed"
_IDS = re.compile(r"uuid|ulid|nanoid|token_hex|token_urlsafe")
_IMAGE = frozenset({"b64encode", "resize", "thumbnail", "encode_image", "reencode", "compress_image", "to_base64"})


def rebuilt(shape: Shape) -> Iterator[tuple[Span, str]]:
    """Comprehensions over the history that flow into a request."""
    for part in shape.parts:
        expr = part.expr
        if expr.kind != "comprehension" or not is_free(shape, part.function, part.conditions):
            continue
        generator = expr.generators[0]
        iterable = _over(generator.iterable)
        if not is_history(iterable):
            continue
        if _drops_answers(generator.tests):
            if _of_row(shape, part.function, iterable):
                continue
            yield expr.span, "answers or tool results are left out of the history"
            continue
        index = _index_of(generator.iterable, generator.target)
        own = {name.name for name in walk(generator.target) if name.kind == "name" and name.name}
        stored = _stored(generator.iterable)
        if why := _altered(shape, part.function, expr.items[-1], index, stored) or _joined(
            shape, part.function, expr.items[-1], own
        ):
            if why == _SPACE_CHANGED and _newest_too(shape, part.function):
                continue
            yield expr.span, why


def _newest_too(shape: Shape, function: str) -> bool:
    """Whether the newest message is stripped there as well, so that it comes again as it was sent."""
    return any(
        call.function == function
        and last_part(call.name) in _SPACE
        and call.receiver is not None
        and is_content(call.receiver)
        and any(p.kind == "subscript" and p.items[1].value == -1 for p in walk(call.receiver))
        for call in shape.view.calls
    )


def _of_row(shape: Shape, function: str, messages: Expr) -> bool:
    """Whether the messages are those of one row of a data set that a loop runs over: nothing was sent before."""
    for binding in shape.bindings(function, messages):
        targets = {part.name for loop in _loops(binding.conditions) if loop.target is not None
                   for part in walk(loop.target) if part.kind == "name"}  # fmt: skip
        if binding.value is not None and any(p.kind == "name" and p.name in targets for p in walk(binding.value)):
            return True
    return False


def _joined(shape: Shape, function: str, element: Expr, own: set[str]) -> str | None:
    """What of the turn is joined to the content of the messages that an element builds."""
    for part in walk(element):
        fields = part.call.keywords if part.call is not None else part.entries
        if "content" in fields and (why := _written_into(shape, function, fields["content"], own)):
            return why
    return None


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


def _index_of(iterable: Expr, target: Expr) -> str | None:
    call = iterable.call
    if call is not None and last_part(call.name) == "enumerate" and target.kind == "tuple":
        return target.items[0].name
    if call is not None and last_part(call.name) == "range":
        return target.name
    return None


def _drops_answers(tests: list[Expr]) -> bool:
    for test in tests:
        if test.kind != "operation" or len(test.items) != 2 or test.name not in ("!=", "=="):
            continue
        value = test.items[1].value if test.items[1].kind == "constant" else None
        if not names_role(test.items[0]):
            continue
        if (test.name == "!=" and value in ("assistant", "ai", "model", "tool", "function")) or (
            test.name == "==" and value in ("user", "human")
        ):
            return True
    return False


def _stored(*exprs: Expr) -> frozenset[Source]:
    """What the messages hold before anything is done to them: a time in them was stored with them."""
    return frozenset(taint.source for expr in exprs for part in walk(expr) for taint in part.taints)


def _altered(
    shape: Shape, function: str, element: Expr, index: str | None, stored: frozenset[Source] = frozenset()
) -> str | None:
    """What is done to a message on the way, None where it stays as it is or is only converted."""
    # Ids of messages are no text of theirs.
    fields = element.call.keywords if element.call is not None else element.entries
    text = next((fields[key] for key in ("content", "text", "parts") if key in fields), None)
    found = volatile_in(shape, function, element if text is None else text, is_content, stored)
    if found and (text is not None or not _IDS.search(found)):
        return f"{found} is written into earlier messages"
    for part in walk(element):
        if part.kind == "conditional" and index and _mentions(part.items[0], index):
            return "earlier messages change with their distance from the end"
        if part.kind == "operation" and part.name == "-" and index and _from_end(shape, function, part, index):
            return "earlier messages change with their distance from the end"
        if part.kind == "subscript" and part.items[1].kind == "slice" and is_content(part.items[0]):
            return "earlier messages are cut"
        if part.call is not None:
            name = last_part(part.call.name)
            if name in _IMAGE:
                return "images of earlier messages are encoded again"
            if name in _SPACE and part.call.receiver is not None and is_content(part.call.receiver):
                return _SPACE_CHANGED
            if name == "replace" and part.call.receiver is not None and is_content(part.call.receiver):
                return "text is replaced in earlier messages"
            if name == "sub" and any(is_content(arg) for arg in part.call.args):
                return "text is replaced in earlier messages"
    return None


def _from_end(shape: Shape, function: str, difference: Expr, index: str) -> bool:
    """`len(history) - i`."""
    values = [shape.resolve(function, item) for item in difference.items]
    return _mentions(difference, index) and any(v.call is not None and v.call.name == "len" for v in values)


def _written_into(shape: Shape, function: str, content: Expr, own: set[str]) -> str | None:
    """A parameter that is joined to the content of each earlier message."""
    pieces = parts_of(content)
    if len(pieces) < 2 or not any(is_content(piece) or piece.name in own for piece in pieces):
        return None
    for piece in pieces:
        root = (piece.name or "").partition(".")[0]
        if piece.kind == "name" and root not in own and shape.is_parameter(function, piece):
            return f"{piece.name} is written into earlier messages"
    return None


def is_content(expr: Expr) -> bool:
    if expr.kind == "attribute":
        return last_part(expr.name) in _CONTENT
    if expr.kind == "subscript":
        return expr.items[1].value in _CONTENT
    call = expr.call
    return call is not None and last_part(call.name) == "get" and bool(call.args) and call.args[0].value in _CONTENT


def _mentions(expr: Expr, name: str) -> bool:
    return any(part.name == name for part in walk(expr) if part.kind == "name")


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


def _loops(conditions: tuple[Condition, ...]) -> Iterator[Condition]:
    for condition in conditions:
        if condition.kind == "for" and condition.test is not None and condition.target is not None:
            yield condition


def senders(shape: Shape) -> set[str]:
    return {part.function for part in shape.parts} | {request.function for request in shape.requests}


def assigned(shape: Shape) -> Iterator[tuple[Span, str]]:
    """`m["content"] = …` in a loop over the history, in a function that builds a request."""
    sends = senders(shape)
    for binding in shape.view.bindings:
        target, value = binding.target, binding.value
        if target is None or value is None or binding.function not in sends or not is_content(target):
            continue
        if not is_free(shape, binding.function, binding.conditions):
            continue
        for loop in _loops(binding.conditions):
            if loop.test is None or loop.target is None or is_search(loop.test, binding.conditions):
                continue
            ranged = loop.test.call is not None and last_part(loop.test.call.name) == "range"
            over = _over(loop.test)
            root = target.items[0]
            names = {part.name for part in walk(loop.target) if part.kind == "name"}
            if ((is_history(over) and root.name in names) or (ranged and _indexed_by(root, names))) and (
                why := _why(shape, binding, value, _index_of(loop.test, loop.target))
            ):
                yield binding.span, why


def _indexed_by(root: Expr, names: set[str | None]) -> bool:
    """`messages[i]` of a loop's own `i`; `messages[-1]` is the newest message in each round."""
    return (
        root.kind == "subscript"
        and is_history(root.items[0])
        and any(part.kind == "name" and part.name in names for part in walk(root.items[1]))
    )


def _copied(shape: Shape, binding: Binding) -> bool:
    """Whether the loop runs over messages that were copied before, or copies each of them itself."""
    root = binding.target.items[0] if binding.target is not None and binding.target.items else None
    if root is not None and root.kind == "name":
        for other in shape.bindings(binding.function, root):
            made = other.value
            if made is not None and any(loop.kind == "for" for loop in other.conditions) and _is_copy(made):
                return True
    loop = next(_loops(binding.conditions), None)
    over = _over(loop.test) if loop is not None and loop.test is not None else None
    if over is None:
        return False
    value = shape.resolve(binding.function, over)
    return value.kind == "comprehension" or _is_copy(value)


def _is_copy(value: Expr) -> bool:
    """`deepcopy(message)`, `dict(message)`, `message.model_dump()`, `{**message}`."""
    name = last_part(value.call.name) if value.call is not None else ""
    return (
        "copy" in name
        or name in ("convert", "model_dump", "to_dict", "dict")
        or (value.kind == "dict" and any(item.kind == "star" for item in value.items))
    )


def all_but_last(shape: Shape) -> Iterator[tuple[Span, str]]:
    """`for m in messages[:-k]: m["content"] = …`: a message is changed as soon as k others follow it."""
    for binding in shape.view.bindings:
        target = binding.target
        if target is None or binding.value is None or not is_content(target) or not target.items:
            continue
        if overflow_guarded(shape, binding.function, binding.conditions) or is_setup(binding.function):
            continue
        root = target.items[0]
        for loop in _loops(binding.conditions):
            if loop.test is None or loop.target is None or not _all_but(loop.test):
                continue
            of_history = is_history(_over(loop.test)) and root.name == loop.target.name
            by_index = root.kind == "subscript" and is_history(root.items[0]) and root.items[1].name == loop.target.name
            if (of_history or by_index) and _unguarded_callers(shape, binding.function):
                yield binding.span, "earlier messages change with their distance from the end"


def _all_but(expr: Expr) -> bool:
    """`x[:-k]`."""
    if expr.kind != "subscript" or expr.items[1].kind != "slice":
        return False
    lower, upper, _ = expr.items[1].items
    negative = upper.kind == "operation" and upper.name == "-" and len(upper.items) == 1
    return lower.value in (None, 0, 1) and (negative or (isinstance(upper.value, int) and upper.value < 0))


def _unguarded_callers(shape: Shape, function: str) -> bool:
    """Whether a helper runs on each request, as far as its own file shows."""
    callers = shape.callers(function)
    return not callers or any(not overflow_guarded(shape, call.function, call.conditions) for call in callers)


def _why(shape: Shape, binding: Binding, value: Expr, index: str | None) -> str | None:
    if why := _altered(shape, binding.function, value, index):
        # What people wrote was not generated: stripped in the same way each time, it stays the same.
        return None if why == _SPACE_CHANGED and of_people(binding.conditions) else why
    own = [piece for piece in parts_of(value) if is_content(piece)]
    added = binding.operator == "+=" or (len(own) == 1 and len(parts_of(value)) > 1 and not _copied(shape, binding))
    if added:
        # In place: the next turn adds it once more.
        return "text is added to earlier messages"
    tests = [item.test for item in binding.conditions if item.kind == "if" and item.test is not None]
    if index and any(_mentions(test, index) for test in tests):
        return "earlier messages change with their distance from the end"
    return None


def appended(shape: Shape) -> Iterator[tuple[Span, str]]:
    """`messages.append({… m …})` in a loop over the history."""
    sends = senders(shape)
    named = {(shape.home(part.function, part.expr.name), part.expr.name) for part in shape.parts if part.expr.name}
    kept: dict[int, list[Call]] = {}
    for call in shape.view.calls:
        root = call.name.rpartition(".")[0]
        if last_part(call.name) != "append" or not call.args or call.function not in sends:
            continue
        if (shape.home(call.function, root), root) not in named:
            continue
        for loop in _loops(call.conditions):
            if loop.test is None or loop.target is None or not is_history(_over(loop.test)):
                continue
            kept.setdefault(id(loop.test), []).append(call)
            if not is_free(shape, call.function, call.conditions):
                continue
            item = shape.resolve(call.function, call.args[0])
            if item.kind in ("dict", "call", "fstring", "conditional"):
                index = _index_of(loop.test, loop.target)
                own = {part.name for part in walk(loop.target) if part.kind == "name" and part.name}
                tests = [test.test for test in call.conditions if test.kind in ("if", "left") and test.test is not None]
                stored = _stored(loop.test)
                if why := _altered(shape, call.function, item, index, stored) or _joined(
                    shape, call.function, item, own
                ):
                    yield call.span, why
                elif index and any(_mentions(test, index) and _counts_from_end(test) for test in tests):
                    yield call.span, "earlier messages change with their distance from the end"
    for calls in kept.values():
        # Another append in the same loop takes care of the other roles.
        if (
            len(calls) == 1
            and is_free(shape, calls[0].function, calls[0].conditions)
            and _skips_answers(calls[0].conditions)
            and not _refuses_others(shape, calls[0])
        ):
            yield calls[0].span, "answers or tool results are left out of the history"


def _refuses_others(shape: Shape, kept: Call) -> bool:
    """Whether messages of other roles are warned about where they are met: such a chat has none."""
    loops = [loop.test for loop in _loops(kept.conditions)]
    return any(
        call.function == kept.function
        and last_part(call.name) in ("warning", "warn", "error")
        and any(loop.test is known for loop in _loops(call.conditions) for known in loops)
        for call in shape.view.calls
    )


def _counts_from_end(test: Expr) -> bool:
    """`i < len(messages) - 5`."""
    return any(
        part.kind == "operation"
        and part.name == "-"
        and part.items[0].call is not None
        and part.items[0].call.name == "len"
        for part in walk(test)
    )


def _skips_answers(conditions: tuple[Condition, ...]) -> bool:
    for condition in conditions:
        test = condition.test
        if condition.kind not in ("if", "left") or test is None or test.kind != "operation" or len(test.items) != 2:
            continue
        if not names_role(test.items[0]) or test.name not in ("==", "!="):
            continue
        value, same = test.items[1].value, (test.name == "==") != condition.negated
        if (value in ("assistant", "ai") and not same) or (value in ("user", "human") and same):
            return True
    return False
