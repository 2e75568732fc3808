"""Whether the calls of a function hand it what the module holds for good."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.module import dotted_name

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.module import FunctionInfo, Module

__all__ = ["is_given_constants"]

_CONSTANT = lazy_pattern(r"^_*[A-Z][A-Z0-9_]*$")


def is_given_constants(engine: Engine, module: Module, function: FunctionInfo, name: str) -> bool:
    """Whether each call of a function in its file gives a parameter a constant of the module: `ask(DEVICES)`. Of one
    that is called nowhere in the file nothing is known."""
    given = list(_given(engine, module, function, name))
    return bool(given) and all(
        isinstance(value, ast.Name | ast.Attribute) and _CONSTANT.match(dotted_name(value).rpartition(".")[2])
        for value in given
    )


def _given(engine: Engine, module: Module, function: FunctionInfo, name: str) -> Iterator[ast.expr | None]:
    """What the calls give a parameter; None where that cannot be told."""
    calls = re.compile(rf"\b{re.escape(function.name)}\(")
    lines = engine.lines(module)
    if not any(calls.search(line) and not line.lstrip().startswith(("def ", "async def ")) for line in lines):
        return
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return
    params = [param for param in function.params if param not in ("self", "cls")]
    at = params.index(name) if name in params else len(params)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted_name(node.func).rpartition(".")[2] == function.name:
            named = next((keyword.value for keyword in node.keywords if keyword.arg == name), None)
            open_ended = any(isinstance(arg, ast.Starred) for arg in node.args[: at + 1])
            yield named or (node.args[at] if at < len(node.args) and not open_ended else None)
