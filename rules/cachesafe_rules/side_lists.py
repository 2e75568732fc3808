"""Message lists that ask a model about a chat instead of continuing it: for a title, a summary, a search query."""

from __future__ import annotations

import re

from cachesafe_rules.expressions import constant_text, parts_of, walk, words_of_name
from cachesafe_rules.model import Expr, MessageItem, MessageList, Span
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.shape import Shape

__all__ = ["only_asked_about"]

# How such a task begins; what an assistant may do as well as answer stands farther back.
_TASK = lazy_pattern(
    r"^\W*(?:you (?:are|will be) \w+ (?:\w+ )?(?:summari[sz]er|titler|query (?:writer|rewriter|generator))|"
    r"(?:please )?(?:summari[sz]e|condense|(?:give|write|generate|create|suggest|rewrite|make)\b[^.\n]{0,60}"
    r"\b(?:title|summary|(?:search |standalone )?quer(?:y|ies)|keywords|follow-?up questions)\b))",
    re.IGNORECASE,
)
_WORDS = frozenset({"title", "summary", "summarize", "summarise", "summarization", "query", "rewrite", "condense"})


def only_asked_about(shape: Shape) -> frozenset[Span]:
    """The places of the parts that stand in such lists alone."""
    side: set[Span] = set()
    main: set[Span] = set()
    for found in shape.view.lists:
        into = side if _asks_about(shape, found) else main
        for item in found.items:
            into.update(_places(shape, found, item))
    return frozenset(side - main)


def _places(shape: Shape, found: MessageList, item: MessageItem) -> set[Span]:
    expr = item.expr.items[0] if item.expr.kind == "star" else item.expr
    return {expr.span, shape.resolve(found.function, expr).span}


def _asks_about(shape: Shape, found: MessageList) -> bool:
    first = next((item for item in found.items if item.role == "system"), None)
    if first is None or first.content is None:
        return False
    named = first.content
    if named.kind in ("name", "attribute") and not _WORDS.isdisjoint(words_of_name(named)):
        return True
    return bool(_TASK.search(_beginning(shape.resolve(found.function, named))))


def _beginning(expr: Expr) -> str:
    """The constant text at the front."""
    for part in parts_of(expr)[:1]:
        for inner in walk(part):
            if (text := constant_text(inner)) is not None:
                return text
    return ""
