"""Examples that are drawn at random and put in front of something else in a list of messages."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.arrive import arrive
from pytest_cachesafe.lint.flow.atoms import EMPTY, is_order
from pytest_cachesafe.lint.flow.marks import role_of
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import DictShape, ListShape

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.arguments import Arguments
    from pytest_cachesafe.lint.flow.atoms import Atoms
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["Keys", "drawn_examples", "drawn_in_call", "draws", "followed", "is_seeded"]

Keys = frozenset[tuple[Any, ...]]
_NONE: Keys = frozenset()

# The messages of a request by their keyword, and calls that take them first.
_MESSAGES = ("messages", "input", "contents")
_TAKES = lazy_pattern(
    r"^_*a?(?:invoke|stream|chat|complete|completion|generate\w*|ask\w*|send\w*|predict|query|call\w*|respond|batch|"
    r"from_messages|model|llm)$"
)
_SEEDS = lazy_pattern(r"(?:^|[._])(?:seed|manual_seed|seed_everything|set_seed|seed_all)$")


def draws(atoms: Atoms) -> Atoms:
    """Those that say that a sequence was drawn or shuffled."""
    if not atoms:
        return EMPTY
    found = {k: a for k, a in atoms.items() if a.source is not None and a.source.kind == "random" and is_order(a)}
    return found or EMPTY


def followed(frame: Frame, name: str, before: Value) -> Keys:
    """What was drawn of a list behind which something is put: what the loops around draw is put there with it."""
    found = before.shape.drawn if isinstance(before.shape, ListShape) else _NONE
    last = draws(before.atoms)
    if last and frame.orders:
        own = frame.collected(name)
        last = {k: a for k, a in last.items() if k not in own}
    return found | last.keys() if last else found


def drawn_examples(engine: Engine, frame: Frame, node: ast.Call | None, given: Value, where: ast.expr) -> None:
    """The messages of a request: examples in front of the last of them are sent before what is asked."""
    if not isinstance(given.shape, ListShape) or not given.shape.drawn:
        return
    if node is not None and not _holds_messages(given.shape):
        return
    # What the loop around the request draws is what each request asks.
    own = frame.collected("")
    atoms = {k: a for k, a in draws(given.atoms).items() if k in given.shape.drawn and k not in own}
    if atoms:
        arrive(engine, frame, where, given, "few-shot messages", "few_shot", atoms=atoms)


def drawn_in_call(engine: Engine, frame: Frame, node: ast.Call, last: str, arguments: Arguments) -> None:
    """The same of a call."""
    for name in _MESSAGES:
        if name in arguments.keywords:
            drawn_examples(engine, frame, None, *arguments.keywords[name])
    if arguments.positional and _TAKES.match(last):
        drawn_examples(engine, frame, node, arguments.positional[0], arguments.nodes[0])


def _holds_messages(shape: ListShape) -> bool:
    """Whether a list begins with a message that says whose it is."""
    first = shape.items[0].shape if shape.items else None
    if isinstance(first, ListShape):
        return len(first.items) == 2 and bool(role_of(first.items[0]))
    return isinstance(first, DictShape) and "role" in first.fields


def is_seeded(engine: Engine, frame: Frame) -> bool:
    """Whether the function around sets the seed itself: then each of its draws is the same."""
    if frame.function is None:
        return False
    calls = (node for node in ast.walk(engine.node(frame.function)) if isinstance(node, ast.Call))
    return any(node.args and _SEEDS.search(dotted_name(node.func)) for node in calls)
