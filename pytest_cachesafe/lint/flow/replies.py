"""What an object keeps of the last reply: what is set from its usage is another value in the next request."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.atoms import merge
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import Value

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["kept_of_reply", "reads_usage"]

# How replies name what they used, whoever sent them.
_USAGE = lazy_pattern(r"^(?:usage|usage_metadata|token_usage)$")
_FIELDS = lazy_pattern(
    r"^(?:total|prompt|completion|input|output|cached|used)_tokens?(?:_count)?$|^tokens_used$|^(?:prompt_)?eval_count$"
)
_SETS_UP = frozenset(("__init__", "__post_init__", "reset", "clear"))


def kept_of_reply(engine: Engine, frame: Frame, target: ast.expr, node: ast.expr, value: Value) -> Value:
    """The value that an attribute gets, with its being set anew by each reply."""
    function = frame.function
    if not isinstance(target, ast.Attribute) or function is None or function.name in _SETS_UP:
        return value
    if not reads_usage(node):
        return value
    spelt = dotted_name(target)
    anew = engine.source(frame, target, "state", "call", f"{spelt}, which each reply sets anew,")
    return Value(merge(value.atoms, anew.atoms), value.shape, value.latent)


def reads_usage(node: ast.expr) -> bool:
    """Whether an expression reads how many tokens a reply took: `reply.usage.total_tokens`, `data["usage"]["…"]`."""
    fields = usage = False
    for part in ast.walk(node):
        word = part.attr if isinstance(part, ast.Attribute) else ""
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            word = part.value
        elif isinstance(part, ast.Name):
            word = part.id
        if _USAGE.match(word):
            usage = True
        elif not isinstance(part, ast.Name) and _FIELDS.match(word):
            fields = True
    return usage and fields
