"""Whether a report's own text goes on behind its value: fixed text that every request has in common."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.files import File, Files
from pytest_cachesafe.lint.evidence.prefix.behind import Place, around
from pytest_cachesafe.lint.evidence.prefix.single_requests import CLOSING
from pytest_cachesafe.lint.evidence.trees import Function, nodes_of, spelt

if TYPE_CHECKING:
    from cachesafe_rules.api import Report

__all__ = ["fixed_behind", "is_at", "sources_of"]

_FILLED = lazy_pattern(r"(?:fills |reaches the placeholder )\{(\w+)\}")
_LINES = frozenset({"instructions", "system_prompt", "system_instruction"})
_FILLS = frozenset({"format", "render", "substitute", "safe_substitute", "format_map", "replace"})


def sources_of(report: Report) -> Sequence[Mapping[str, Any]]:
    """The values of a report."""
    found: Sequence[Mapping[str, Any]] = report.data.get("sources") or ()
    return found


def is_at(node: ast.AST, source: Mapping[str, Any]) -> bool:
    """Whether an expression is the one that a value is read in."""
    if not isinstance(node, ast.expr):
        return False
    at = node.lineno, node.col_offset + 1, node.end_lineno, (node.end_col_offset or 0) + 1
    return at == (source["row"], source["column"], source["end_row"], source["end_column"])


def fixed_behind(report: Report, files: Files, unknown: int = 0) -> bool:
    """Whether more than a closing line of fixed text stands behind the value, or it fills a text of another file;
    `unknown`: how much a name stands for of which nothing is known."""
    name, row, end = report.span.filename, report.span.row, report.span.end_row
    file = files[name]
    for field in {found[1] for step in report.steps if (found := _FILLED.match(step.message)) is not None}:
        behind = [length for text in file.texts if (length := _behind(text, field)) is not None]
        if max(behind, default=CLOSING) >= CLOSING:
            return True
    if any(
        _fills_unseen(files[step.filename], step.row) for step in report.steps if "put into text by ." in step.message
    ):
        return True
    if any(_fills_unseen(files[source["filename"]], source["row"], source) for source in sources_of(report)):
        return True
    function = file.around(row)
    if function is None:
        return False
    rows = frozenset(step.row for step in report.steps if step.filename == name)
    starts = frozenset((s["row"], s["column"]) for s in sources_of(report) if s["filename"] == name)
    place = Place(function, rows | {start for start, _ in starts}, starts, file.known, file.constants, unknown)
    seen = [around(text, place) for text in _texts(function, row, end)]
    return any(one is not None and one.behind >= CLOSING for one in seen)


def _behind(text: str, name: str) -> int | None:
    """How much of a template is fixed behind its placeholder; None where it has none."""
    found = [m.end() for m in re.finditer(r"\{\{?[^{}\n]*\b" + re.escape(name) + r"\b[^{}\n]*\}\}?", text)]
    return len(re.sub(r"\{[^{}\n]*\}", "", text[found[-1] :]).strip()) if found else None


def _fills_unseen(file: File, row: int, source: Mapping[str, Any] | None = None) -> bool:
    """Whether a call in a row fills a text of another file; the call that reads a value, if one is given."""
    function = file.around(row)
    for node in nodes_of(function, ast.Call) if function is not None else ():
        if not (isinstance(node.func, ast.Attribute) and node.func.attr in _FILLS):
            continue
        text = node.func.value
        if not node.lineno <= row <= (node.end_lineno or node.lineno) or spelt(text) in file.constants:
            continue
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        here = source is None or any(is_at(part, source) for value in given for part in ast.walk(value))
        # What a name of this function holds may be anything.
        if here and (isinstance(text, ast.Attribute) or (isinstance(text, ast.Name) and text.id.isupper())):
            return True
    return False


def _is_text(node: ast.Await | ast.Starred | ast.Attribute | ast.Subscript) -> bool:
    """Whether an expression is a text itself, not what is read off the answer to a request."""
    return isinstance(node, ast.Attribute | ast.Subscript) and not any(isinstance(n, ast.Call) for n in ast.walk(node))


def _texts(function: Function, row: int, end: int) -> Iterator[ast.expr]:
    """What a statement between two rows may send: the texts in its messages, calls and lists."""
    todo: list[ast.AST | None] = [
        getattr(node, "value", None)
        for node in nodes_of(function, ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
        if node.lineno <= end and row <= (node.end_lineno or node.lineno)
    ]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Dict):
            todo += node.values
        elif isinstance(node, ast.List | ast.Tuple):
            todo += node.elts
        elif isinstance(node, ast.Await | ast.Starred | ast.Attribute | ast.Subscript) and not _is_text(node):
            todo.append(node.value)
        elif isinstance(node, ast.expr):
            yield node
            if isinstance(node, ast.Call):
                todo += [*node.args, *(keyword.value for keyword in node.keywords)]
                # Lines that a framework joins.
                yield from (k.value for k in node.keywords if k.arg in _LINES and isinstance(k.value, ast.List))
