"""Texts with edits made in them, for the tests of fixes."""

from __future__ import annotations

import ast
import io
import tokenize

from cachesafe_rules.api import Edit, Fix, Report
from cachesafe_rules.model import Span, Step

NAME = "a.py"


def span_of(text: str, code: str) -> Span:
    offset = text.index(code)
    row, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
    end = offset + len(code)
    return Span(NAME, row, column, text.count("\n", 0, end) + 1, end - text.rfind("\n", 0, end))


def applied(text: str, *edits: Edit) -> str:
    starts = [0]
    for row in text.split("\n"):
        starts.append(starts[-1] + len(row) + 1)
    for edit in sorted(edits, key=lambda e: (e.span, e.text), reverse=True):
        span = edit.span
        start, end = starts[span.row - 1] + span.column - 1, starts[span.end_row - 1] + span.end_column - 1
        text = text[:start] + edit.text + text[end:]
    return text


def report(text: str, code: str, *rows: int) -> Report:
    steps = tuple(Step(NAME, row, "step") for row in rows)
    return Report("it changes", span_of(text, code), steps=steps)


def fixed(text: str, fix: Fix | None) -> str:
    assert fix is not None
    out = applied(text, *fix.edits)
    ast.parse(out)
    assert sorted(comments(out)) == sorted(comments(text))
    return out


def comments(text: str) -> list[str]:
    return [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]
