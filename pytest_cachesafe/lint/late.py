"""What the flow analysis knows of a tree's nodes, worked out when it is first asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ast

    from cachesafe_rules.model import Taint
    from pytest_cachesafe.lint.flow.analysis import EntryResult

__all__ = ["LateTaints"]


class LateTaints:
    """Taints for another tree of the same text than the analysis' own: nodes are matched by kind and place.

    `analyse` is called once at most; `result` is what it gave, None until then.
    """

    def __init__(self, name: str, analyse: Callable[[], EntryResult]) -> None:
        self.name = name
        self.result: EntryResult | None = None
        self._analyse = analyse
        self._nodes: dict[tuple[Any, ...], ast.AST] = {}

    def taints(self, node: ast.AST) -> tuple[Taint, ...]:
        """The taints of a node."""
        if self.result is None:
            import ast

            self.result = self._analyse()
            tree = self.result.parsed.tree if self.result.parsed is not None else None
            for own in ast.walk(tree) if tree is not None else ():
                if isinstance(own, ast.expr):
                    self._nodes[_place(own)] = own
        found = self._nodes.get(_place(node))
        return () if found is None else self.result.taints(found)


def _place(node: Any) -> tuple[Any, ...]:
    return (
        type(node).__name__,
        getattr(node, "lineno", 0),
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", 0),
        getattr(node, "end_col_offset", 0),
    )
