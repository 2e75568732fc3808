"""Attributes that are counted up or down: from one call to the next they are another number."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from cachesafe_rules.model import Step
from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.policy import EACH_REQUEST
from pytest_cachesafe.lint.flow.atoms import merge
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import Const, Obj, Value
from pytest_cachesafe.lint.tables import sources

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["counted", "step_of"]

# Requests as the clients and frameworks spell them, and the conversation that an object keeps.
_ASKS = lazy_pattern(
    r"(?:(?:messages|completions|responses)\.(?:create|parse|stream)|a?completion|generate_content(?:_async|_stream)?|"
    r"send_message(?:_async|_stream)?|converse(?:_stream)?|a?invoke|a?stream|a?chat|(?:agent|runner|crew)\.\w*run\w*)$",
    re.IGNORECASE,
)
_KEPT = lazy_pattern(r"\w\._?(?:\w+_)?(?:messages|history|turns|conversation|transcript|dialog|dialogue|contents)$")
# A number that something is called by is given once.
_NUMBERS = lazy_pattern(r"(?:^|_)(?:id|ids|seq|sequence|index|idx|version|port|serial|number|no)$")


def counted(engine: Engine, frame: Frame, target: ast.Attribute, step: Value, value: Value) -> Value:
    """The new value of an attribute to which a step was added: a counter, if the step is a number that never changes
    and the name says so, or an object keeps it for the next call. `value`: what else is known of it."""
    if not isinstance(step.shape, Const) or type(step.shape.value) is not int:
        return value
    asks = _counts_requests(engine, frame, target)
    if not asks and not sources.COUNTERS.search(target.attr):
        return value
    spelt = dotted_name(target)
    made = engine.source(frame, target, "state", "call", f"{spelt}, which is counted up,").atoms
    if asks:
        seen = Step(frame.module.name, target.lineno, f"{spelt} {EACH_REQUEST}")
        made = {key: atom._replace(steps=(seen,)) for key, atom in made.items()}
    return Value(merge(value.atoms, made))


def step_of(target: ast.Attribute, value: ast.expr) -> ast.expr | None:
    """What is added to an attribute by `self.turn = self.turn + 1`; None where it is given anything else."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Add, ast.Sub)):
        return None
    spelt = dotted_name(target)
    same = isinstance(value.left, ast.Attribute) and dotted_name(value.left) == spelt
    return value.right if same else None


def _counts_requests(engine: Engine, frame: Frame, target: ast.Attribute) -> bool:
    """Whether a method counts an attribute of its own object, and asks a model itself or is called by one of the class
    that does: then the number is another one in the next request, whatever it is called. One that counts what it makes
    gives each its number."""
    cls, function = frame.cls, frame.function
    if cls is None or function is None or not isinstance(target.value, ast.Name):
        return False
    owner = frame.lookup(target.value.id)
    if owner is None or not isinstance(owner.shape, Obj) or owner.shape.cls is not cls:
        return False
    if _NUMBERS.search(target.attr):
        return False
    methods = [engine.node(one) for one in cls.methods.values()]
    callers = [method for method in methods if function.name in _called(method)]
    return any(map(_asks, (engine.node(function), *callers)))


def _asks(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a model is asked, or a message put into a conversation that the object keeps."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if _ASKS.search(dotted_name(node.func)):
                return True
            if node.func.attr in ("append", "extend") and _KEPT.search(dotted_name(node.func.value)):
                return True
    return False


def _called(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The methods of its own object that a function calls."""
    return {
        node.func.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    }
