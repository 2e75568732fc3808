"""Tools that come and go with the state of a session, as far as an excerpt shows it."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.excerpts import is_excerpt
from cachesafe_rules.expressions import last_part, name_words
from cachesafe_rules.model import Condition, Expr, Span
from cachesafe_rules.shape import Part, Request, Shape
from cachesafe_rules.turns import is_setup

__all__ = ["changed_tools"]

# What a session is switched between.
_MODES = frozenset({"mode", "phase", "stage", "state"})
# Methods that belong to the setting up, whenever that is done.
_SETS_UP = frozenset(
    {"register", "add", "configure", "setup", "init", "initialize", "load", "with", "build", "install", "start",
     "connect", "attach", "set", "create"}
)  # fmt: skip
_GROWS = frozenset({"append", "extend", "insert", "remove", "pop", "clear", "update", "add"})


def changed_tools(shape: Shape, request: Request, tools: Expr) -> Iterator[tuple[Span, str, str]]:
    """Where the tools of a request hang on the mode of a session, or on a list that another method changes: place, why,
    and the function."""
    if not is_excerpt(shape.view):
        return
    parts = shape.flow_of_field(tools, request.function, request.conditions)
    for part in parts:
        mode = next((found for c in part.conditions if (found := _mode(shape, part, c))), None)
        if mode is not None:
            yield part.span, mode, part.function
    for name in {part.expr.name: part for part in parts if (part.expr.name or "").startswith("self.")}.values():
        yield from _written(shape, name, request.function)


def _mode(shape: Shape, part: Part, condition: Condition) -> str | None:
    """`session.mode == "plan"`: not the mode that an object was made with."""
    test = condition.test
    if condition.kind != "if" or test is None or is_setup(part.function):
        return None
    asked = test.items[0] if test.kind == "operation" and test.items else test
    if _is_set_from_outside(shape, part.function, asked):
        return asked.name
    if asked.kind != "attribute" or _MODES.isdisjoint(name_words(last_part(asked.name))):
        return None
    bound = shape.bindings(part.function, asked)
    own = (asked.name or "").startswith("self.")
    return None if own and all(not b.function or is_setup(b.function) for b in bound) else asked.name


def _is_set_from_outside(shape: Shape, function: str, asked: Expr) -> bool:
    """`goal = None` in the class, and nothing in the excerpt that sets it: the session does, while it runs."""
    if asked.kind != "attribute" or not (asked.name or "").startswith("self."):
        return False
    last = last_part(asked.name)
    declared = [b.value for b in shape.view.bindings if b.target is not None and b.target.name == last and b.value]
    return not shape.bindings(function, asked) and any(v.kind == "constant" and v.value is None for v in declared)


def _written(shape: Shape, part: Part, sends: str) -> Iterator[tuple[Span, str, str]]:
    name = part.expr.name or ""
    # Under a test it may happen once.
    changed = [(b.span, b.function) for b in shape.bindings(part.function, part.expr) if not b.conditions]
    changed += [(c.span, c.function) for c in shape.mutations(part.function, part.expr)
                if last_part(c.name) in _GROWS and not c.conditions]  # fmt: skip
    for span, function in sorted(changed):
        verbs = name_words(last_part(function))
        if function and function != sends and not is_setup(function) and _SETS_UP.isdisjoint(verbs):
            yield span, f"{name}, which {last_part(function)}() changes", function
