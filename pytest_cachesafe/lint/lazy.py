"""The expressions of a view, worked out only where a rule looks at them.

A file has some ten expressions a row and rules look at few, so `LazyExpr` and `LazyCall` leave the slots of the model
empty; reading an empty slot raises AttributeError, Python then asks `__getattr__`, and that fills it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from cachesafe_rules.model import Call, Expr, Generator, Span, Taint

__all__ = ["LazyCall", "LazyExpr", "Maker", "dotted"]

_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Not: "not", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.And: "and", ast.Or: "or",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def dotted(node: ast.AST) -> str:
    """`a.b.c` as spelt; a call or subscript on the way is `()` or `[]`; "" for anything else at the root."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Name):
            parts.append(node.id)
            return ".".join(reversed(parts))
        elif isinstance(node, ast.Call):
            parts.append("()")
            node = node.func
        elif isinstance(node, ast.Subscript):
            parts.append("[]")
            node = node.value
        elif isinstance(node, ast.Await):
            node = node.value
        else:
            parts.append("")
            return ".".join(reversed(parts))


class Maker:
    """What lazy expressions share: how places are written, imports, taints, and one Expr per node."""

    __slots__ = ("calls", "column", "exprs", "filename", "imports", "taints")

    def __init__(
        self, filename: str, column: Callable[[int, int], int], taints: Callable[[ast.AST], tuple[Taint, ...]]
    ) -> None:
        self.filename = filename
        self.column = column
        self.taints = taints
        self.imports: dict[str, str] = {}
        self.exprs: dict[ast.AST, LazyExpr] = {}
        self.calls: dict[ast.AST, LazyCall] = {}

    def span(self, node: Any) -> Span:
        row, end_row = node.lineno, node.end_lineno or node.lineno
        return Span(
            self.filename, row, self.column(row, node.col_offset), end_row, self.column(end_row, node.end_col_offset)
        )

    def expr(self, node: ast.AST) -> LazyExpr:
        while isinstance(node, ast.Await):
            node = node.value
        found = self.exprs.get(node)
        if found is None:
            found = self.exprs[node] = LazyExpr.__new__(LazyExpr)
            found.node = node
            found.maker = self
        return found

    def call(self, node: ast.Call) -> LazyCall:
        """The call at a node; the walk fills in where it stands."""
        found = self.calls.get(node)
        if found is None:
            found = self.calls[node] = LazyCall.__new__(LazyCall)
            found.node = node
            found.maker = self
            found.function = ""
            found.conditions = ()
            found.in_loop = False
        return found

    def release(self) -> None:
        """Forget the expressions made so far; each of them refers to its maker."""
        self.exprs.clear()
        self.calls.clear()

    def target(self, name: str) -> str:
        root, dot, rest = name.partition(".")
        return self.imports.get(root, root) + dot + rest


class LazyCall(Call):
    __slots__ = ("maker", "node")
    node: ast.Call
    maker: Maker

    def __getattr__(self, name: str) -> Any:
        node, maker = self.node, self.maker
        value: Any
        if name == "name":
            value = dotted(node.func)
        elif name == "target":
            value = maker.target(self.name)
        elif name == "span":
            value = maker.span(node)
        elif name == "args":
            value = [maker.expr(arg) for arg in node.args]
        elif name == "keywords":
            value = {word.arg: maker.expr(word.value) for word in node.keywords if word.arg}
        elif name == "spread":
            value = [maker.expr(word.value) for word in node.keywords if not word.arg]
        elif name == "receiver":
            value = maker.expr(node.func.value) if isinstance(node.func, ast.Attribute) else None
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value


class LazyExpr(Expr):
    __slots__ = ("maker", "node")
    node: ast.AST
    maker: Maker

    def __getattr__(self, name: str) -> Any:
        if name == "span":
            self.span = self.maker.span(self.node)
        elif name == "taints":
            self.taints = self.maker.taints(self.node)
        elif name in ("kind", "value", "name", "items", "entries", "call", "generators"):
            self._fill()
        else:
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    def _fill(self) -> None:
        node, make = self.node, self.maker.expr
        self.kind = "other"
        self.value = self.name = self.call = None
        self.items = []
        self.entries = {}
        self.generators = []
        fill = _FILL.get(type(node))
        if fill is not None:
            fill(self, node, make)


