"""Patterns of match statements of a libcst tree as `ast` nodes."""

from __future__ import annotations

import ast
from typing import Any

import libcst as cst

from pytest_cachesafe.lint.newer.expressions import SINGLETONS, Expressions, identifier

__all__ = ["Patterns"]


class Patterns(Expressions):
    """Translates the patterns of a match statement."""

    def pattern(self, node: Any) -> ast.pattern:
        """One pattern, whatever its kind."""
        if isinstance(node, cst.MatchSingleton):
            return self.over(ast.MatchSingleton(value=SINGLETONS[node.value.value]), node.value)
        if isinstance(node, cst.MatchValue):
            return self.over(ast.MatchValue(value=self.expression(node.value)), node.value)
        if isinstance(node, (cst.MatchList, cst.MatchTuple)):
            return self._sequence(node)
        return self.over(self._other(node), node)

    def _sequence(self, node: cst.MatchList | cst.MatchTuple) -> ast.pattern:
        made = ast.MatchSequence(patterns=[self._element(element) for element in node.patterns])
        if isinstance(node, cst.MatchList) and node.lbracket is not None:
            return self.over(made, node)
        lpar, rpar = (node.lpar, node.rpar) if isinstance(node, cst.MatchTuple) else ((), ())
        start, end = self.listed(node.patterns, lpar, rpar)
        return self.put(made, start, end)

    def _element(self, node: cst.MatchSequenceElement | cst.MatchStar) -> ast.pattern:
        if isinstance(node, cst.MatchStar):
            # libcst's range of a starred pattern includes the comma behind it.
            row, column = self.end(node.whitespace_before_name)
            end = (row, column + 1) if node.name is None else self.end(node.name)
            return self.put(ast.MatchStar(name=_captured(node.name)), self.start(node), end)
        return self.pattern(node.value)

    def _other(self, node: Any) -> ast.pattern:
        if isinstance(node, cst.MatchMapping):
            return ast.MatchMapping(
                keys=[self.expression(element.key) for element in node.elements],
                patterns=[self.pattern(element.pattern) for element in node.elements],
                rest=None if node.rest is None else identifier(node.rest),
            )
        if isinstance(node, cst.MatchClass):
            return ast.MatchClass(
                cls=self.expression(node.cls),
                patterns=[self._element(element) for element in node.patterns],
                kwd_attrs=[identifier(element.key) for element in node.kwds],
                kwd_patterns=[self.pattern(element.pattern) for element in node.kwds],
            )
        if isinstance(node, cst.MatchAs):
            inner = None if node.pattern is None else self.pattern(node.pattern)
            return ast.MatchAs(pattern=inner, name=_captured(node.name))
        assert isinstance(node, cst.MatchOr)
        return ast.MatchOr(patterns=[self.pattern(element.pattern) for element in node.patterns])


def _captured(node: cst.Name | None) -> str | None:
    name = None if node is None else identifier(node)
    return None if name == "_" else name
