"""Statements and modules of a libcst tree as `ast` nodes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from pytest_cachesafe.lint.newer.expressions import OPERATORS, identifier
from pytest_cachesafe.lint.newer.patterns import Patterns
from pytest_cachesafe.lint.newer.positions import Point

__all__ = ["Statements"]

EXCEPT_STAR = (3, 11)
TYPE_PARAMETERS = (3, 12)
TYPE_PARAMETER_DEFAULT = (3, 13)
EXCEPT_WITHOUT_PARENTHESES = (3, 14)
LAZY_IMPORT = (3, 15)


class Statements(Patterns):
    """Translates whole modules."""

    def __init__(self, module: cst.Module, ranges: Any, lines: list[str]) -> None:
        super().__init__(module, ranges, lines)
        # `ast` counts a semicolon at the end of a line to the statement around, not to the one before it.
        self._semicolons: dict[ast.stmt, Point] = {}
        self._simple: dict[str, Callable[[Any], tuple[ast.stmt, Point | None]]] = {
            "Expr": lambda node: (ast.Expr(value=self.expression(node.value)), self.outer_end(node.value)),
            "Pass": lambda node: (ast.Pass(), None),
            "Break": lambda node: (ast.Break(), None),
            "Continue": lambda node: (ast.Continue(), None),
            "Return": self._return,
            "Raise": self._raise,
            "Assert": self._assert,
            "Del": self._delete,
            "Global": lambda node: self._scope(ast.Global, node),
            "Nonlocal": lambda node: self._scope(ast.Nonlocal, node),
            "Import": self._import,
            "LazyImport": self._import,
            "ImportFrom": self._import_from,
            "LazyImportFrom": self._import_from,
            "Assign": self._assign,
            "AnnAssign": self._annotated,
            "AugAssign": self._augmented,
            "TypeAlias": self._type_alias,
        }
        self._compound: dict[type, Callable[[Any], ast.stmt]] = {
            cst.If: self._if,
            cst.While: self._while,
            cst.For: self._for,
            cst.With: self._with,
            cst.Try: lambda node: self._try(ast.Try, node),
            cst.TryStar: self._try_star,
            cst.Match: self._match,
            cst.FunctionDef: self._function,
            cst.ClassDef: self._class,
        }

    def translate(self) -> ast.Module:
        """The whole module."""
        return ast.Module(body=self._statements(self.module.body), type_ignores=[])

    def _statements(self, nodes: Sequence[Any]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for node in nodes:
            if isinstance(node, cst.SimpleStatementLine):
                made += map(self._small, node.body)
            else:
                statement = self._compound[type(node)](node)
                made.append(self.put(statement, self.start(node), self._last(statement)))
        return made

    def _body(self, suite: Any) -> list[ast.stmt]:
        if isinstance(suite, cst.SimpleStatementSuite):
            return [self._small(node) for node in suite.body]
        return self._statements(suite.body)

    def _else(self, node: Any) -> list[ast.stmt]:
        return [] if node is None else self._body(node.body)

    def _last(self, statement: Any) -> Point:
        """Where a compound statement ends: with the last statement inside it."""
        for name in ("finalbody", "orelse", "handlers", "cases", "body"):
            inside = getattr(statement, name, None)
            if inside:
                last = inside[-1]
                if isinstance(last, ast.match_case):
                    last = last.body[-1]
                if last in self._semicolons:
                    return self._semicolons[last]
                return last.end_lineno, self._characters(last.end_lineno, last.end_col_offset)
        raise AssertionError("a compound statement has a body")

    def _small(self, node: Any) -> ast.stmt:
        made, end = self._simple[type(node).__name__](node)
        start = self.start(node)
        if end is None:  # a keyword alone
            end = (start[0], start[1] + len(type(made).__name__))
        if isinstance(node.semicolon, cst.Semicolon):
            self._semicolons[made] = self.end(node.semicolon)
        return self.put(made, start, end)

    def _return(self, node: cst.Return) -> tuple[ast.stmt, Point | None]:
        end = None if node.value is None else self.outer_end(node.value)
        return ast.Return(value=self.optional(node.value)), end

    def _raise(self, node: cst.Raise) -> tuple[ast.stmt, Point | None]:
        cause = None if node.cause is None else node.cause.item
        last = cause or node.exc
        made = ast.Raise(exc=self.optional(node.exc), cause=self.optional(cause))
        return made, None if last is None else self.outer_end(last)

    def _assert(self, node: cst.Assert) -> tuple[ast.stmt, Point | None]:
        made = ast.Assert(test=self.expression(node.test), msg=self.optional(node.msg))
        return made, self.outer_end(node.test if node.msg is None else node.msg)

    def _delete(self, node: cst.Del) -> tuple[ast.stmt, Point | None]:
        made: Any = self.target(node.target, ast.Del)
        bare = isinstance(node.target, cst.Tuple) and not node.target.lpar
        end = self.listed(_elements(node))[1] if bare else self.outer_end(node.target)
        return ast.Delete(targets=made.elts if bare else [made]), end

    def _scope(self, kind: type[Any], node: Any) -> tuple[ast.stmt, Point | None]:
        return kind(names=[identifier(item.name) for item in node.names]), self.end(node.names[-1].name)

    def _import(self, node: Any) -> tuple[ast.stmt, Point | None]:
        made = ast.Import(names=[self._alias(alias) for alias in node.names])
        self._lazy(made, node)
        return made, self.end(node.names[-1])

    def _import_from(self, node: Any) -> tuple[ast.stmt, Point | None]:
        if isinstance(node.names, cst.ImportStar):
            names = [self.over(ast.alias(name="*"), node.names)]
            end = self.end(node.names)
        else:
            names = [self._alias(alias) for alias in node.names]
            end = self.end(node.names[-1] if node.rpar is None else node.rpar)
            comma = node.names[-1].comma
            if node.rpar is None and isinstance(comma, cst.Comma):
                end = self.end(comma)
        module = None if node.module is None else _dotted(node.module)
        made = ast.ImportFrom(module=module, names=names, level=len(node.relative))
        self._lazy(made, node)
        return made, end

    def _lazy(self, made: Any, node: Any) -> None:
        if type(node).__name__.startswith("Lazy"):
            self.need(LAZY_IMPORT)
        if "is_lazy" in made._fields:
            made.is_lazy = int(type(node).__name__.startswith("Lazy"))

    def _alias(self, node: cst.ImportAlias) -> ast.alias:
        name: Any = None if node.asname is None else node.asname.name
        made = ast.alias(name=_dotted(node.name), asname=None if name is None else identifier(name))
        return self.put(made, self.start(node), self.end(node.name if name is None else name))

    def _assign(self, node: cst.Assign) -> tuple[ast.stmt, Point | None]:
        targets = [self.target(target.target) for target in node.targets]
        made = ast.Assign(targets=targets, value=self.expression(node.value), type_comment=None)
        return made, self._value_end(node.value)

    def _annotated(self, node: cst.AnnAssign) -> tuple[ast.stmt, Point | None]:
        target: Any = self.target(node.target)
        annotation = node.annotation.annotation
        plain = isinstance(node.target, cst.Name) and not node.target.lpar
        value = self.optional(node.value)
        made = ast.AnnAssign(target=target, annotation=self.expression(annotation), value=value, simple=int(plain))
        return made, self.outer_end(annotation) if node.value is None else self._value_end(node.value)

    def _augmented(self, node: cst.AugAssign) -> tuple[ast.stmt, Point | None]:
        target: Any = self.target(node.target)
        operator = OPERATORS[type(node.operator).__name__.removesuffix("Assign")]()
        made = ast.AugAssign(target=target, op=operator, value=self.expression(node.value))
        return made, self._value_end(node.value)

    def _value_end(self, node: cst.BaseExpression) -> Point:
        if isinstance(node, cst.Tuple) and not node.lpar:
            end: Point = self.listed(node.elements)[1]
            return end
        return self.outer_end(node)

    def _type_alias(self, node: cst.TypeAlias) -> tuple[ast.stmt, Point | None]:
        self.need(TYPE_PARAMETERS)
        name = self.named(node.name, ast.Store)
        value = self.expression(node.value)
        end = self.outer_end(node.value)
        if sys.version_info >= TYPE_PARAMETERS:
            alias: Any = vars(ast)["TypeAlias"]
            return alias(name=name, type_params=self._type_params(node.type_parameters), value=value), end
        return ast.Assign(targets=[name], value=value, type_comment=None), end

    def _if(self, node: cst.If) -> ast.stmt:
        made = ast.If(test=self.expression(node.test), body=self._body(node.body), orelse=[])
        if isinstance(node.orelse, cst.If):
            inner = self._if(node.orelse)
            made.orelse = [self.put(inner, self.start(node.orelse), self._last(inner))]
        else:
            made.orelse = self._else(node.orelse)
        return made

    def _while(self, node: cst.While) -> ast.stmt:
        return ast.While(test=self.expression(node.test), body=self._body(node.body), orelse=self._else(node.orelse))

    def _for(self, node: cst.For) -> ast.stmt:
        kind: Any = ast.For if node.asynchronous is None else ast.AsyncFor
        made: ast.stmt = kind(
            target=self.target(node.target),
            iter=self.expression(node.iter),
            body=self._body(node.body),
            orelse=self._else(node.orelse),
            type_comment=None,
        )
        return made

    def _with(self, node: cst.With) -> ast.stmt:
        kind: Any = ast.With if node.asynchronous is None else ast.AsyncWith
        items = [
            ast.withitem(
                context_expr=self.expression(item.item),
                optional_vars=None if item.asname is None else self.target(item.asname.name),
            )
            for item in node.items
        ]
        made: ast.stmt = kind(items=items, body=self._body(node.body), type_comment=None)
        return made

    def _try(self, kind: type[Any], node: Any) -> ast.stmt:
        made: ast.stmt = kind(
            body=self._body(node.body),
            handlers=[self._handler(handler) for handler in node.handlers],
            orelse=self._else(node.orelse),
            finalbody=self._else(node.finalbody),
        )
        return made

    def _try_star(self, node: cst.TryStar) -> ast.stmt:
        self.need(EXCEPT_STAR)
        return self._try(vars(ast).get("TryStar", ast.Try), node)

    def _handler(self, node: cst.ExceptHandler | cst.ExceptStarHandler) -> ast.ExceptHandler:
        if isinstance(node.type, cst.Tuple) and not node.type.lpar:
            self.need(EXCEPT_WITHOUT_PARENTHESES)
        name: Any = None if node.name is None else node.name.name
        made = ast.ExceptHandler(
            type=self.optional(node.type),
            name=None if name is None else identifier(name),
            body=self._body(node.body),
        )
        return self.put(made, self.start(node), self._last(made))

    def _match(self, node: cst.Match) -> ast.stmt:
        cases = [
            ast.match_case(
                pattern=self.pattern(case.pattern), guard=self.optional(case.guard), body=self._body(case.body)
            )
            for case in node.cases
        ]
        return ast.Match(subject=self.expression(node.subject), cases=cases)

    def _function(self, node: cst.FunctionDef) -> ast.stmt:
        kind: Any = ast.FunctionDef if node.asynchronous is None else ast.AsyncFunctionDef
        made: ast.stmt = kind(
            name=identifier(node.name),
            args=self.parameters(node.params),
            body=self._body(node.body),
            decorator_list=[self.expression(decorator.decorator) for decorator in node.decorators],
            returns=None if node.returns is None else self.expression(node.returns.annotation),
            type_comment=None,
        )
        return self._with_type_params(made, node.type_parameters)

    def _class(self, node: cst.ClassDef) -> ast.stmt:
        bases, keywords = self.arguments([*node.bases, *node.keywords])
        made = ast.ClassDef(
            name=identifier(node.name),
            bases=bases,
            keywords=keywords,
            body=self._body(node.body),
            decorator_list=[self.expression(decorator.decorator) for decorator in node.decorators],
        )
        return self._with_type_params(made, node.type_parameters)

    def _with_type_params(self, made: Any, node: cst.TypeParameters | None) -> ast.stmt:
        if node is not None:
            self.need(TYPE_PARAMETERS)
        if sys.version_info >= TYPE_PARAMETERS:
            made.type_params = self._type_params(node)
        statement: ast.stmt = made
        return statement

    def _type_params(self, node: cst.TypeParameters | None) -> list[Any]:
        made = []
        for parameter in () if node is None else node.params:
            kind: Any = vars(ast)[type(parameter.param).__name__]
            fields: dict[str, Any] = {"name": identifier(parameter.param.name)}
            end = self.end(parameter.param.name)
            if isinstance(parameter.param, cst.TypeVar):
                fields["bound"] = self.optional(parameter.param.bound)
                if parameter.param.bound is not None:
                    end = self.outer_end(parameter.param.bound)
            if parameter.default is not None:
                self.need(TYPE_PARAMETER_DEFAULT)
                end = self.outer_end(parameter.default)
            if "default_value" in kind._fields:
                default: Any = self.optional(parameter.default)
                if default is not None and parameter.star:
                    row, column = self.outer_start(parameter.default or parameter)
                    default = self.put(ast.Starred(value=default, ctx=ast.Load()), (row, column - 1), end)
                fields["default_value"] = default
            made.append(self.put(kind(**fields), self.start(parameter.param), end))
        return made


def _elements(node: cst.Del) -> Sequence[Any]:
    assert isinstance(node.target, cst.Tuple)
    return node.target.elements


def _dotted(node: cst.BaseExpression) -> str:
    names: list[str] = []
    while isinstance(node, cst.Attribute):
        names.append(identifier(node.attr))
        node = node.value
    assert isinstance(node, cst.Name)
    return ".".join(reversed([*names, identifier(node)]))
