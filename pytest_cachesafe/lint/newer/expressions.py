"""Expressions of a libcst tree as `ast` nodes."""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from pytest_cachesafe.lint.newer.strings import Strings

__all__ = ["OPERATORS", "Expressions", "identifier"]

OPERATORS: dict[str, type[ast.operator]] = {
    "Add": ast.Add,
    "Subtract": ast.Sub,
    "Multiply": ast.Mult,
    "Divide": ast.Div,
    "FloorDivide": ast.FloorDiv,
    "Modulo": ast.Mod,
    "Power": ast.Pow,
    "LeftShift": ast.LShift,
    "RightShift": ast.RShift,
    "BitOr": ast.BitOr,
    "BitAnd": ast.BitAnd,
    "BitXor": ast.BitXor,
    "MatrixMultiply": ast.MatMult,
}
UNARY: dict[type, type[ast.unaryop]] = {
    cst.Plus: ast.UAdd,
    cst.Minus: ast.USub,
    cst.BitInvert: ast.Invert,
    cst.Not: ast.Not,
}
COMPARISONS: dict[type, type[ast.cmpop]] = {
    cst.LessThan: ast.Lt,
    cst.GreaterThan: ast.Gt,
    cst.Equal: ast.Eq,
    cst.LessThanEqual: ast.LtE,
    cst.GreaterThanEqual: ast.GtE,
    cst.NotEqual: ast.NotEq,
    cst.In: ast.In,
    cst.NotIn: ast.NotIn,
    cst.Is: ast.Is,
    cst.IsNot: ast.IsNot,
}
SINGLETONS = {"True": True, "False": False, "None": None}
STAR_IN_INDEX = (3, 11)
UNPACKING_COMPREHENSION = (3, 15)


def identifier(node: cst.Name) -> str:
    """A name as Python stores it (NFKC, PEP 3131)."""
    value = node.value
    return value if value.isascii() else unicodedata.normalize("NFKC", value)


