"""Clocks that are read once and kept: with an object, where a program starts, where nothing is kept yet, by a cached
function.

The text does not change from then on, so its chat keeps its prefix; the next object, run or set of arguments has
another one. That is the price of a pinned time, and what the report says of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.evidence.files import Files
from pytest_cachesafe.lint.evidence.prefix.chats import in_loop
from pytest_cachesafe.lint.evidence.prefix.fixed import is_at, sources_of
from pytest_cachesafe.lint.evidence.running.uses import parsed
from pytest_cachesafe.lint.evidence.trees import Function, nodes_of, spelt

if TYPE_CHECKING:
    from cachesafe_rules.api import Report

__all__ = ["Pinned"]

_CLOCK = "CSF101"
_FROZEN = "CSF102"
_RETURNED = lazy_pattern(r"returned by \w*")
# `X is read once, at import, and reaches Y: …`, `X changes every minute and reaches Y: …`
_FORM = lazy_pattern(r"(?P<what>.+?) (?:changes [\w ]+|is read once, at import,) and reaches (?P<where>.+): [^:]+")
_MAKES = frozenset({"__init__", "__post_init__", "__new__", "model_post_init"})
_PROGRAM = lazy_pattern(r"_?a?(?:main|run_cli|cli|repl)$")
# A platform calls `main(req)` for each request.
_REQUEST = lazy_pattern(r"(?:req|request|event|msg|message|context)$")
_CACHES = frozenset({"cache", "lru_cache", "cached_property"})
_HELP = (
    "fine where one new prefix {each} is affordable; else put it into the newest user message, cut it to the day, or "
    "offer a tool that returns the time"
)


class Pinned:
    """Words reports anew."""

    def __init__(self, seen: Files) -> None:
        self._seen = seen

    def worded(self, code: str, report: Report) -> Report:
        """The report as it is, or what it says of a time that lasts: a warning, and for how long."""
        form = _FORM.fullmatch(report.message) if code in (_CLOCK, _FROZEN) else None
        if form is None or len(sources_of(report)) != 1:
            # Of several clocks one may be read anew.
            return report
        places = list(self._places(report))
        cached = next((f for f in map(self._around, places) if f is not None and _is_cached(f)), None)
        if cached is not None:
            each, when = "for each set of arguments", f"by the first call of {cached.name}() with the same arguments"
        elif code == _FROZEN:
            return report
        else:
            lasts = next(filter(None, map(self._lasts, places)), None)
            if lasts is None:
                return report
            each, when = lasts
        message = f"{form['what']} is read once, {when}, and reaches {form['where']}: a new prefix {each}"
        return replace(report, message=message, severity="warning", help=_HELP.format(each=each))

    def _places(self, report: Report) -> Iterator[tuple[str, int]]:
        """Where the clock is read: in its own row, and by each call that gives the text back."""
        for source in sources_of(report):
            function = self._around((source["filename"], source["row"]))
            if function is None or not any(is_at(node, source) for node in _handed(function)):
                yield source["filename"], source["row"]
        for step in report.steps:
            name = step.message.removesuffix("()")
            if _RETURNED.fullmatch(name):
                function = self._around((step.filename, step.row))
                handed = _handed(function) if function is not None else ()
                if not any(node.lineno == step.row and name.endswith(f" {spelt(node)}") for node in handed):
                    yield step.filename, step.row

    def _around(self, place: tuple[str, int]) -> Function | None:
        return self._seen.around(*place)

    def _lasts(self, place: tuple[str, int]) -> tuple[str, str] | None:
        """For what a text that is made in a row is made anew, and when."""
        function = self._around(place)
        if function is None or in_loop(function, place[1]) or _is_put_off(function, place[1]):
            return None
        if function.name in _MAKES:
            owner = self._class_around(*place)
            return (f"for each {owner}", f"when a {owner} is made") if owner else None
        if _PROGRAM.match(function.name) and not any(_REQUEST.match(arg.arg) for arg in function.args.args):
            return "in each run", f"when {function.name}() starts"
        kept = _kept(function, place[1])
        return ("each time it is made anew", f"while {kept} is missing") if kept else None

    def _class_around(self, name: str, row: int) -> str:
        found = ""
        for statement in parsed(self._seen.read(name) or b""):
            if statement.lineno <= row <= (statement.end_lineno or statement.lineno):
                for node in ast.walk(statement):
                    if isinstance(node, ast.ClassDef) and node.lineno <= row <= (node.end_lineno or node.lineno):
                        found = node.name
        return found


def _kept(function: Function, row: int) -> str:
    """The attribute or item that a row fills only where it holds nothing, as spelt."""
    for node in nodes_of(function, ast.Assign):
        if node.lineno <= row <= (node.end_lineno or node.lineno):
            for target in node.targets:
                asked = isinstance(target, ast.Attribute | ast.Subscript) and _is_asked_for(target, node, function)
                if asked:
                    return ast.unparse(target)
    return ""


def _is_asked_for(target: ast.expr, statement: ast.stmt, function: Function) -> bool:
    """Whether a statement is reached only where a place is empty: `if self.text is None: …`, or behind
    `if self.text: return self.text`."""
    for node in nodes_of(function, ast.If):
        if node.lineno > statement.lineno:
            continue
        inside = any(statement is part for stmt in node.body for part in ast.walk(stmt))
        leaves = not inside and not node.orelse and isinstance(node.body[-1], ast.Return)
        if (inside and _is_empty(node.test, target)) or (leaves and _is_filled(node.test, target)):
            return True
    return False


def _is_empty(test: ast.expr, target: ast.expr) -> bool:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_filled(test.operand, target)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    if isinstance(test.ops[0], ast.NotIn) and isinstance(target, ast.Subscript):
        return _same(test.left, target.slice) and _same(test.comparators[0], target.value)
    return isinstance(test.ops[0], ast.Is) and _same(test.left, target)


def _is_filled(test: ast.expr, target: ast.expr) -> bool:
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        if isinstance(test.ops[0], ast.In) and isinstance(target, ast.Subscript):
            return _same(test.left, target.slice) and _same(test.comparators[0], target.value)
        return isinstance(test.ops[0], ast.IsNot) and _same(test.left, target)
    if isinstance(test, ast.Call) and isinstance(target, ast.Subscript) and isinstance(test.func, ast.Attribute):
        # `session.get("system")`
        asked = test.func.attr == "get" and len(test.args) == 1 and _same(test.args[0], target.slice)
        return asked and _same(test.func.value, target.value)
    return _same(test, target)


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(one) == ast.unparse(other)


def _is_put_off(function: Function, row: int) -> bool:
    """Whether a row stands in a `lambda`, which is run whenever somebody calls it."""
    return any(node.lineno <= row <= (node.end_lineno or node.lineno) for node in nodes_of(function, ast.Lambda))


def _handed(function: Function) -> Iterator[ast.expr]:
    """Clocks and functions that are handed over themselves, not what they give: `Bot(now=datetime.now)`,
    `partial(time.strftime, "%H")`. They are called later."""
    for node in nodes_of(function, ast.Call):
        if spelt(node.func) == "partial":
            yield node
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        yield from (arg for arg in given if isinstance(arg, ast.Name | ast.Attribute))


def _is_cached(function: Function) -> bool:
    decorators = (d.func if isinstance(d, ast.Call) else d for d in function.decorator_list)
    return any(spelt(decorator) in _CACHES for decorator in decorators)
