"""String literals of a libcst tree as `ast` nodes: plain, concatenated, f-strings and template strings."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from typing import Any

import libcst as cst

from pytest_cachesafe.lint.newer.positions import Places, Point

__all__ = ["Strings"]

# One step through the text of an f-string that has backslashes: a named character, a backslash that escapes nothing
# (a brace or the end follows), an escape, a doubled brace, a quote, anything else.
STEP = re.compile(r'\\N\{[^}]*\}|\\(?=[{}]|\Z)|\\.|\{\{|\}\}|"|[^\\{}"]+|.', re.DOTALL)
QUOTES = re.compile(r"'''|\"\"\"|'|\"")
REPR = ord("r")
# By name: template strings are known to newer releases of libcst only.
TEXTS = frozenset({"FormattedStringText", "TemplatedStringText"})
PEP_701 = (3, 12)
PEP_750 = (3, 14)

Part = tuple["str | ast.expr", Point, Point, "str | None"]


class Strings(Places):
    """Translates string literals; expressions inside them go through `expression`."""

    def __init__(self, module: cst.Module, ranges: Any, lines: list[str]) -> None:
        super().__init__(ranges, lines)
        self.module = module
        self.since = (3, 0)
        """The first version of Python that knows all syntax met so far."""

    def expression(self, node: cst.BaseExpression) -> ast.expr:
        """The expression inside a replacement field."""
        raise NotImplementedError

    def need(self, version: tuple[int, int]) -> None:
        """Note syntax that came with this version of Python."""
        self.since = max(self.since, version)

    def string(self, node: cst.BaseExpression) -> ast.expr:
        """Any string literal: a constant, or a JoinedStr where it has an f-string or template string."""
        tokens: list[Any] = []
        rest: Any = node
        while isinstance(rest, cst.ConcatenatedString):
            tokens.append(rest.left)
            rest = rest.right
        tokens.append(rest)
        first = tokens[0]
        kind = "u" if isinstance(first, cst.SimpleString) and first.value.startswith("u") else None
        if all(isinstance(token, cst.SimpleString) for token in tokens):
            values = [ast.literal_eval(token.value) for token in tokens]
            return self.over(ast.Constant(value=type(values[0])().join(values), kind=kind), node)
        # Until 3.11 the first literal's `u` is on every text of an f-string, from 3.12 on where it is written.
        before_701 = sys.version_info < PEP_701
        parts: list[Part] = []
        for token in tokens:
            if isinstance(token, cst.SimpleString):
                own = "u" if token.value.startswith("u") else None
                value = ast.literal_eval(token.value)
                parts.append((value, self.start(token), self.end(token), kind if before_701 else own))
            else:
                parts += self._parts(token.parts, token.start, kind if before_701 else None)
        return self.over(ast.JoinedStr(values=self._joined(parts)), node)

    def _joined(self, parts: list[Part]) -> list[ast.expr]:
        """Neighbouring texts become one constant; empty ones none."""
        values: list[ast.expr] = []
        texts: list[Part] = []

        def flush() -> None:
            value = "".join(str(part[0]) for part in texts)
            if value:
                values.append(self.put(ast.Constant(value=value, kind=texts[0][3]), texts[0][1], texts[-1][2]))
            texts.clear()

        for part in parts:
            if isinstance(part[0], str):
                texts.append(part)
            else:
                flush()
                values.append(part[0])
        flush()
        return values

    def _parts(self, contents: Sequence[Any], start: str, kind: str | None, level: int = 0) -> list[Part]:
        raw = "r" in start.lower().rstrip("'\"")
        if "t" in start.lower().rstrip("'\""):
            self.need(PEP_750)
        parts: list[Part] = []
        for content in contents:
            if type(content).__name__ in TEXTS:
                parts.append((_text(content.value, raw), self.start(content), self.end(content), kind))
                continue
            if content.equal is not None:
                shown = self._shown(content)
                parts.append((shown, self._behind_brace(content), self._behind_brace(content, len(shown)), kind))
            parts.append((self._field(content, start, kind, level), self.start(content), self.end(content), None))
        return parts

    def _field(self, content: Any, start: str, kind: str | None, level: int) -> ast.expr:
        code = self._shown(content)
        quote = QUOTES.search(start)
        if "\\" in code or "#" in code or level > 1 or (quote is not None and quote.group() in code):
            self.need(PEP_701)
        if quote is not None and len(quote.group()) == 1 and "\n" in code:
            self.need(PEP_701)
        spec = None
        if content.format_spec is not None:
            inside = self._parts(content.format_spec, start, kind, level + 1)
            row, column = self.end(content)
            # The specification begins at its colon and ends before the closing brace.
            first = inside[0][1] if inside else (row, column - 1)
            begin = (first[0], max(first[1] - 1, 0))
            spec = self.put(ast.JoinedStr(values=self._joined(inside)), begin, (row, column - 1))
        conversion = -1
        if content.conversion is not None:
            conversion = ord(content.conversion)
        elif content.equal is not None and spec is None:
            conversion = REPR
        value = self.expression(content.expression)
        return self.over(ast.FormattedValue(value=value, conversion=conversion, format_spec=spec), content)

    def _shown(self, content: Any) -> str:
        """The source text of a field before its conversion, which `f"{x=}"` repeats."""
        shown = (content.whitespace_before_expression, content.expression, content.equal)
        nodes = [node for node in (*shown, content.whitespace_after_expression) if node is not None]
        return "".join(map(self.module.code_for_node, nodes))

    def _behind_brace(self, content: Any, columns: int = 0) -> Point:
        row, column = self.start(content)
        return row, column + 1 + columns


def _text(source: str, raw: bool) -> str:
    """The value of an f-string's text."""
    if raw or "\\" not in source:
        return source.replace("{{", "{").replace("}}", "}")
    steps = STEP.findall(source)
    for index, step in enumerate(steps):
        if step == "\\":
            steps[index] = "\\\\"
        elif step == '"':
            steps[index] = '\\"'
        elif step in ("{{", "}}"):
            steps[index] = step[0]
    value = ast.literal_eval('"""' + "".join(steps) + '"""')
    return str(value)
