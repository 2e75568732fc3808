"""Sources in an expression that differ between two requests of one chat.

The flow analysis follows values into system texts and tools; messages and markers are none of its sinks, so a function
without a sink may be unknown to it. Direct calls of clocks and random sources are therefore recognised here as well.
"""

from __future__ import annotations

from cachesafe_rules.expressions import constant_text, last_part
from cachesafe_rules.model import Call, Expr
from cachesafe_rules.shape import Shape

__all__ = ["volatile", "volatile_in"]

_KINDS = frozenset({"clock", "random", "temp", "state", "repr"})
# How often the others change: a chat does not live to see it.
_LONG = frozenset({"day", "month", "year", "user", "process", "host", "session"})
_CALLS = frozenset(
    {"datetime.now", "datetime.utcnow", "time.time", "time.time_ns", "time.ctime", "time.monotonic", "uuid.uuid1",
     "uuid.uuid4", "random.random", "random.randint", "random.choice", "random.randrange", "secrets.token_hex",
     "secrets.token_urlsafe", "os.urandom", "pendulum.now", "arrow.now", "arrow.utcnow", "timezone.now"}
)  # fmt: skip
# A format with one of these tells the time of the day.
_TIMES = ("%H", "%I", "%M", "%S", "%p", "%X", "%c", "%f", "%s", "%T", "%R")
_LIMIT = 400


def volatile(root: Expr | None) -> str | None:
    """How the first such source in an expression is spelt."""
    stack = [root] if root is not None else []
    for _ in range(_LIMIT):
        if not stack:
            break
        expr = stack.pop()
        for taint in expr.taints:
            source = taint.source
            if source.kind in _KINDS and not source.frozen and source.granularity not in _LONG:
                return source.api
        call = expr.call
        if call is not None:
            if _is_source(call):
                return call.name
            if _is_daily(call):
                continue
            stack += [*call.args, *call.keywords.values()]
            if call.receiver is not None:
                stack.append(call.receiver)
        stack += expr.entries.values()
        if expr.kind != "lambda":
            stack += expr.items
    return None


def _is_source(call: Call) -> bool:
    return ".".join(call.target.split(".")[-2:]) in _CALLS


def _is_daily(call: Call) -> bool:
    """`….strftime("%Y-%m-%d")`, `….date()`."""
    name = last_part(call.name)
    if name == "date":
        return not call.args
    layout = constant_text(call.args[-1]) if name == "strftime" and call.args else None
    return layout is not None and not any(mark in layout for mark in _TIMES)


def volatile_in(shape: Shape, function: str, expr: Expr | None) -> str | None:
    """The same, with names looked up in their function, twice at most."""
    stack = [(expr, 2)] if expr is not None else []
    for _ in range(_LIMIT):
        if not stack:
            break
        part, depth = stack.pop()
        if found := volatile(part):
            return found
        if not depth:
            continue
        for name in _names(part):
            value = shape.resolve(function, name, 1)
            if value is not name and value.kind != "constant":
                stack.append((value, depth - 1))
    return None


def _names(root: Expr) -> list[Expr]:
    """Names whose value becomes part of the expression's: of a call the arguments, not the function."""
    found: list[Expr] = []
    stack = [root]
    for _ in range(_LIMIT):
        if not stack:
            break
        expr = stack.pop()
        if expr.kind in ("name", "attribute"):
            found.append(expr)
        elif expr.call is not None:
            if _is_daily(expr.call):
                continue
            stack += [*expr.call.args, *expr.call.keywords.values()]
            if expr.call.receiver is not None:
                stack.append(expr.call.receiver)
        else:
            stack += [*expr.entries.values(), *expr.items]
    return found
