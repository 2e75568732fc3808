"""Fixes for a clock in a system text: move it to the newest user message, or keep the day only.

Both change what the model reads, so both are unsafe fixes.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from cachesafe_rules.api import Edit, Fix, Report
from cachesafe_rules.concrete import Piece, read
from cachesafe_rules.edits import places, statement_at
from cachesafe_rules.message_edits import is_clock, move_to_user
from cachesafe_rules.model import Span
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.scope import Scope

if TYPE_CHECKING:
    import libcst as cst

__all__ = ["clock_fix", "day_format", "day_resolution", "move_to_user"]

# strftime directives finer than a day, zone and padding flags included.
_TIME = r"%[-_0^#:]*[HIklMSsfpPXcTRrZzN]"
# A run of them with what joins them, and what joins them to the date before or behind.
_TIMES = rf"(?:T?{_TIME}|[\s:.,/hZ(_-]+(?={_TIME}))+"
_BEFORE = lazy_pattern(rf"[\s,;:|·@(_-]*(?:\b(?:at|um)\b\s*)?(?:T(?=%))?{_TIMES}\)?\s*(?:Z|UTC|GMT)?\)?$")
_ANY_DATE = lazy_pattern(r"%[-_0^#]*[YyGmbBhdejxDFcsuaAVUW]")
_DAY = lazy_pattern(r"%[-_0^#]*[djxDFeu]|%[-_0^#]*[yYG].*%[-_0^#]*[mbBhVUW]", re.DOTALL)
# Longer ones are not formats of dates.
_LONG = 200
# Sources of one report that a fix is tried for.
_MANY = 12
_ISO_DAY = "%Y-%m-%d"
_NOW = frozenset(f"{head}datetime.{call}" for head in ("", "datetime.", "dt.") for call in ("now", "utcnow", "today"))


def clock_fix(report: Report, source: str) -> Fix | None:
    """The best fix for a clock in a system text: into the newest user message, else cut to the day.

    None where a report folds more sources than anybody would want moved at once; each costs a walk over the file.
    """
    if len(places(report)) > _MANY:
        return None
    return move_to_user(report, source) or day_resolution(report, source)


def day_format(text: str) -> str | None:
    """A strftime format without its time of day; None where it has none, or nothing else.

    A format in which the time does not stand behind the date becomes `%Y-%m-%d`.
    """
    if not re.search(_TIME, text) or not _ANY_DATE.search(text):
        return None
    if len(text) > _LONG:
        return _ISO_DAY
    cut = _BEFORE.sub("", text, count=1)
    return cut if cut and not re.search(_TIME, cut) and _DAY.search(cut) else _ISO_DAY


def day_resolution(report: Report, source: str) -> Fix | None:
    """Cut the clock of a report to the day: in its format string, by `.date()`, or in an f-string's format."""
    edits: dict[Edit, None] = {}
    for place in places(report):
        span = statement_at(source, place)
        piece = read(source).at(span.row, span.end_row)
        if piece is not None:
            found = piece.nodes
            area = (span.row, span.column, span.end_row, span.end_column)
            for where, node in found:
                if area[:2] <= where[:2] and where[2:] <= area[2:]:
                    edits.update(dict.fromkeys(_cut(piece, node, span.filename)))
    if not edits:
        return None
    return Fix("keep the day only (the prefix is then rewritten once a day)", "unsafe", tuple(edits))


def _cut(piece: Piece, node: cst.CSTNode, filename: str) -> list[Edit]:
    import libcst as cst

    if isinstance(node, cst.FormattedStringExpression):
        return _cut_field(piece, node, filename)
    if not isinstance(node, cst.Call):
        return []
    if isinstance(node.func, cst.Name):
        known = node.func.value == "str" and len(node.args) == 1 and _is_now(piece, node.args[0].value)
        return [_dated(piece, node.args[0].value, filename)] if known else []
    if not isinstance(node.func, cst.Attribute):
        return []
    method, receiver = node.func.attr.value, node.func.value
    if method == "strftime" and node.args:
        text, given = node.args[0].value, [arg.value for arg in node.args[1:]] or [receiver]
        # Of a time that is not now nothing is cut.
        plain = len(node.args) == 1 and piece.module.code_for_node(receiver) == "time"
        known = plain or any(map(partial(_reads_clock, piece), given))
        return _cut_literal(piece, text, filename) if isinstance(text, cst.SimpleString) and known else []
    if method == "isoformat" and _is_now(piece, receiver):
        row, column = piece.outer(receiver)[2:]
        end_row, end_column = piece.place(node)[2:]
        # isoformat of a date takes no arguments.
        return [Edit(Span(filename, row, column, end_row, end_column), ".date().isoformat()")]
    return []


def _cut_literal(piece: Piece, text: cst.SimpleString, filename: str) -> list[Edit]:
    raw = text.raw_value
    kept = day_format(raw) if "\\" not in raw and "b" not in text.prefix.lower() else None
    if kept is None:
        return []
    row, column, end_row, end_column = piece.place(text)
    start = column + len(text.prefix) + len(text.quote)
    return [Edit(Span(filename, row, start, end_row, end_column - len(text.quote)), kept)]


def _cut_field(piece: Piece, field: cst.FormattedStringExpression, filename: str) -> list[Edit]:
    import libcst as cst

    if field.format_spec:
        spec = field.format_spec
        if len(spec) != 1 or not isinstance(spec[0], cst.FormattedStringText):
            return []
        kept = day_format(spec[0].value) if _reads_clock(piece, field.expression) else None
        return [] if kept is None else [Edit(Span(filename, *piece.place(spec[0])), kept)]
    if field.conversion is None and field.equal is None and _is_now(piece, field.expression):
        return [_dated(piece, field.expression, filename)]
    return []


def _dated(piece: Piece, node: cst.BaseExpression, filename: str) -> Edit:
    row, column = piece.outer(node)[2:]
    return Edit(Span(filename, row, column, row, column), ".date()")


def _reads_clock(piece: Piece, node: cst.BaseExpression) -> bool:
    return is_clock(piece, Scope.of(piece, node), node)


def _is_now(piece: Piece, node: cst.BaseExpression) -> bool:
    """Whether an expression is a whole datetime, here or through a name bound to one."""
    import libcst as cst

    if isinstance(node, cst.Name):
        bound = Scope.of(piece, node).bound(node)
        return isinstance(bound, cst.Call) and _is_now(piece, bound)
    return isinstance(node, cst.Call) and piece.module.code_for_node(node.func) in _NOW
