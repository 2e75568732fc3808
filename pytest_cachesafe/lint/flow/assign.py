"""Assignments: targets that are named like system text, tools or examples are sinks."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.arrive import arrive
from pytest_cachesafe.lint.flow.atoms import Atom, is_order, merge
from pytest_cachesafe.lint.flow.binding import bind
from pytest_cachesafe.lint.flow.classes import base_words
from pytest_cachesafe.lint.flow.cuts import head_is_cut
from pytest_cachesafe.lint.flow.evaluate import evaluate
from pytest_cachesafe.lint.flow.marks import new_mark, role_of
from pytest_cachesafe.lint.flow.messages import tools, user_text
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.template_globals import global_set
from pytest_cachesafe.lint.flow.values import Cls, DictShape, Ext, Func, ListShape, ModShape, Value
from pytest_cachesafe.lint.tables import sinks

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.atoms import Atoms
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["assign", "named_text"]


def assign(engine: Engine, frame: Frame, target: ast.expr, value: Value, node: ast.expr) -> None:
    """Bind, and take note where the target is named like system text."""
    if isinstance(target, ast.Name):
        constant = frame.function is None and frame.cls is None and engine.tables.is_system_constant(target.id)
        if value.atoms or value.shape is not None:
            if constant or engine.tables.is_system_name(target.id):
                value = named_text(engine, frame, target, value, node, target.id)
            elif sinks.is_user_name(target.id):
                user_text(engine, frame, value)
            elif sinks.FEW_SHOT.search(target.id) and frame.rows < 2:
                arrive(
                    engine, frame, node, value, f"few-shot examples ({target.id})", "few_shot", atoms=value.all_atoms()
                )
    elif isinstance(target, ast.Attribute):
        if engine.tables.is_system_name(target.attr):
            value = named_text(engine, frame, target, value, node, dotted_name(target) or target.attr)
        elif target.attr in sinks.TOOL_ATTRIBUTES and _is_tool_attribute(engine, frame, target, node):
            owner = f"tool {frame.cls.name}" if frame.cls is not None else "a tool"
            arrive(engine, frame, node, value, f"{target.attr} of {owner}", "tools", atoms=value.all_atoms())
        elif sinks.FEW_SHOT.search(target.attr):
            arrive(
                engine, frame, node, value, f"few-shot examples ({target.attr})", "few_shot", atoms=value.all_atoms()
            )
        elif target.attr == "messages" and _is_history(value):
            arrive(
                engine,
                frame,
                node,
                value,
                f"messages that every conversation begins with ({dotted_name(target)})",
                "few_shot",
                atoms=_said(value),
            )
        elif target.attr in ("content", "text") and _is_first_message(engine, frame, target.value):
            arrive(engine, frame, node, value, _first_message(target.value))
    elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        key = target.slice.value
        if key in ("content", "text"):
            head_is_cut(engine, frame, target, node)
        if isinstance(key, str) and (key in sinks.SYSTEM_KEYS or (key == "system" and _may_ask(engine, frame, target))):
            arrive(engine, frame, node, value, f"{key!r} of a request")
        elif key in ("content", "text") and _is_system_dict(engine, frame, target.value):
            arrive(engine, frame, node, value, "system message")
        elif key in ("content", "text") and _is_first_message(engine, frame, target.value):
            arrive(engine, frame, node, value, _first_message(target.value))
        elif (
            key == "description"
            and isinstance(target.value, ast.Subscript)
            and isinstance(target.value.slice, ast.Constant)
            and target.value.slice.value == "function"
        ):
            arrive(engine, frame, node, value, "description of a tool", "tools", atoms=value.all_atoms())
        elif key == "tools" and _is_request(engine, frame, target.value):
            tools(engine, frame, node, value)
    elif (
        isinstance(target, (ast.Tuple, ast.List))
        and isinstance(node, (ast.Tuple, ast.List))
        and len(node.elts) == len(target.elts)
        and isinstance(value.shape, ListShape)
        and len(value.shape.items) == len(target.elts)
    ):
        for part, item, where in zip(target.elts, value.shape.items, node.elts, strict=True):
            assign(engine, frame, part, item, where)
        return
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = (
            value.shape.items
            if isinstance(value.shape, ListShape) and value.shape.exact and len(value.shape.items) == len(target.elts)
            else None
        )
        if parts is not None:
            for part, item in zip(target.elts, parts, strict=True):
                assign(engine, frame, part, Value(merge(item.atoms, value.atoms), item.shape, item.latent), node)
            return
    if not global_set(engine, frame, target, value):
        bind(engine, frame, target, value)


def named_text(engine: Engine, frame: Frame, target: ast.expr, value: Value, node: ast.expr, name: str) -> Value:
    """Text bound to a name of system text: it arrives, and carries a mark that its uses may withdraw."""
    mark = new_mark(frame, target, _how_named(name))
    if isinstance(value.shape, (Func, Cls, ModShape, Ext)) or _is_row(node, name):
        return value
    text = value
    if _SEVERAL.search(name):
        # Several prompts: each of them is the same, whatever their order.
        text = Value({k: a for k, a in value.atoms.items() if not is_order(a)}, value.shape)
    arrive(engine, frame, node, text, name, marks=(mark,))
    if not value.all_atoms():
        return value
    return Value({**value.atoms, ("m", mark.key): Atom(("m", mark.key), mark=mark)}, value.shape, value.latent)


# Fields by which people and their rooms are told apart in a table.
_ROW_FIELDS = lazy_pattern(
    r"^(?:sender|author|recipient|receiver|room|channel|conversation|chat|discussion|group|thread|user)(?:_id|_pk|_uuid)?$"
)
_MESSAGE_NAMES = lazy_pattern(r"(?:message|msg)s?$", re.IGNORECASE)


def _is_row(node: ast.expr, name: str) -> bool:
    """`sys_msg = DirectMessage(sender_id=…, content=…)`: a row of a chat between people, which only its name makes a
    message to a model."""
    if not isinstance(node, ast.Call) or not _MESSAGE_NAMES.search(name):
        return False
    words = {keyword.arg for keyword in node.keywords if keyword.arg}
    made = dotted_name(node.func).rpartition(".")[2]
    return (
        made[:1].isupper()
        and made not in sinks.SYSTEM_MAKERS
        and "role" not in words
        and any(_ROW_FIELDS.match(word) for word in words)
    )


_SEVERAL = lazy_pattern(r"(?:prompt|message|msg|text|template)s$", re.IGNORECASE)


def _how_named(name: str) -> str:
    if name in sinks.WEAK_NAMES:
        return "weak"
    # Prompts of single tasks go out in one user message as often as not.
    if name.isupper() and sinks.TASK_CONSTANTS.search(name):
        return "task"
    return "name" if sinks.SAYS_SYSTEM.search(name) else "soft"


def _is_history(value: Value) -> bool:
    """Several messages written down: an example conversation."""
    shape = value.shape
    return (
        isinstance(shape, ListShape)
        and shape.exact
        and sum(isinstance(i.shape, DictShape) and "role" in i.shape.fields for i in shape.items) > 1
    )


def _said(value: Value) -> Atoms:
    """What the messages of a list say, without the ids and times that are kept with them."""
    atoms = value.atoms
    for item in value.shape.items if isinstance(value.shape, ListShape) else ():
        fields = item.shape.fields if isinstance(item.shape, DictShape) else {}
        for name in ("content", "parts", "text"):
            if name in fields:
                atoms = merge(atoms, fields[name].all_atoms())
    return atoms


def _is_tool_attribute(engine: Engine, frame: Frame, target: ast.Attribute, node: ast.expr) -> bool:
    if target.attr == "__doc__":
        return isinstance(node, ast.JoinedStr)
    owner = dotted_name(target.value)
    if owner == "self" and frame.cls is not None:
        return any(sinks.TOOL_CLASSES.search(w) for w in base_words(engine, frame.cls))
    return owner.rsplit(".", 1)[-1].lower().endswith("tool")


def _is_system_dict(engine: Engine, frame: Frame, node: ast.expr) -> bool:
    """A message of the system role that is completed key by key."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    shape = evaluate(engine, frame, node).shape
    return isinstance(shape, DictShape) and role_of(shape.fields.get("role")) == "system"


