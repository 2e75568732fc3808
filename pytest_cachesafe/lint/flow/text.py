"""Values turned into text: f-strings and what an object shows."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cachesafe_rules.model import Step
from pytest_cachesafe.lint.flow import clock
from pytest_cachesafe.lint.flow.apply import call_function
from pytest_cachesafe.lint.flow.atoms import EMPTY, is_order, merge
from pytest_cachesafe.lint.flow.classes import base_words, find_method
from pytest_cachesafe.lint.flow.derive import cut
from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.values import NOTHING, DictShape, Func, ListShape, Obj, Partial, Value

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.module import ClassInfo

__all__ = ["evaluate_fstring", "is_bare", "order_told", "shown", "texted"]


def shown(engine: Engine, frame: Frame, value: Value, node: ast.AST) -> Value:
    """A value as text; an object without text of its own shows its address."""
    if isinstance(value.shape, Obj):
        cls = value.shape.cls
        for name in ("__str__", "__format__", "__repr__"):
            method = find_method(engine, cls, name)
            if method is not None:
                return call_function(engine, frame, (method,), [], {}, value, node, cls).text()
        return engine.source(frame, node, "repr", "process", words) if (words := _address(engine, value)) else NOTHING
    words = _address(engine, value)
    if words:
        source = engine.source(frame, node, "repr", "process", words)
        return Value(merge(value.all_atoms(), source.atoms))
    return value.text()


def _address(engine: Engine, value: Value, depth: int = 3) -> str:
    """What shows its address where a value is written out: a function, or a thing without text in a list or a dict."""
    shape = value.shape
    if isinstance(shape, Func) and shape.functions:
        return f"the text of function {shape.functions[0].name}"
    if isinstance(shape, Obj) and is_bare(engine, shape.cls):
        return f"the default text of a {shape.cls.name} object"
    if isinstance(shape, Partial) and depth < 3:
        return "the text of a partial"
    inner: Iterable[Value] = ()
    if isinstance(shape, ListShape):
        inner = shape.items
    elif isinstance(shape, DictShape) and shape.mark is None:
        inner = shape.fields.values()
    found = (_address(engine, one, depth - 1) for one in inner) if depth else iter(())
    return next(filter(None, found), "")


def is_bare(engine: Engine, cls: ClassInfo) -> bool:
    """Whether all that is seen of a class has no text of its own."""
    return (
        base_words(engine, cls) == {cls.name}
        and not cls.decorated
        and not any(find_method(engine, cls, name) for name in ("__str__", "__format__", "__repr__"))
    )


def evaluate_fstring(engine: Engine, frame: Frame, node: ast.JoinedStr) -> Value:
    """`f"…"`: a format such as `{now:%Y}` cuts a clock."""
    atoms = EMPTY
    written = ""
    is_line = not any("\n" in str(part.value) for part in node.values if isinstance(part, ast.Constant))
    for part in node.values:
        if isinstance(part, ast.Constant):
            written += str(part.value)
        elif isinstance(part, ast.FormattedValue):
            if is_line and written.rfind("$(") > written.rfind(")"):
                # A command in a command line: the shell puts what it prints in the place of `$(cat path)`.
                continue
            value = evaluate(engine, frame, part.value)
            spec = part.format_spec
            if isinstance(spec, ast.JoinedStr) and any(
                a.source is not None and clock.tells_time(a.source) for a in value.atoms.values()
            ):
                words = "".join(str(v.value) for v in spec.values if isinstance(v, ast.Constant))
                if "%" in words:
                    value = cut(value, clock.of_format(words))
            atoms = merge(atoms, shown(engine, frame, value, part).atoms)
    if atoms:
        row = node.lineno
        atoms = {k: a.at(Step(frame.module.name, row, "formatted into a string")) for k, a in atoms.items()}
    return Value(atoms) if atoms else NOTHING


def texted(frame: Frame, node: ast.AST, atoms: Any, words: str) -> Value:
    """Text that holds these atoms."""
    if not atoms:
        return NOTHING
    step = Step(frame.module.name, getattr(node, "lineno", 1), words)
    return Value({k: a.at(step) for k, a in atoms.items()})


def order_told(frame: Frame, node: ast.AST, value: Value) -> Value:
    """Text made of a whole: where it holds an order, its way says that the order was written out here."""
    if not any(is_order(a) for a in value.atoms.values()):
        return value
    step = Step(frame.module.name, getattr(node, "lineno", 1), "put into a string")
    return Value({k: a.at(step) if is_order(a) else a for k, a in value.atoms.items()}, value.shape, value.latent)
