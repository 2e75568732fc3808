"""Arguments of a call, evaluated."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.values import NOTHING, Const

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["Arguments"]

_ZONE = lazy_pattern(r"(?:^|[._])(?:tz|timezone|zone|offset|utc|city|place|location|country|lang|locale)(?:$|[_.(])")


class Arguments:
    """Evaluated arguments with their nodes; `rest` holds what came through `*` and `**`."""

    __slots__ = ("keywords", "nodes", "positional", "rest")

    def __init__(self) -> None:
        self.positional: list[Value] = []
        self.nodes: list[ast.expr] = []
        self.keywords: dict[str, tuple[Value, ast.expr]] = {}
        self.rest: Value = NOTHING

    def every(self) -> list[Value]:
        """All values."""
        out = [*self.positional, *(v for v, _ in self.keywords.values())]
        return [*out, self.rest] if self.rest is not NOTHING else out

    def behind(self, count: int) -> Arguments:
        """The same without the first positional ones."""
        out = Arguments()
        out.positional, out.nodes = self.positional[count:], self.nodes[count:]
        out.keywords, out.rest = self.keywords, self.rest
        return out

    def written(self, at: int) -> str | None:
        """The text of a positional argument; of an f-string what is fixed in it, if the rest is a zone or place."""
        if at >= len(self.positional):
            return None
        shape, node = self.positional[at].shape, self.nodes[at]
        if isinstance(shape, Const) and isinstance(shape.value, str):
            return shape.value
        if isinstance(node, ast.JoinedStr):
            rest = (part.value for part in node.values if isinstance(part, ast.FormattedValue))
            if all(_ZONE.search(ast.unparse(part)) and "%" not in ast.unparse(part) for part in rest):
                return "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        return None

    def first(self, *names: str) -> tuple[Value, ast.expr] | None:
        """The argument of one of these names, or else the first positional one."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        return (self.positional[0], self.nodes[0]) if self.positional else None
