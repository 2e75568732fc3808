"""Values of calls: which kind a call is, and what its arguments vote for."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow import methods, requests
from pytest_cachesafe.lint.flow.apply import call_function
from pytest_cachesafe.lint.flow.arguments import Arguments
from pytest_cachesafe.lint.flow.atoms import merge
from pytest_cachesafe.lint.flow.callables import called_parameter, partial_arguments, partial_of
from pytest_cachesafe.lint.flow.classes import find_method
from pytest_cachesafe.lint.flow.commands import run_by_helper
from pytest_cachesafe.lint.flow.construct import construct
from pytest_cachesafe.lint.flow.declared import only_frames, returns_constants, writes_given
from pytest_cachesafe.lint.flow.derive import iterated
from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.external import external
from pytest_cachesafe.lint.flow.kept_state import state_item
from pytest_cachesafe.lint.flow.live import live_answer
from pytest_cachesafe.lint.flow.marks import added_to_chat, marks_of, vote
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.moment import of_the_moment
from pytest_cachesafe.lint.flow.personal import environment
from pytest_cachesafe.lint.flow.present import present_call
from pytest_cachesafe.lint.flow.requested import request_item
from pytest_cachesafe.lint.flow.retrieved import retrieved
from pytest_cachesafe.lint.flow.template_globals import globals_updated, text_with_globals
from pytest_cachesafe.lint.flow.values import (
    NOTHING,
    Bound,
    Cls,
    DictShape,
    Ext,
    Func,
    Lambda,
    ListShape,
    Obj,
    ParamShape,
    Partial,
    Value,
    join,
)
from pytest_cachesafe.lint.tables import sinks, sources

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.module import FunctionInfo

__all__ = ["call"]

_COUNTING = lazy_pattern(
    r"(?:count|num|estimate|calculate|measure|get)_?\w*tokens?|token_?(?:count|len|usage|size)|^len$|tokenize"
)
_ASKS = lazy_pattern(
    r"^_*a?(?:invoke|complete|completion|generate|predict|generate_content|generate_content_async|ask_llm|call_llm|"
    r"prompt_llm|from_template)$"
)
_FILING = lazy_pattern(
    r"^(?:dump|write|writelines|write_text|display)$|"
    r"^a?(?:add|create|save|insert|store|log|record|append)_\w*(?:entry|record|row|event|log|notification|audit)$"
)
_HARMLESS = lazy_pattern(r"^(?:print|len|dumps|isinstance|debug|info|warning|log|append|extend|insert)$")


def call(engine: Engine, frame: Frame, node: ast.Call) -> Value:
    """The value of a call; arrivals at the sinks it is are written down."""
    function = evaluate(engine, frame, node.func)
    spelt = dotted_name(node.func)
    last = node.func.attr if isinstance(node.func, ast.Attribute) else spelt
    arguments = Arguments()
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            value = evaluate(engine, frame, arg.value)
            if isinstance(value.shape, ListShape) and value.shape.exact:
                arguments.positional += value.shape.items
                arguments.nodes += [arg] * len(value.shape.items)
            else:
                arguments.rest = join(arguments.rest, Value(iterated(value).all_atoms()))
            continue
        arguments.positional.append(evaluate(engine, frame, arg))
        arguments.nodes.append(arg)
    for keyword in node.keywords:
        value = evaluate(engine, frame, keyword.value)
        if keyword.arg is not None:
            arguments.keywords[keyword.arg] = (value, keyword.value)
        elif isinstance(value.shape, DictShape):
            for name, item in value.shape.fields.items():
                arguments.keywords.setdefault(name, (item, keyword.value))
            arguments.rest = join(arguments.rest, Value(value.atoms))
        else:
            arguments.rest = join(arguments.rest, Value(value.atoms))
    _votes(engine, frame, node, last, arguments)
    made = requests.sinks_of_call(engine, frame, node, function, spelt, last, arguments)
    if made is not None:
        return made
    return _result(engine, frame, node, function, spelt, last, arguments)


def _votes(engine: Engine, frame: Frame, node: ast.Call, last: str, arguments: Arguments) -> None:
    counting = bool(_COUNTING.search(last))
    if _FILING.match(last):
        for value in _filed(engine, frame, node, arguments):
            for mark in marks_of(value):
                vote(engine, frame, mark, "filed")
        return
    if not counting and _HARMLESS.match(last):
        return
    given = []
    for value in arguments.every():
        if value.shape is not None or value.atoms:
            given += marks_of(value)
    for mark in given:
        vote(engine, frame, mark, "counted" if counting else "sent")
    if _ASKS.match(last) and arguments.positional and not arguments.keywords.keys() & sinks.SYSTEM_KEYWORDS:
        text = arguments.positional[0]
        if not isinstance(text.shape, (ListShape, DictShape)):
            # A bare text is one user message.
            for mark in marks_of(text):
                vote(engine, frame, mark, "asked")
    added_to_chat(engine, frame, node, last, [m for m in given if m.key.startswith("message:")])


def _filed(engine: Engine, frame: Frame, node: ast.Call, arguments: Arguments) -> list[Value]:
    """What is written to a file: also what `file.write(json.dumps(…))` turns into text."""
    inner = [arg for part in node.args for arg in ast.walk(part) if isinstance(arg, ast.Call)]
    texts = [arg.args[0] for arg in inner if arg.args and dotted_name(arg.func).rpartition(".")[2] == "dumps"]
    return [*arguments.every(), *(evaluate(engine, frame, text) for text in texts)]


def _result(
    engine: Engine, frame: Frame, node: ast.Call, function: Value, spelt: str, last: str, arguments: Arguments
) -> Value:
    shape = function.shape
    if last in engine.tables.sanitizers or spelt in engine.tables.sanitizers:
        return NOTHING
    live = live_answer(engine, frame, node, last, arguments)
    if live is None and last == "from_string":
        live = text_with_globals(engine, frame, node, arguments)
    if last == "update" and globals_updated(engine, frame, node, arguments):
        return NOTHING
    if live is None:
        asked = (engine, frame, node, function, last)
        live = of_the_moment(*asked, arguments) or present_call(*asked) or retrieved(*asked, arguments)
    if live is not None:
        return live
    if last == "get" and isinstance(node.func, ast.Attribute) and node.args:
        looked = (engine, frame, node, node.func.value, node.args[0])
        brought = request_item(*looked) or state_item(*looked)
        if brought is not None:
            return brought
    if isinstance(shape, Func):
        value = call_function(
            engine,
            frame,
            shape.functions,
            arguments.positional,
            arguments.keywords,
            shape.bound,
            node,
            None,
            arguments.nodes,
            arguments.rest,
        )
        value = run_by_helper(engine, frame, node, shape.functions, arguments, value)
        return _recalled(engine, frame, node, spelt, last, value, shape.functions)
    if isinstance(shape, Cls):
        return construct(engine, frame, node, shape.cls, arguments)
    if isinstance(shape, Partial) and arguments.every():
        whole = partial_arguments(shape, arguments)
        return _result(engine, frame, node, shape.target, shape.spelt, shape.spelt.rpartition(".")[2], whole)
    if isinstance(shape, Lambda):
        return shape.result
    if isinstance(shape, Obj):
        called = find_method(engine, shape.cls, "__call__")
        if called is None:
            return NOTHING
        return call_function(
            engine,
            frame,
            (called,),
            arguments.positional,
            arguments.keywords,
            function,
            node,
            shape.cls,
            arguments.nodes,
            arguments.rest,
        )
    if isinstance(shape, Bound):
        return methods.method(engine, frame, node, shape.receiver, last, arguments)
    if isinstance(shape, ParamShape):
        given = called_parameter(engine, frame, node, function, arguments)
        return join(given, external(engine, frame, node, "", spelt, last, arguments))
    dotted = shape.dotted if isinstance(shape, Ext) else ""
    if dotted in ("functools.partial", "partial") and arguments.positional:
        rest = arguments.behind(1)
        return partial_of(engine, frame, node, arguments.positional[0], dotted_name(arguments.nodes[0]), rest)
    if (
        isinstance(shape, Ext)
        and isinstance(node.func, ast.Attribute)
        and shape.dotted.startswith(("os.environ.",))
        and last in ("get", "pop")
    ):
        return environment(engine, frame, node, arguments.positional[0] if arguments.positional else NOTHING)
    return external(engine, frame, node, dotted, spelt, last, arguments)


def _recalled(
    engine: Engine, frame: Frame, node: ast.Call, spelt: str, last: str, value: Value, functions: Sequence[FunctionInfo]
) -> Value:
    if (
        (sources.MEMORY_CALLS.match(last) or sources.MEMORY_OWNERS.search(spelt))
        and not any(f.is_tool for f in functions)
        and not all(returns_constants(engine, f) or writes_given(engine, f) for f in functions)
        and not any(a.source is not None for a in value.atoms.values())
        # A text that callers pass is of their kind.
        and not (any(a.mark is None for a in value.atoms.values()) and all(only_frames(engine, f) for f in functions))
    ):
        return Value(merge(value.atoms, engine.source(frame, node, "memory", "call", f"{last}()").atoms), value.shape)
    return value
