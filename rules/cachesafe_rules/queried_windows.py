"""Chats of which only the newest rows are read from a database, and messages that a graph is told to forget."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cachesafe_rules.expressions import constant_text, is_history, last_part, walk
from cachesafe_rules.model import Expr
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.shape import Part, Shape

__all__ = ["forgotten", "reads_newest_rows"]

_NEWEST = lazy_pattern(r"\bORDER\s+BY\b.{0,80}\bDESC\b.{0,20}\bLIMIT\b(?!\s*1\b)", re.IGNORECASE | re.DOTALL)
_RUNS = frozenset({"execute", "fetch", "fetchall", "all", "scalars", "query", "select", "fetch_all", "read_sql"})
_HOPS = 3


def reads_newest_rows(shape: Shape, part: Part) -> bool:
    """`conn.execute("… ORDER BY id DESC LIMIT 10")`, `query.order_by(Message.id.desc()).limit(10).all()`."""
    call = part.expr.call
    if call is None or last_part(call.name) not in _RUNS:
        return False
    ordered = limited = False
    for inner in _spelt_out(shape, part.function, part.expr, _HOPS):
        text = constant_text(inner)
        if text is not None and _NEWEST.search(text):
            return True
        if inner.call is not None:
            method = last_part(inner.call.name)
            if method == "order_by":
                ordered = ordered or any(_is_descending(arg) for arg in inner.call.args)
            limited = limited or (method == "limit" and bool(inner.call.args) and inner.call.args[0].value != 1)
    return ordered and limited


def _is_descending(arg: Expr) -> bool:
    """`desc(Message.id)`, `Message.id.desc()`, `"-id"`."""
    text = constant_text(arg)
    named = any(part.call is not None and last_part(part.call.name) == "desc" for part in walk(arg))
    return named or (text is not None and text.startswith("-"))


def _spelt_out(shape: Shape, function: str, expr: Expr, depth: int) -> Iterator[Expr]:
    """What a call is made of, names followed."""
    for part in walk(expr):
        yield part
        if depth and part.kind == "name":
            value = shape.resolve(function, part)
            if value is not part:
                yield from _spelt_out(shape, function, value, depth - 1)


def forgotten(shape: Shape) -> Iterator[Part]:
    """`[RemoveMessage(id=m.id) for m in messages[:-2]]`: what is taken out of the state of a graph."""
    values = [(d.function, d.conditions, v) for d in shape.view.dicts for v in d.expr.entries.values()]
    values += [(b.function, b.conditions, b.value) for b in shape.view.bindings if b.value is not None]
    for function, conditions, value in values:
        made = value.items[-1].call if value.kind == "comprehension" else None
        if made is None or last_part(made.name) != "RemoveMessage":
            continue
        gone = shape.resolve(function, value.generators[0].iterable)
        if gone.kind == "subscript" and gone.items[1].kind == "slice" and is_history(gone.items[0]):
            yield Part(gone, function, value.span, conditions)
