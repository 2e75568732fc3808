"""Examples that are drawn at random and put in front of something else in a list of messages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
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

__all__ = ["Keys", "drawn_examples", "drawn_in_call", "drawn_messages", "draws", "followed", "has_own_seed", "is_seeded"]

Keys = frozenset[tuple[Any, ...]]
_NONE: Keys = frozenset()

# The messages of a request by their keyword, and calls that take them first.
_MESSAGES = ("messages", "input", "contents")
_TAKES = lazy_pattern(
    r"^_*a?(?:invoke|stream|chat|complete|completion|generate\w*|ask\w*|send\w*|predict|query|call\w*|respond|batch|"
    r"from_messages|model|llm)$"
)
_GENERATORS = lazy_pattern(r"(?:^|\.)(?:Random|RandomState|default_rng)$")
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


def drawn_messages(engine: Engine, frame: Frame, given: Value, where: ast.expr) -> None:
    """The same of a list of messages that a function gives back to whoever sends it."""
    if isinstance(given.shape, ListShape) and _holds_messages(given.shape):
        drawn_examples(engine, frame, None, given, where)


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
    return any(
        isinstance(node, ast.Call) and node.args and _SEEDS.search(dotted_name(node.func))
        for node in _own(engine, frame)
    )


def has_own_seed(engine: Engine, frame: Frame, node: ast.Call) -> bool:
    """Whether a call draws from a generator that is made there with a seed, `rng = Random(7)`: each time the same. One
    that is made elsewhere goes on from where the call before left it."""
    if not isinstance(node.func, ast.Attribute):
        return False
    if _is_seeded_maker(node.func.value):
        return True
    name = dotted_name(node.func.value)
    made = [
        one.value
        for one in _own(engine, frame)
        if isinstance(one, ast.Assign) and any(dotted_name(target) == name for target in one.targets)
    ]
    return bool(name) and bool(made) and all(map(_is_seeded_maker, made))


def _is_seeded_maker(node: ast.expr) -> bool:
    """`random.Random(7)`, `np.random.default_rng(seed=SEED)`; the time as a seed is none."""
    if not isinstance(node, ast.Call) or not _GENERATORS.search(dotted_name(node.func)):
        return False
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return bool(given) and not any(isinstance(part, ast.Call) for seed in given for part in ast.walk(seed)) and not any(
        isinstance(seed, ast.Constant) and seed.value is None for seed in given
    )  # fmt: skip


def _own(engine: Engine, frame: Frame) -> Iterator[ast.AST]:
    """What runs where a call stands: its function, or the statements of the module that run at import."""
    if frame.function is not None:
        yield from ast.walk(engine.node(frame.function))
        return
    stack: list[ast.AST] = list(frame.module.body)
    while stack:
        node = stack.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield node
            stack.extend(ast.iter_child_nodes(node))
