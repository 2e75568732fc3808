"""Run one rule over a small program; for the flow analysis stand direct calls of clocks and random sources."""

from __future__ import annotations

import ast

from cachesafe_rules.api import Context, Report, Rule
from cachesafe_rules.model import ModuleView, Source, Span, Taint
from pytest_cachesafe.lint.lazy import dotted
from pytest_cachesafe.lint.view import build_view

_SOURCES = {
    "now": ("clock", "second"),
    "utcnow": ("clock", "second"),
    "time": ("clock", "second"),
    "uuid4": ("random", "call"),
    "random": ("random", "call"),
    "token_hex": ("random", "call"),
}


def view_of(code: str, filename: str = "example.py") -> ModuleView:
    lines = code.splitlines()

    def column(row: int, offset: int) -> int:
        return len(lines[row - 1].encode()[:offset].decode()) + 1

    def taints(node: ast.AST) -> tuple[Taint, ...]:
        found = []
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                name = dotted(part.func)
                kind = _SOURCES.get(name.rpartition(".")[2])
                if kind is not None:
                    found.append(Taint(Source(kind[0], kind[1], name, Span(filename, part.lineno, 1, part.lineno, 2))))
        return tuple(found)

    return build_view(ast.parse(code), filename, column, taints)


def check_example(rule: Rule, code: str) -> list[Report]:
    """The rule's reports on the program, in the order of their places."""
    reports = rule.check(Context("example.py", view_of(code)))
    return sorted(reports, key=lambda report: (report.span, report.message))
