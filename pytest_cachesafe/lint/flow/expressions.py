"""Which function evaluates which expression."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.lint.flow.calls import call
from pytest_cachesafe.lint.flow.displays import evaluate_comprehension, evaluate_dict, evaluate_list, evaluate_set
from pytest_cachesafe.lint.flow.names import evaluate_attribute, evaluate_name
from pytest_cachesafe.lint.flow.operators import (
    evaluate_binary,
    evaluate_boolean,
    evaluate_compare,
    evaluate_conditional,
    evaluate_constant,
    evaluate_inner,
    evaluate_lambda,
    evaluate_unary,
    evaluate_walrus,
    evaluate_yield,
)
from pytest_cachesafe.lint.flow.subscripts import evaluate_subscript
from pytest_cachesafe.lint.flow.text import evaluate_fstring

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["EXPRESSIONS"]

EXPRESSIONS: dict[type[ast.AST], Callable[[Engine, Frame, Any], Value]] = {
    ast.Constant: evaluate_constant,
    ast.Name: evaluate_name,
    ast.Attribute: evaluate_attribute,
    ast.JoinedStr: evaluate_fstring,
    ast.FormattedValue: evaluate_inner,
    ast.BinOp: evaluate_binary,
    ast.Dict: evaluate_dict,
    ast.List: evaluate_list,
    ast.Tuple: evaluate_list,
    ast.Set: evaluate_set,
    ast.ListComp: evaluate_comprehension,
    ast.GeneratorExp: evaluate_comprehension,
    ast.SetComp: evaluate_comprehension,
    ast.DictComp: evaluate_comprehension,
    ast.Subscript: evaluate_subscript,
    ast.IfExp: evaluate_conditional,
    ast.BoolOp: evaluate_boolean,
    ast.Compare: evaluate_compare,
    ast.UnaryOp: evaluate_unary,
    ast.Await: evaluate_inner,
    ast.Starred: evaluate_inner,
    ast.NamedExpr: evaluate_walrus,
    ast.Lambda: evaluate_lambda,
    ast.Yield: evaluate_yield,
    ast.YieldFrom: evaluate_yield,
    ast.Call: call,
}
