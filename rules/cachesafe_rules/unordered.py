"""Which expressions have no fixed order."""

from __future__ import annotations

from cachesafe_rules.expressions import last_part, walk
from cachesafe_rules.model import Binding, Call, Expr, Taint
from cachesafe_rules.observers import TOOL_WORDS
from cachesafe_rules.shape import Shape

__all__ = ["unordered"]

_KEEPS = frozenset(
    {"list", "tuple", "iter", "reversed", "enumerate", "filter", "map", "join", "dict", "fromkeys", "copy"}
)
# What gives results as they come in.
_AS_DONE = frozenset({"as_completed", "imap_unordered"})
_SETS = frozenset({"set", "frozenset", "union", "intersection", "difference", "symmetric_difference"})


def _of_these(shape: Shape, function: str, taint: Taint) -> bool:
    """Whether a set is one of what is listed here: it stands in the same function, or its way is named for such things.

    Tools that were found by way of tasks or of agents have an order of their own.
    """
    source = taint.source.span
    known = shape.view.functions.get(function)
    near = source.filename == shape.view.filename and (
        known is None or known.span.row <= source.row <= known.span.end_row
    )
    return near or any(TOOL_WORDS.search(step.message.lower()) for step in taint.steps[1:2])


def _leads_to(shape: Shape, function: str, walked: Expr) -> bool:
    """Whether a loop walks through what a function of this file gives back that is not named for tools."""
    call = walked.call
    return (
        call is not None
        and bool(shape.local_function(call, function))
        and not TOOL_WORDS.search(last_part(call.name).lower())
    )


def unordered(shape: Shape, function: str, expr: Expr, depth: int = 6) -> str | None:
    """How an expression without a fixed order arises ("a set"), None for everything else; `sorted` gives an order."""
    for taint in expr.taints:
        if taint.source.kind == "set" and _of_these(shape, function, taint):
            return "a set"
    if depth < 1:
        return None
    if expr.kind == "set" or (expr.kind == "comprehension" and expr.name == "set"):
        return "a set"
    if expr.kind == "comprehension":
        return unordered(shape, function, expr.generators[0].iterable, depth - 1)
    if expr.kind in ("name", "attribute"):
        bound = [item for item in shape.bindings(function, expr) if item.operator in ("=", ":=")]
        # The last binding counts: `tools = sorted(tools)` behind the set gives an order.
        value = bound[-1].value if bound else None
        if value is None or value is expr:
            return None
        sorts = [call for call in shape.mutations(function, expr) if last_part(call.name) == "sort"]
        if any(call.span > bound[-1].span for call in sorts):
            return None
        for call in shape.mutations(function, expr):
            # A list that is filled in a loop has the loop's order.
            for condition in call.conditions if last_part(call.name) in ("append", "extend") else ():
                if (
                    condition.kind == "for"
                    and condition.test is not None
                    and not _leads_to(shape, function, condition.test)
                    and (found := unordered(shape, function, condition.test, depth - 1))
                ):
                    return found
        return unordered(shape, bound[-1].function, value, depth - 1)
    if expr.kind == "star" or (expr.kind == "operation" and expr.name in ("+", "|", "-", "&", "^", "or")):
        return next((found for item in expr.items if (found := unordered(shape, function, item, depth - 1))), None)
    if expr.kind == "list":
        stars = [item for item in expr.items if item.kind == "star"]
        return next((found for item in stars if (found := unordered(shape, function, item, depth - 1))), None)
    if expr.call is not None:
        return _of_call(shape, function, expr, depth)
    return None


def _other_way(shape: Shape, local: str, call: Call, binding: Binding) -> bool:
    """Whether a return stands under a test of a parameter for which a call gives a constant: whether it is this call's
    is not looked into."""
    names = [name for name in shape.view.functions[local].parameters if name not in ("self", "cls")]
    given = {**dict(zip(names, call.args, strict=False)), **call.keywords}
    fixed = {name for name in names if name not in given or given[name].kind == "constant"}
    return any(
        part.kind == "name" and part.name in fixed
        for condition in binding.conditions
        if condition.test is not None and condition.kind != "for"
        for part in walk(condition.test)
    )


def _of_call(shape: Shape, function: str, expr: Expr, depth: int) -> str | None:
    call = expr.call
    if call is None:
        return None
    name = last_part(call.name)
    if name in ("set", "frozenset") and call.name == name:
        return "a set"
    if name in _AS_DONE:
        return "the order of completion"
    if name in _SETS and call.receiver is not None:
        return "a set" if unordered(shape, function, call.receiver, depth - 1) else None
    if name in _KEEPS and call.args:
        return unordered(shape, function, call.args[-1], depth - 1)
    if name in ("sample", "shuffle", "shuffled") and "random" in call.target:
        return f"{call.name}()"
    if local := shape.local_function(call, function):
        for binding in shape.returns(local):
            if _other_way(shape, local, call, binding):
                continue
            if binding.value is not None and (found := unordered(shape, local, binding.value, depth - 1)):
                return found
    return None
