"""Where a loop goes from the newest message back and changes what lies further off than a number of messages or parts
that it counts: with each turn the border moves on."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.expressions import is_history, last_part, walk
from cachesafe_rules.kept import holds_sent
from cachesafe_rules.model import Binding, Condition, Expr
from cachesafe_rules.shape import Shape

__all__ = ["counted_back", "counted_down"]

_DEPTH = 4
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_AGAINST = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def counted_back(shape: Shape, binding: Binding) -> Expr | None:
    """The list whose older messages a statement changes: `for m in reversed(x): … if seen > 3: m["content"] = …`,
    also in their parts, `for i in range(len(x) - 1, -1, -1)`, and with a count that runs down."""
    function, target = binding.function, binding.target
    for number, loop in enumerate(binding.conditions):
        messages = _backwards(loop.test) if loop.kind == "for" and loop.test is not None else None
        if messages is None or loop.target is None or target is None or not holds_sent(shape, function, messages):
            continue
        names = _parts_of(shape, function, loop, binding.conditions[number + 1 :])
        changed = _root(target) in names or _is_item(target, messages, names)
        if changed and any(_is_far(shape, function, loop, *test) for test in _tests(binding.conditions)):
            return messages
    return None


def counted_down(shape: Shape, binding: Binding) -> Expr | None:
    """The chat of which a loop changes the oldest messages until a number of newer ones is left: `images > keep`, with
    `images -= 1` for each that goes."""
    function, target = binding.function, binding.target
    loop = next((c for c in binding.conditions if c.kind == "for" and c.test is not None), None)
    if loop is None or target is None or _root(target) not in _names(loop.target):
        return None
    whole = _origin(shape, function, loop.test, _DEPTH)
    if whole is None or not holds_sent(shape, function, whole):
        return None
    for item in shape.view.bindings:
        inside = item.function == function and item.operator == "op=" and _is_in(item.conditions, loop)
        name = item.target.name if inside and item.target is not None and item.target.kind == "name" else None
        compared = (c.test for c in item.conditions if c.kind == "if" and c.test is not None)
        if name and any(part.name == name for test in compared for part in walk(test)):
            begun = [b.value for b in shape.bindings(function, Expr("name", item.span, name=name)) if b.operator == "="]
            if any(v is not None and v.call is not None and v.call.name in ("sum", "len") for v in begun):
                return whole
    return None


def _origin(shape: Shape, function: str, expr: Expr | None, depth: int) -> Expr | None:
    """The chat that a list was picked from, in one step or several."""
    if expr is None or depth < 1:
        return None
    if is_history(expr) and expr.call is None:
        return expr
    value = shape.resolve(function, expr)
    return _origin(shape, function, value.generators[0].iterable, depth - 1) if value.kind == "comprehension" else None


def _backwards(iterable: Expr) -> Expr | None:
    """The list of `reversed(x)`, `x[::-1]`, `range(len(x) - 1, -1, -1)`, with or without `enumerate`."""
    call = iterable.call
    if call is not None and call.args:
        name = last_part(call.name)
        if name in ("enumerate", "list"):
            return _backwards(call.args[0])
        if name == "reversed":
            return _forwards(call.args[0])
        if name == "range" and len(call.args) == 3 and _is_minus_one(call.args[2]):
            return _measured(call.args[0])
        return None
    if iterable.kind != "subscript" or iterable.items[1].kind != "slice":
        return None
    return _forwards(iterable.items[0]) if _is_minus_one(iterable.items[1].items[2]) else None


def _forwards(expr: Expr) -> Expr | None:
    """The list of `x`, `list(enumerate(x))`, `range(len(x))`."""
    if is_history(expr) and expr.call is None:
        return expr
    call = expr.call
    if call is None or not call.args:
        return None
    if last_part(call.name) == "range":
        return _measured(call.args[-1])
    return _forwards(call.args[0]) if last_part(call.name) in ("enumerate", "list") else None


def _measured(expr: Expr) -> Expr | None:
    """The list whose length is asked for."""
    sizes = (part.call.args[0] for part in walk(expr) if part.call and part.call.name == "len" and part.call.args)
    return next((size for size in sizes if is_history(size)), None)


def _is_minus_one(expr: Expr) -> bool:
    return expr.value == -1 or (expr.kind == "operation" and expr.name == "-" and expr.items[0].value == 1)


def _parts_of(shape: Shape, function: str, loop: Condition, inner: tuple[Condition, ...]) -> set[str]:
    """The names that stand for a message of the loop, or for a part of one."""
    names = _names(loop.target)
    for binding in shape.view.bindings:
        # `blocks = message["content"]`
        inside = binding.function == function and any(c.test is loop.test for c in binding.conditions)
        if inside and binding.operator == "=" and binding.value is not None and _root(binding.value) in names:
            names |= _names(binding.target)
    for condition in inner:
        over = condition.test if condition.kind == "for" else None
        if over is not None and any(part.name in names for part in walk(over)):
            names |= _names(condition.target)
    return names


def _names(target: Expr | None) -> set[str]:
    return {part.name for part in walk(target) if part.kind == "name" and part.name} if target is not None else set()


def _root(expr: Expr) -> str | None:
    """`m` of `m["content"][0]`, `m.content`."""
    while expr.kind in ("subscript", "attribute") and expr.items:
        expr = expr.items[0]
    return expr.name if expr.kind == "name" else None


def _is_item(target: Expr, messages: Expr, names: set[str]) -> bool:
    """`x[i]["content"]`, `x[i]`."""
    while target.kind in ("subscript", "attribute") and target.items:
        if target.kind == "subscript" and target.items[0].name == messages.name:
            return any(part.name in names for part in walk(target.items[1]))
        target = target.items[0]
    return False


# How far off it is


def _tests(conditions: tuple[Condition, ...]) -> Iterator[tuple[Expr, bool]]:
    """What is known to hold or not to hold there."""
    stack = [(c.test, c.negated) for c in conditions if c.kind in ("if", "left") and c.test is not None]
    while stack:
        test, negated = stack.pop()
        yield test, negated
        if test.kind == "operation" and test.name == "not":
            stack.append((test.items[0], not negated))
        elif test.kind == "operation" and test.name == ("or" if negated else "and"):
            stack += [(item, negated) for item in test.items]


def _is_far(shape: Shape, function: str, loop: Condition, test: Expr, negated: bool) -> bool:
    """Whether a test holds from some number on: `seen > 3`, `len(kept) >= n`, `left <= 0`, the place from the end."""
    if test.kind == "name" and not negated:
        # `if seen:` behind `seen = True`
        inside = [b for b in shape.bindings(function, test) if _is_in(b.conditions, loop)]
        return any(b.value is not None and b.value.value is True for b in inside)
    if test.kind != "operation" or len(test.items) != 2 or test.name not in _TURNED:
        return False
    for counter, operator in ((test.items[0], test.name), (test.items[1], _TURNED[test.name])):
        operator = _AGAINST[operator] if negated else operator
        step = _step(shape, function, loop, counter)
        if step is not None and (operator in (">", ">=")) is (step > 0):
            return True
    return False


def _step(shape: Shape, function: str, loop: Condition, counter: Expr) -> int | None:
    """Whether the loop counts something up (1) or down (-1)."""
    call = counter.call
    if call is not None and call.name == "len" and call.args:
        grown = shape.mutations(function, call.args[0])
        inside = [c for c in grown if last_part(c.name) in ("append", "add") and _is_in(c.conditions, loop)]
        return 1 if inside else None
    if counter.kind != "name":
        return None
    over = loop.test.call if loop.test is not None else None
    pair = loop.target if over is not None and over.name == "enumerate" else None
    if pair is not None and pair.kind == "tuple" and pair.items[0].name == counter.name:
        return 1
    for binding in shape.bindings(function, counter):
        if binding.operator in ("+=", "op=") and _is_in(binding.conditions, loop):
            return 1 if binding.operator == "+=" else -1
    return None


def _is_in(conditions: tuple[Condition, ...], loop: Condition) -> bool:
    return any(condition.test is loop.test for condition in conditions)