def _may_ask(engine: Engine, frame: Frame, target: ast.Subscript) -> bool:
    """Whether a dict that gets a `system` may be a request: none that is seen to hold other things only."""
    owner = target.value
    shape = evaluate(engine, frame, owner).shape if isinstance(owner, (ast.Name, ast.Attribute)) else None
    if not isinstance(shape, DictShape) or shape.rest:
        return True
    others = shape.fields.keys() - {"system"}
    return not others or not sinks.KEYS_BESIDE["system"].isdisjoint(others)


def _is_request(engine: Engine, frame: Frame, node: ast.expr) -> bool:
    """A dict that is called like a request, or holds what requests hold."""
    if sinks.REQUEST_NAMES.search(dotted_name(node).rsplit(".", 1)[-1].lower()):
        return True
    shape = evaluate(engine, frame, node).shape if isinstance(node, (ast.Name, ast.Attribute)) else None
    return isinstance(shape, DictShape) and bool(shape.fields.keys() & sinks.SENT_FIELDS)


def _first_message(node: ast.expr) -> str:
    return f"text of {dotted_name(node)}" if sinks.is_system_name(_last_name(node)) else "first message"


def _is_first_message(engine: Engine, frame: Frame, node: ast.expr) -> bool:
    """`messages[0]`, `request["messages"][0]`, a name for it, or a variable named like a system message."""
    if isinstance(node, ast.Subscript):
        return _is_head(node)
    if sinks.is_system_name(_last_name(node)):
        return True
    if not isinstance(node, ast.Name) or frame.function is None:
        return False
    given = [
        stmt.value
        for stmt in ast.walk(engine.node(frame.function))
        if isinstance(stmt, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in stmt.targets)
    ]
    return bool(given) and all(map(_is_head, given))


def _is_head(node: ast.expr) -> bool:
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant) or node.slice.value != 0:
        return False
    owner = node.value
    if isinstance(owner, ast.Subscript):
        key = owner.slice.value if isinstance(owner.slice, ast.Constant) else None
        return key in ("messages", "history")
    return dotted_name(owner).endswith(("messages", "history"))


def _last_name(node: ast.expr) -> str:
    return "" if isinstance(node, ast.Subscript) else dotted_name(node).rpartition(".")[2]