_Make = Callable[[ast.AST], Expr]


def _constant(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind, expr.value = "constant", node.value


def _name(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind, expr.name = "name", node.id


def _attribute(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind, expr.items = "attribute", [make(node.value)]
    root = node.value
    while isinstance(root, ast.Attribute):
        root = root.value
    expr.name = dotted(node) if isinstance(root, ast.Name) else "." + node.attr


def _call(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind, expr.call = "call", expr.maker.call(node)
    expr.name = expr.call.name


def _elements(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind, expr.items = type(node).__name__.lower(), [make(item) for item in node.elts]


def _dict(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind = "dict"
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            expr.entries[key.value] = make(value)
        else:
            expr.items.append(make(value))


def _comprehension(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind = "comprehension"
    if isinstance(node, ast.DictComp):
        expr.name, expr.items = "dict", [make(node.key), make(node.value)]
    else:
        expr.name = {ast.ListComp: "list", ast.SetComp: "set"}.get(type(node), "generator")
        expr.items = [make(node.elt)]
    expr.generators = [
        Generator(make(part.target), make(part.iter), [make(test) for test in part.ifs]) for part in node.generators
    ]


def _fstring(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind = "fstring"
    expr.items = [
        make(getattr(part, "value", part) if type(part) is not ast.Constant else part) for part in node.values
    ]


def _conditional(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind, expr.items = "conditional", [make(node.test), make(node.body), make(node.orelse)]


def _subscript(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind, expr.items = "subscript", [make(node.value), make(node.slice)]


def _slice(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind = "slice"
    # A bound that is not written is a constant None: `x[None:]` is `x[:]`.
    expr.items = [
        make(part or ast.copy_location(ast.Constant(None), node)) for part in (node.lower, node.upper, node.step)
    ]


def _star(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind, expr.items = "star", [make(node.value)]


def _lambda(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind, expr.items = "lambda", [make(node.body)]


def _operation(expr: LazyExpr, node: Any, make: _Make) -> None:
    expr.kind = "operation"
    if isinstance(node, ast.BinOp):
        expr.name, expr.items = _OPERATORS[type(node.op)], [make(node.left), make(node.right)]
    elif isinstance(node, ast.BoolOp):
        expr.name, expr.items = _OPERATORS[type(node.op)], [make(value) for value in node.values]
    elif isinstance(node, ast.UnaryOp):
        expr.name, expr.items = _OPERATORS[type(node.op)], [make(node.operand)]
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            number = node.operand.value
            if isinstance(number, int | float):
                expr.kind, expr.value = "constant", -number
    elif isinstance(node, ast.Compare):
        expr.name = " ".join(_OPERATORS[type(op)] for op in node.ops)
        expr.items = [make(node.left), *(make(part) for part in node.comparators)]
    else:
        expr.name, expr.items = ":=", [make(node.target), make(node.value)]


_FILL: dict[type, Callable[[LazyExpr, Any, _Make], None]] = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.Call: _call, ast.List: _elements,
    ast.Tuple: _elements, ast.Set: _elements, ast.Dict: _dict, ast.ListComp: _comprehension,
    ast.SetComp: _comprehension, ast.DictComp: _comprehension, ast.GeneratorExp: _comprehension,
    ast.JoinedStr: _fstring, ast.IfExp: _conditional, ast.Subscript: _subscript, ast.Slice: _slice, ast.Starred: _star,
    ast.Lambda: _lambda, ast.BinOp: _operation, ast.BoolOp: _operation, ast.UnaryOp: _operation,
    ast.Compare: _operation, ast.NamedExpr: _operation,
}  # fmt: skip
