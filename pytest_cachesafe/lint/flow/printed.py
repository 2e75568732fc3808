"""Objects without text of their own that a function is given and writes out: what it prints is an address."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from cachesafe_rules.model import Step
from pytest_cachesafe.lint.flow.values import Obj, Value

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.module import FunctionInfo

__all__ = ["with_addresses"]


def with_addresses(
    engine: Engine, frame: Frame, function: FunctionInfo, values: dict[str, tuple[Value, ast.AST]], node: ast.AST
) -> dict[str, tuple[Value, ast.AST]]:
    """The arguments of a call, where objects that the function writes out as a whole hold their address."""
    from pytest_cachesafe.lint.flow.text import is_bare

    found = values
    for name, (value, where) in values.items():
        shape = value.shape
        if not isinstance(shape, Obj) or name in ("self", "cls") or value.atoms or not is_bare(engine, shape.cls):
            continue
        row = _written_out(engine, function, name)
        if row is None:
            continue
        api = f"the default text of a {shape.cls.name} object"
        address = engine.source(frame, where if hasattr(where, "lineno") else node, "repr", "process", api)
        step = Step(function.module.name, row, "formatted into a string")
        atoms = {key: atom.at(step) for key, atom in address.atoms.items()}
        found = {**found, name: (Value(atoms, shape, value.latent), where)}
    return found


def _written_out(engine: Engine, function: FunctionInfo, name: str) -> int | None:
    """The row in which a function prints a parameter itself: `f"{store}"`, `repr(store)`, `text.format(store)`,
    `text % store`; None where it does not."""
    word = re.escape(name)
    printed = re.compile(
        rf"\{{{word}(?:![rsa])?\}}|\b(?:str|repr)\({word}\)|\.format\((?:[^()]*,\s*)?(?:\w+=)?{word}\s*[,)]|"
        rf"[\"']\s*%\s*\(?{word}\b(?!\s*[.\[(])"
    )
    lines = engine.lines(function.module)[function.first - 1 : function.end_row]
    return next((row for row, line in enumerate(lines, function.first) if printed.search(line)), None)
