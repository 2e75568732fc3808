"""Arguments of a call, evaluated."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pytest_cachesafe.lint.flow.values import NOTHING

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["Arguments"]


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

    def first(self, *names: str) -> tuple[Value, ast.expr] | None:
        """The argument of one of these names, or else the first positional one."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        return (self.positional[0], self.nodes[0]) if self.positional else None
