"""The state of a session: what a tool of the same file writes is another text after each call of that tool, what is
the user's own is another one for each user."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.policy import TOOL_WRITES
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import Bound, ParamShape
from pytest_cachesafe.lint.tables import sinks

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.module import Module
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["state_attribute", "state_item", "written_by_tools"]

# Objects of a session that frameworks hand to prompts and to tools alike: one that is looked into with keys, and ones
# of the program's own class.
_STATE = "state"
_OWN = frozenset(("context", "deps", "userdata"))
_HANDED = frozenset(("tool_context", "toolcontext"))
_CHANGES = frozenset(("append", "extend", "add", "insert", "update", "pop", "remove", "discard", "clear", "setdefault"))
_TOOL_KEYWORDS = frozenset(("tools", "functions"))
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
# What frameworks hand to a function that writes a prompt.
_CONTEXT = lazy_pattern(r"(?:^|_)(?:ctx|context|run_context)$")
# The user's own by the name of the key, or by its scope; not what the user asks.
_PERSONS = lazy_pattern(
    r"^(?:user:(?!\w*(?:query|message|input|question))\w+|"
    r"(?:user|customer|patient|member|guest|student|learner|caller|visitor|player|client|tenant|employee|subscriber)"
    r"(?!\w*(?:query|message|input|question|request|text|prompt))(?:_\w+)?|"
    r"(?:first|last|full|nick|display)_?name|email|phone|birthday|home_?town|home_city|allergies|diet|preferences|"
    r"membership)$"
)
# `user:cart`, `temp:cart`: whose state it is.
_SCOPE = lazy_pattern(r"^(?:user|app|temp):")


def state_item(engine: Engine, frame: Frame, node: ast.expr, owner: ast.expr, key: ast.expr | None) -> Value | None:
    """`context.state["cart"]`, `state.get("cart")` outside of tools; None for anything else."""
    word = _key(key)
    owner = _spelt_out(frame, owner)
    if word is None or dotted_name(owner).rpartition(".")[2] != _STATE:
        return None
    written = _read(engine, frame, node, owner, word, f"{dotted_name(owner)}[{ast.unparse(key) if key else word}]")
    if written is None and _tells_of_person(frame, owner, word):
        return engine.source(frame, node, "user", "user", f"{dotted_name(owner)}[{word!r}]")
    return written


def _spelt_out(frame: Frame, owner: ast.expr) -> ast.expr:
    """`context.state` for a name that is given it: `state = context.state`."""
    given = frame.lookup(owner.id) if isinstance(owner, ast.Name) else None
    shape = given.shape if given is not None else None
    if isinstance(shape, Bound) and shape.name == _STATE and isinstance(shape.receiver.shape, ParamShape):
        return ast.Attribute(ast.Name(shape.receiver.shape.name, ast.Load()), _STATE, ast.Load())
    return owner


def _tells_of_person(frame: Frame, owner: ast.expr, key: str) -> bool:
    """Whether a key of the state that a framework hands to a function says that its value is the user's own."""
    function = frame.function
    if function is None or function.is_tool or not isinstance(owner, ast.Attribute):
        return False
    root = dotted_name(owner.value)
    known = (*function.params, *function.keyword_only)
    handed = _HANDED & {name.lower() for name in known}
    return not handed and root in known and bool(_CONTEXT.search(root)) and bool(_PERSONS.match(key))


def state_attribute(engine: Engine, frame: Frame, node: ast.Attribute) -> Value | None:
    """`ctx.deps.cart` outside of tools; None for anything else."""
    owner = node.value
    if not isinstance(owner, ast.Attribute) or owner.attr not in _OWN:
        return None
    return _read(engine, frame, node, owner, node.attr, dotted_name(node))


def _read(engine: Engine, frame: Frame, node: ast.expr, owner: ast.expr, key: str, spelt: str) -> Value | None:
    function = frame.function
    root = dotted_name(owner).partition(".")[0]
    if function is None or function.is_tool or root not in (*function.params, *function.keyword_only):
        return None
    if _SCOPE.sub("", key) not in written_by_tools(engine, frame.module) or _HANDED & {
        name.lower() for name in function.params
    }:
        return None
    return engine.source(frame, node, "state", "call", f"{spelt}, {TOOL_WRITES},")


def written_by_tools(engine: Engine, module: Module) -> frozenset[str]:
    """What the tools of a file write into the state of a session, without the scope in front of its name."""
    if module.tool_state is None:
        module.tool_state = frozenset(_SCOPE.sub("", key) for key in _written(engine, module))
    return module.tool_state


def _written(engine: Engine, module: Module) -> Iterator[str]:
    text = "\n".join(engine.lines(module))
    if "tool" not in text.lower() or (_STATE not in text and not any(f".{word}." in text for word in _OWN)):
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    nodes = list(ast.walk(tree))
    offered = {
        spelt.rpartition(".")[2]
        for node in nodes
        if isinstance(node, ast.keyword) and node.arg in _TOOL_KEYWORDS
        for part in ast.walk(node.value)
        if (spelt := dotted_name(part) if isinstance(part, (ast.Name, ast.Attribute)) else "")
    }
    for node in nodes:
        if isinstance(node, _Function) and _is_tool(node, offered):
            for inner in ast.walk(node):
                yield from _keys(inner)


def _is_tool(function: ast.FunctionDef | ast.AsyncFunctionDef, offered: set[str]) -> bool:
    """Whether a model calls a function: it is decorated as a tool, in a list of tools, or given a tool's context."""
    if function.name in offered or any(
        sinks.TOOL_DECORATORS.search(dotted_name(decorator)) for decorator in function.decorator_list
    ):
        return True
    arguments = (*function.args.args, *function.args.kwonlyargs)
    return any({arg.arg.lower(), dotted_name(arg.annotation).rpartition(".")[2].lower()} & _HANDED for arg in arguments)


def _keys(node: ast.AST) -> Iterator[str]:
    """What a tool changes: `state["cart"] = …`, `ctx.deps.cart.append(…)`, `Command(update={"cart": …})`."""
    if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
        yield from _place(node)
    elif isinstance(node, ast.Call):
        name = dotted_name(node.func).rpartition(".")[2]
        given: list[ast.expr] = []
        if name == "Command":
            given = [keyword.value for keyword in node.keywords if keyword.arg == "update"]
        elif name == "update" and dotted_name(node.func).split(".")[-2:-1] == [_STATE]:
            given = node.args[:1]
        elif name in _CHANGES and isinstance(node.func, ast.Attribute):
            yield from _place(node.func.value)
        for part in given:
            if isinstance(part, ast.Dict):
                yield from (k.value for k in part.keys if isinstance(k, ast.Constant) and isinstance(k.value, str))


def _key(node: ast.expr | None) -> str | None:
    """A key that is the same wherever it is spelt: a text, or a constant of the file by its name."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return f"={node.id}" if isinstance(node, ast.Name) and node.id.isupper() else None


def _place(node: ast.expr) -> Iterator[str]:
    """The key or attribute of the state that a target lies in: `cart` of `ctx.deps.cart[article]`."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        last = dotted_name(node.value).rpartition(".")[2]
        if isinstance(node, ast.Subscript) and (key := _key(node.slice)) is not None:
            if not isinstance(node.value, ast.Subscript) and last == _STATE:
                yield key
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and last in _OWN:
            yield node.attr
        node = node.value
