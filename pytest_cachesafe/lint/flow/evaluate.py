"""Values of expressions, remembered for rules."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow.module import place
from pytest_cachesafe.lint.flow.values import NOTHING

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["DEEPEST", "evaluate"]

# Expressions, and statements, that may lie in one another before the rest is taken for unknown; the recursion limit
# of the analysis is chosen for it.
DEEPEST = 800


def evaluate(engine: Engine, frame: Frame, node: ast.expr | None) -> Value:
    """The value of an expression; remembered for rules where its file is recorded and it holds something volatile."""
    if node is None:
        return NOTHING
    handler = engine.expressions.get(type(node))
    if handler is None or engine.nesting > DEEPEST:
        return NOTHING
    engine.nesting += 1
    try:
        value = handler(engine, frame, node)
    finally:
        engine.nesting -= 1
    if value.atoms and any(a.source is not None for a in value.atoms.values()):
        frame.module.tainted[place(node)] = value
    return value