class Expressions(Strings):
    """Translates expressions."""

    def __init__(self, module: cst.Module, ranges: Any, lines: list[str]) -> None:
        super().__init__(module, ranges, lines)
        self._handlers: dict[type, Callable[[Any], ast.expr]] = {
            cst.Name: self._name,
            cst.Ellipsis: lambda node: ast.Constant(value=...),
            cst.Integer: lambda node: ast.Constant(value=int(node.value, 0)),
            cst.Float: lambda node: ast.Constant(value=float(node.value)),
            cst.Imaginary: lambda node: ast.Constant(value=complex(node.value)),
            cst.Comparison: self._comparison,
            cst.UnaryOperation: self._unary,
            cst.BinaryOperation: self._binary,
            cst.BooleanOperation: self._boolean,
            cst.Attribute: self._attribute,
            cst.Subscript: self._subscript,
            cst.Lambda: self._lambda,
            cst.Call: self._call,
            cst.Await: lambda node: ast.Await(value=self.expression(node.expression)),
            cst.IfExp: self._conditional,
            cst.StarredElement: self._starred,
            cst.List: lambda node: ast.List(elts=self.elements(node), ctx=ast.Load()),
            cst.Set: lambda node: ast.Set(elts=self.elements(node)),
            cst.Dict: self._dict,
            cst.ListComp: lambda node: self._comprehension(ast.ListComp, node),
            cst.SetComp: lambda node: self._comprehension(ast.SetComp, node),
            cst.DictComp: self._dict_comprehension,
            cst.NamedExpr: self._walrus,
        }
        # These place themselves: their extent in `ast` is not libcst's.
        self._placed: dict[type, Callable[[Any], ast.expr]] = {
            cst.SimpleString: self.string,
            cst.FormattedString: self.string,
            cst.ConcatenatedString: self.string,
            cst.Tuple: self._tuple,
            cst.GeneratorExp: self._generator,
            cst.Yield: self._yield,
        }
        for name, placed, handler in (
            ("TemplatedString", True, self.string),
            ("StarredDictComp", False, self._unpacked_dict_comprehension),
        ):
            kind = getattr(cst, name, None)
            if kind is not None:
                (self._placed if placed else self._handlers)[kind] = handler

    def expression(self, node: cst.BaseExpression) -> ast.expr:
        """One expression, whatever its kind."""
        handler = self._handlers.get(type(node))
        if handler is not None:
            return self.over(handler(node), node)
        return self._placed[type(node)](node)

    def optional(self, node: cst.BaseExpression | None) -> ast.expr | None:
        """None stays None."""
        return None if node is None else self.expression(node)

    def target(self, node: cst.BaseExpression, context: type[ast.expr_context] = ast.Store) -> ast.expr:
        """An expression that is assigned to or deleted."""
        made = self.expression(node)
        pending: list[Any] = [made]
        while pending:
            part = pending.pop()
            if hasattr(part, "ctx"):
                part.ctx = context()
            pending += getattr(part, "elts", ())
            if isinstance(part, ast.Starred):
                pending.append(part.value)
        return made

    def elements(self, node: Any) -> list[ast.expr]:
        """The elements of a list, set or tuple."""
        return [
            self.expression(element if isinstance(element, cst.StarredElement) else element.value)
            for element in node.elements
        ]

    def named(self, node: cst.Name, context: type[ast.expr_context] = ast.Load) -> ast.Name:
        """A plain name."""
        return self.over(ast.Name(id=identifier(node), ctx=context()), node)

    def _name(self, node: cst.Name) -> ast.expr:
        if node.value in SINGLETONS:
            return ast.Constant(value=SINGLETONS[node.value])
        return ast.Name(id=identifier(node), ctx=ast.Load())

    def _comparison(self, node: cst.Comparison) -> ast.expr:
        return ast.Compare(
            left=self.expression(node.left),
            ops=[COMPARISONS[type(target.operator)]() for target in node.comparisons],
            comparators=[self.expression(target.comparator) for target in node.comparisons],
        )

    def _unary(self, node: cst.UnaryOperation) -> ast.expr:
        return ast.UnaryOp(op=UNARY[type(node.operator)](), operand=self.expression(node.expression))

    def _binary(self, node: cst.BinaryOperation) -> ast.expr:
        left = self.expression(node.left)
        operator = OPERATORS[type(node.operator).__name__]()
        return ast.BinOp(left=left, op=operator, right=self.expression(node.right))

    def _boolean(self, node: cst.BooleanOperation) -> ast.expr:
        values: list[ast.expr] = []
        pending: list[cst.BaseExpression] = [node.right, node.left]
        operator = type(node.operator)
        while pending:
            part = pending.pop()
            if isinstance(part, cst.BooleanOperation) and type(part.operator) is operator and not part.lpar:
                pending += [part.right, part.left]
            else:
                values.append(self.expression(part))
        return ast.BoolOp(op=ast.And() if operator is cst.And else ast.Or(), values=values)

    def _attribute(self, node: cst.Attribute) -> ast.expr:
        return ast.Attribute(value=self.expression(node.value), attr=identifier(node.attr), ctx=ast.Load())

    def _subscript(self, node: cst.Subscript) -> ast.expr:
        value = self.expression(node.value)
        parts = [self._index(element.slice) for element in node.slice]
        last = node.slice[-1].comma
        first: Any = parts[0]
        if len(parts) == 1 and not isinstance(last, cst.Comma) and not isinstance(first, ast.Starred):
            return ast.Subscript(value=value, slice=first, ctx=ast.Load())
        end = self.end(last) if isinstance(last, cst.Comma) else self._index_end(node.slice[-1].slice)
        made = self.put(ast.Tuple(elts=parts, ctx=ast.Load()), self._index_start(node.slice[0].slice), end)
        return ast.Subscript(value=value, slice=made, ctx=ast.Load())

    def _index(self, node: cst.BaseSlice) -> ast.expr:
        if isinstance(node, cst.Index):
            value = self.expression(node.value)
            if not node.star:
                return value
            self.need(STAR_IN_INDEX)
            made: ast.expr = ast.Starred(value=value, ctx=ast.Load())
        else:
            assert isinstance(node, cst.Slice)
            made = ast.Slice(self.optional(node.lower), self.optional(node.upper), self.optional(node.step))
        return self.put(made, self._index_start(node), self._index_end(node))

    def _index_start(self, node: cst.BaseSlice) -> Any:
        if isinstance(node, cst.Index):
            return self.start(node) if node.star else self.outer_start(node.value)
        assert isinstance(node, cst.Slice)
        return self.start(node.first_colon) if node.lower is None else self.outer_start(node.lower)

    def _index_end(self, node: cst.BaseSlice) -> Any:
        if isinstance(node, cst.Index):
            return self.outer_end(node.value)
        assert isinstance(node, cst.Slice)
        if node.step is not None:
            return self.outer_end(node.step)
        if isinstance(node.second_colon, cst.Colon):
            return self.end(node.second_colon)
        return self.end(node.first_colon) if node.upper is None else self.outer_end(node.upper)

    def _lambda(self, node: cst.Lambda) -> ast.expr:
        return ast.Lambda(args=self.parameters(node.params), body=self.expression(node.body))

    def parameters(self, node: cst.Parameters) -> ast.arguments:
        """The parameters of a function or lambda."""
        positional = [*node.posonly_params, *node.params]
        star = node.star_arg
        return ast.arguments(
            posonlyargs=[self._parameter(param) for param in node.posonly_params],
            args=[self._parameter(param) for param in node.params],
            vararg=self._parameter(star) if isinstance(star, cst.Param) else None,
            kwonlyargs=[self._parameter(param) for param in node.kwonly_params],
            kw_defaults=[self.optional(param.default) for param in node.kwonly_params],
            kwarg=self._parameter(node.star_kwarg) if node.star_kwarg is not None else None,
            defaults=[self.expression(param.default) for param in positional if param.default is not None],
        )

    def _parameter(self, node: cst.Param) -> ast.arg:
        annotation = None
        end = self.end(node.name)
        if node.annotation is not None:
            annotation = self.expression(node.annotation.annotation)
            if isinstance(annotation, ast.Starred):
                self.need(STAR_IN_INDEX)
            end = self.outer_end(node.annotation.annotation)
        return self.put(ast.arg(arg=identifier(node.name), annotation=annotation), self.start(node.name), end)

    def _call(self, node: cst.Call) -> ast.expr:
        func = self.expression(node.func)
        if len(node.args) == 1 and isinstance(node.args[0].value, cst.GeneratorExp) and not node.args[0].value.lpar:
            # The parentheses of the call are the generator's.
            made = self._comprehension(ast.GeneratorExp, node.args[0].value)
            row, column = self.start(node.whitespace_before_args)
            alone: list[ast.expr] = [self.put(made, (row, column - 1), self.end(node))]
            return ast.Call(func=func, args=alone, keywords=[])
        args, keywords = self.arguments(node.args)
        return ast.Call(func=func, args=args, keywords=keywords)

    def arguments(self, nodes: Sequence[cst.Arg]) -> tuple[list[ast.expr], list[ast.keyword]]:
        """Positional and keyword arguments of a call or class."""
        args: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        for node in nodes:
            value = self.expression(node.value)
            end = self.outer_end(node.value)
            if node.star == "*":
                args.append(self.put(ast.Starred(value=value, ctx=ast.Load()), self.start(node), end))
            elif node.star == "**" or node.keyword is not None:
                name = None if node.keyword is None else identifier(node.keyword)
                keywords.append(self.put(ast.keyword(arg=name, value=value), self.start(node), end))
            else:
                args.append(value)
        return args, keywords

    def _conditional(self, node: cst.IfExp) -> ast.expr:
        body = self.expression(node.body)
        return ast.IfExp(test=self.expression(node.test), body=body, orelse=self.expression(node.orelse))

    def _yield(self, node: cst.Yield) -> ast.expr:
        start = self.start(node)
        if node.value is None:
            return self.put(ast.Yield(value=None), start, (start[0], start[1] + len("yield")))
        if isinstance(node.value, cst.From):
            item = node.value.item
            return self.put(ast.YieldFrom(value=self.expression(item)), start, self.outer_end(item))
        return self.put(ast.Yield(value=self.expression(node.value)), start, self.outer_end(node.value))

    def _starred(self, node: cst.StarredElement) -> ast.expr:
        return ast.Starred(value=self.expression(node.value), ctx=ast.Load())

    def _tuple(self, node: cst.Tuple) -> ast.expr:
        start, end = self.listed(node.elements, node.lpar, node.rpar)
        return self.put(ast.Tuple(elts=self.elements(node), ctx=ast.Load()), start, end)

    def _dict(self, node: cst.Dict) -> ast.expr:
        keys: list[ast.expr | None] = []
        values: list[ast.expr] = []
        for element in node.elements:
            keys.append(self.expression(element.key) if isinstance(element, cst.DictElement) else None)
            values.append(self.expression(element.value))
        return ast.Dict(keys=keys, values=values)

    def _generator(self, node: cst.GeneratorExp) -> ast.expr:
        made = self._comprehension(ast.GeneratorExp, node)
        return self.put(made, self.start(node.lpar[-1] if node.lpar else node), self.end((*node.rpar, node)[0]))

    def _comprehension(self, kind: type[Any], node: Any) -> ast.expr:
        element = self.expression(node.elt)
        if isinstance(element, ast.Starred):
            self.need(UNPACKING_COMPREHENSION)
        made: ast.expr = kind(elt=element, generators=self._generators(node.for_in))
        return made

    def _dict_comprehension(self, node: cst.DictComp) -> ast.expr:
        key, value = self.expression(node.key), self.expression(node.value)
        return ast.DictComp(key=key, value=value, generators=self._generators(node.for_in))

    def _unpacked_dict_comprehension(self, node: Any) -> ast.expr:
        # `{**part for part in parts}` (PEP 798): before Python 3.15 no tree has a place for a lone `**part`; as key and
        # value it still says that the result is made of the parts.
        self.need(UNPACKING_COMPREHENSION)
        key, value = self.expression(node.value), self.expression(node.value)
        return ast.DictComp(key=key, value=value, generators=self._generators(node.for_in))

    def _generators(self, node: cst.CompFor) -> list[ast.comprehension]:
        made: list[ast.comprehension] = []
        inner: cst.CompFor | None = node
        while inner is not None:
            made.append(
                ast.comprehension(
                    target=self.target(inner.target),
                    iter=self.expression(inner.iter),
                    ifs=[self.expression(condition.test) for condition in inner.ifs],
                    is_async=int(inner.asynchronous is not None),
                )
            )
            inner = inner.inner_for_in
        return made

    def _walrus(self, node: cst.NamedExpr) -> ast.expr:
        target: Any = self.target(node.target)
        return ast.NamedExpr(target=target, value=self.expression(node.value))
