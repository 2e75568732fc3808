"""Messages, requests and tools written as dicts, pairs or calls: which of their parts reach a sink."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.observers import counts
from pytest_cachesafe.lint.flow.arrive import ORDER_KINDS, TOOL_LIST, arrive
from pytest_cachesafe.lint.flow.derive import given
from pytest_cachesafe.lint.flow.drawn import drawn_examples
from pytest_cachesafe.lint.flow.frame import ParamSink, function_of
from pytest_cachesafe.lint.flow.marks import new_mark, role_of, role_word, vote
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import Const, DictShape, ListShape, Value
from pytest_cachesafe.lint.tables import sinks

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.atoms import Mark
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["dict_arrivals", "message", "tools", "user_text"]


def message(
    engine: Engine, frame: Frame, node: ast.AST, role: str, content: Value, content_node: ast.AST, label: str
) -> Mark | None:
    """A message of a role: system text arrives, other text takes back what was only named like system text."""
    if role == "system":
        if frame.function is not None and counts(frame.function.name):
            # Made to be counted.
            return None
        if _is_reminder(frame, content_node):
            # Put behind the history by design.
            return new_mark(frame, node, "message")
        mark = new_mark(frame, node, "message")
        arrive(engine, frame, content_node, content, label, "system", (mark,))
        return mark
    if role == "other":
        user_text(engine, frame, content)
    return None


def _is_reminder(frame: Frame, node: ast.AST) -> bool:
    words = f"{dotted_name(node)} {frame.qualname}".lower()
    return "reminder" in words or "heartbeat" in words


def user_text(engine: Engine, frame: Frame, content: Value) -> None:
    """Text of a message that is not the system's."""
    for atom in content.all_atoms().values():
        if atom.mark is not None:
            vote(engine, frame, atom.mark, "user")
        elif atom.source is None and atom.key[0] == "p":
            function = function_of(frame, atom)
            if function is not None:
                function.summary.sinks.setdefault(
                    (".".join(atom.key[2:]), "", "user"),
                    ParamSink(atom.key[2], "", "user", (), 0, (), "user", atom.key[3:]),
                )


def dict_arrivals(engine: Engine, frame: Frame, node: ast.AST, value: Value, nodes: dict[str, ast.expr]) -> Value:
    """A dict or pair display that is a message, a request or a tool."""
    shape = value.shape
    if isinstance(shape, ListShape):
        role, content = shape.items
        if isinstance(role.shape, Const) and role_of(role) and isinstance(node, ast.Tuple):
            mark = message(engine, frame, node, role_of(role), content, node.elts[1], "system message")
            if mark is not None:
                return Value(value.atoms, DictShape({"role": role, "content": content}, mark))
        return value
    if not isinstance(shape, DictShape):
        return value
    fields = shape.fields
    if "role" in fields and ("content" in fields or "parts" in fields or "text" in fields):
        name = "content" if "content" in fields else "parts" if "parts" in fields else "text"
        role_value = fields["role"]
        role_name = role_of(role_value)
        if not role_name and "role" in nodes:
            role_name = role_word(dotted_name(nodes["role"]))
        mark = message(engine, frame, node, role_name, fields[name], nodes.get(name, node), "system message")
        if mark is not None:
            return Value(value.atoms, DictShape(fields, mark))
        return value
    told = bool(fields.keys() & (sinks.SYSTEM_KEYS | sinks.KEYS_BESIDE.keys())) and _is_published(frame, node)
    for key in () if told else fields:
        beside = sinks.KEYS_BESIDE.get(key)
        alone = key == "system" and len(fields) == 1 and _is_built(frame)
        if (key in sinks.SYSTEM_KEYS or (beside is not None and beside & fields.keys()) or alone) and key in nodes:
            arrive(engine, frame, nodes[key], fields[key], f"{key!r} of a request")
    if "type" in fields and "function" in fields and _is_const(fields["type"], "function"):
        _function_of_tool(engine, frame, nodes.get("function"), fields["function"])
    if "description" in fields and sinks.TOOL_KEYS & fields.keys():
        for key in ("name", "description", "input_schema", "inputSchema", "parameters"):
            if key in nodes:
                atoms = given(fields[key]) if key == "name" else fields[key].all_atoms()
                arrive(engine, frame, nodes[key], fields[key], f"{key} of a tool", "tools", atoms=atoms)
    if "messages" in nodes and fields.keys() & sinks.REQUEST_FIELDS - {"messages"}:
        drawn_examples(engine, frame, None, fields["messages"], nodes["messages"])
    stored = sinks.SERIALISERS.search(frame.qualname.rsplit(".", 1)[-1])
    sent = fields.keys() & sinks.BESIDE_TOOLS and (
        fields.keys() & sinks.SENT_FIELDS or fields.keys() <= sinks.REQUEST_FIELDS
    )
    if "tools" in fields and "tools" in nodes and not stored and sent:
        tools(engine, frame, nodes["tools"], fields["tools"])
    return value


def _is_built(frame: Frame) -> bool:
    """Whether a dict is what a function gives back that builds a part of a request by its name."""
    name = frame.qualname.rsplit(".", 1)[-1]
    return isinstance(frame.stmt, ast.Return) and sinks.BUILDS.search(name) is not None


def _is_const(value: Value, word: str) -> bool:
    return isinstance(value.shape, Const) and value.shape.value == word


def _function_of_tool(engine: Engine, frame: Frame, node: ast.expr | None, value: Value) -> None:
    """`{"type": "function", "function": {"name": …, "description": …}}`: without parameters its outer dict says that it
    is a tool."""
    shape = value.shape
    if not isinstance(node, ast.Dict) or not isinstance(shape, DictShape) or sinks.TOOL_KEYS & shape.fields.keys():
        return
    for key, item in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "description" and "description" in shape.fields:
            told = shape.fields["description"]
            arrive(engine, frame, item, told, "description of a tool", "tools", atoms=told.all_atoms())


def _is_published(frame: Frame, node: ast.AST) -> bool:
    """Whether a dict is told to a bus where it stands: `hub.publish(topic, {…})`."""
    calls = (part for part in ast.walk(frame.stmt) if isinstance(part, ast.Call)) if frame.stmt is not None else ()
    return any(
        arg is node
        for call in calls
        if sinks.PUBLISHES.match(dotted_name(call.func).rpartition(".")[2])
        for arg in (*call.args, *(keyword.value for keyword in call.keywords))
    )


def tools(engine: Engine, frame: Frame, node: ast.AST, value: Value) -> None:
    """The `tools` of a request: their order matters, whatever they are."""
    atoms = value.all_atoms()
    arrive(engine, frame, node, value, TOOL_LIST, "tools", kinds=ORDER_KINDS, atoms=atoms)
