"""Sources in an expression that differ between two requests of one chat.

The flow analysis follows values into system texts and tools; messages and markers are none of its sinks, so a function
without a sink may be unknown to it. Direct calls of clocks and random sources are therefore recognised here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cachesafe_rules.expressions import constant_text, last_part, walk
from cachesafe_rules.model import Call, Expr, Source
from cachesafe_rules.policy import spelling
from cachesafe_rules.shape import Shape

__all__ = ["certain_parts", "volatile", "volatile_in"]

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


def certain_parts(root: Expr | None, old: Callable[[Expr], bool] | None = None) -> Iterator[Expr]:
    """An expression and what its value is made of on every evaluation: of `given or fresh()` and
    `given if given else fresh()` only what was given, of a lambda nothing, of a call the arguments and the receiver.
    What is `old` is left out."""
    stack = [root] if root is not None else []
    for _ in range(_LIMIT):
        if not stack:
            return
        expr = stack.pop()
        if old is not None and old(expr):
            continue
        yield expr
        call = expr.call
        if call is not None:
            if _is_daily(call):
                continue
            stack += [*call.args, *call.keywords.values()]
            if call.receiver is not None:
                stack.append(call.receiver)
        elif expr.kind == "operation" and expr.name == "or":
            stack += expr.items[:1]
        elif expr.kind == "conditional":
            stack += _chosen(expr)
        elif expr.kind == "attribute":
            # `uuid4().hex`; of `a.b` nothing more is known than of its name.
            stack += expr.items if (expr.name or "").startswith(".") else []
        elif expr.kind != "lambda":
            stack += [*expr.entries.values(), *expr.items]


def _chosen(conditional: Expr) -> list[Expr]:
    """The branches, without the fallback of a value that the test asks for."""
    test, then, other = conditional.items
    asked = {part.name for part in walk(test) if part.kind in ("name", "attribute")}
    for given in (then, other):
        if given.kind in ("name", "attribute") and given.name in asked:
            return [given]
    return [then, other]


def volatile(
    root: Expr | None, old: Callable[[Expr], bool] | None = None, stored: frozenset[Source] = frozenset()
) -> str | None:
    """The first such source in an expression, as it stands in a sentence.

    `old` tells expressions apart that read what is being replaced: what they hold is not written by this expression.
    `stored` sources lie in what is sent again and do not count.
    """
    for expr in certain_parts(root, old):
        if old is not None and any(map(old, walk(expr))):
            # What else is in it comes by itself.
            pass
        elif not (expr.kind == "conditional" or (expr.kind == "operation" and expr.name == "or")):
            for taint in expr.taints:
                source = taint.source
                if source in stored:
                    continue
                if source.kind in _KINDS and not source.frozen and source.granularity not in _LONG:
                    return spelling(source)
        if expr.call is not None and _is_source(expr.call):
            return f"{expr.call.name}()"
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


def volatile_in(
    shape: Shape,
    function: str,
    expr: Expr | None,
    old: Callable[[Expr], bool] | None = None,
    stored: frozenset[Source] = frozenset(),
) -> str | None:
    """The same, with names looked up in their function, twice at most."""
    stack = [(expr, 2)] if expr is not None else []
    for _ in range(_LIMIT):
        if not stack:
            break
        part, depth = stack.pop()
        if found := volatile(part, old, stored):
            return found
        if depth < 1:
            continue
        for name in certain_parts(part, old):
            if name.kind in ("name", "attribute"):
                value = shape.resolve(function, name, 1)
                if value is not name and value.kind != "constant":
                    stack.append((value, depth - 1))
    return None
