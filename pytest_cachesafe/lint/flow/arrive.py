"""Sinks: what reaches a cached prefix, and the votes that decide whether it really does."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

from cachesafe_rules.model import Span, Step, Taint
from pytest_cachesafe.lint.flow.frame import ParamSink
from pytest_cachesafe.lint.flow.values import (
    EMPTY,
    Atom,
    Const,
    DictShape,
    Func,
    Lambda,
    ListShape,
    Mark,
    Obj,
    Value,
    merge,
)
from pytest_cachesafe.lint.tables import sinks

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame

__all__ = ["Hit", "arrive", "dict_arrivals", "list_positions", "marks_of", "vote"]

# Handed down through one argument at most, and not into another file: farther away they are somebody's identifiers.
_NEAR_KINDS = frozenset(("user", "session", "env", "random", "temp", "set", "listing", "state", "repr"))
_FARTHEST = 3
TOOL_LIST = "list of tools"
# What may be said of the order of tools or of examples.
ORDER_KINDS = frozenset(("set", "listing", "random"))


class Hit(NamedTuple):
    """One volatile value at one sink; `marks` may still take it back."""

    sink: str
    part: str
    span: Span
    function: str
    taint: Taint
    marks: tuple[str, ...]


def prompt_atoms(engine: Engine, frame: Frame, value: Value, node: ast.AST, depth: int = 5) -> Any:
    """What a value adds to a prompt: of messages and blocks their text only, of callables what they return."""
    shape = value.shape
    # Not the order of a set that is still a set: what is named like a prompt may be its vocabulary.
    atoms = value.atoms
    if shape is None or not depth:
        return atoms
    if isinstance(shape, Obj) and shape.cls.name in sinks.USER_MAKERS:
        # Whatever it is called, it goes out as a user's message.
        for atom in atoms.values():
            if atom.mark is not None:
                vote(engine, frame, atom.mark, "user")
        return EMPTY
    if isinstance(shape, DictShape):
        if role_of(shape.fields.get("role")) == "other":
            return EMPTY
        names = [
            n for n in ("content", "text", "parts", "prompt", "template", "value", "system_prompt") if n in shape.fields
        ]
        for name in names or ():
            atoms = merge(atoms, prompt_atoms(engine, frame, shape.fields[name], node, depth - 1))
        return atoms
    if isinstance(shape, ListShape):
        return merge(atoms, _list_atoms(engine, frame, shape, node, depth))
    if isinstance(shape, Lambda):
        return merge(atoms, prompt_atoms(engine, frame, shape.result, node, depth - 1))
    if isinstance(shape, Func):
        from pytest_cachesafe.lint.flow.calls import call_function

        result = call_function(engine, frame, shape.functions, [], {}, shape.bound, node, None)
        return merge(atoms, _sources(prompt_atoms(engine, frame, result, node, depth - 1)))
    if isinstance(shape, Obj):
        for name in ("content", "text"):
            if name in shape.fields:
                atoms = merge(atoms, prompt_atoms(engine, frame, shape.fields[name], node, depth - 1))
    return atoms


def _list_atoms(engine: Engine, frame: Frame, shape: ListShape, node: ast.AST, depth: int) -> Any:
    """Blocks: nothing behind the last cache marker counts, and nothing behind a block that stays the same."""
    items = list(shape.items)
    marked = [
        i for i, item in enumerate(items) if isinstance(item.shape, DictShape) and "cache_control" in item.shape.fields
    ]
    if marked:
        items = items[: marked[-1] + 1]
    atoms = EMPTY
    stable_before = False
    blocks = sum(isinstance(i.shape, DictShape) for i in items) == len(items)
    for item in items:
        found = prompt_atoms(engine, frame, item, node, depth - 1)
        if blocks and not marked and stable_before:
            continue
        atoms = merge(atoms, found)
        if not found:
            stable_before = True
    return atoms


def _sources(atoms: Any) -> Any:
    return {k: a for k, a in atoms.items() if a.source is not None or a.mark is not None}


def arrive(
    engine: Engine, frame: Frame, node: ast.AST, value: Value, sink: str, part: str = "system", marks: tuple[Mark, ...] = (),
    kinds: frozenset[str] | None = None, atoms: Any = None,
) -> None:  # fmt: skip
    """A value reaches a sink here. `kinds` limits what counts (order of tools)."""
    if atoms is None:
        atoms = prompt_atoms(engine, frame, value, node)
    if not atoms:
        return
    if frame.frozen and isinstance(value.shape, (Func, Lambda)):
        # Handed over at import, called for each request.
        frame.frozen = False
        try:
            arrive(engine, frame, node, value, sink, part, marks, kinds, atoms)
        finally:
            frame.frozen = True
        return
    name = frame.module.name
    row = getattr(node, "lineno", 1)
    for atom in atoms.values():
        if atom.mark is not None:
            if atom.mark not in marks:
                vote(engine, frame, atom.mark, "system" if not _named(marks) else "named")
            continue
        if atom.source is None:
            if atom.hops < _FARTHEST and atom.key[0] == "p":
                step = Step(name, row, f"reaches the {sink}")
                key = (atom.key[2], sink, part)
                function = _function_of(frame, atom)
                found = ParamSink(atom.key[2], sink, part, (step,), atom.hops, marks)
                if function is not None:
                    function.summary.sinks.setdefault(key, found)
                elif atom.key[1].endswith(".__init__"):
                    # What an object was made with reaches a sink in one of its methods.
                    far = found._replace(hops=max(1, atom.hops))
                    engine.made_sinks.setdefault(atom.key[1], {}).setdefault(key, far)
            continue
        if kinds is not None and atom.source.kind not in kinds:
            continue
        hit(engine, frame, node, atom, sink, part, marks, ())


def _named(marks: tuple[Mark, ...]) -> bool:
    return any(m.key.startswith("name:") for m in marks)


def _function_of(frame: Frame, atom: Atom) -> Frame | None:
    """The frame whose parameter an atom is: this one or one around it."""
    current: Frame | None = frame
    while current is not None:
        if current.function is not None and current.function.key == atom.key[1]:
            return current
        current = current.parent
    return None


def hit(
    engine: Engine,
    frame: Frame,
    node: ast.AST,
    atom: Atom,
    sink: str,
    part: str,
    marks: tuple[Mark, ...],
    tail: tuple[Step, ...],
    hops: int = 0,
) -> None:
    """Write an arrival down, unless this kind of value does not travel so far."""
    source = atom.source
    if source is None or frame.quiet:
        return
    name = frame.module.name
    if source.kind in _NEAR_KINDS and (
        hops > 1 or (source.span.filename != name and source.kind not in ("set", "listing"))
    ):
        return
    span = engine.span(frame.module, node)
    last = Step(name, span.row, f"reaches the {sink}") if not tail else Step(name, span.row, "passed on here")
    steps = (*atom.steps, last)
    if frame.frozen and not source.frozen:
        from dataclasses import replace

        source = replace(source, frozen=True)
    engine.hits.setdefault(frame.owner, []).append(
        Hit(sink, part, span, frame.qualname, Taint(source, (*steps, *tail)), tuple(m.key for m in marks))
    )


def vote(engine: Engine, frame: Frame, mark: Mark, word: str) -> None:
    """Say what a marked text is used for."""
    if not frame.quiet:
        engine.votes.setdefault(frame.owner, []).append((mark.key, word))


def new_mark(frame: Frame, node: ast.AST, prefix: str) -> Mark:
    """A mark for a place."""
    return Mark(f"{prefix}:{frame.module.name}:{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}")


def marks_of(value: Value, depth: int = 3) -> list[Mark]:
    """Marks of a value and of the messages in it."""
    found = [a.mark for a in value.atoms.values() if a.mark is not None]
    shape = value.shape
    if isinstance(shape, DictShape):
        if shape.mark is not None:
            found.append(shape.mark)
        if depth:
            for name in ("messages", "content"):
                if name in shape.fields:
                    found += marks_of(shape.fields[name], depth - 1)
    elif isinstance(shape, ListShape) and depth:
        for item in shape.items:
            found += marks_of(item, depth - 1)
    return found


def role_of(value: Value | None) -> str:
    """`system`, `other` or "" of the value of a role field."""
    if value is None:
        return ""
    shape = value.shape
    if isinstance(shape, Const) and isinstance(shape.value, str):
        word = shape.value.lower()
        return "system" if word in sinks.SYSTEM_ROLES else "other" if word in sinks.OTHER_ROLES else ""
    return ""


def message(
    engine: Engine, frame: Frame, node: ast.AST, role: str, content: Value, content_node: ast.AST, label: str
) -> Mark | None:
    """A message of a role: system text arrives, other text takes back what was only named like system text."""
    if role == "system":
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
    from pytest_cachesafe.lint.flow.module import dotted_name

    words = f"{dotted_name(node)} {frame.qualname}".lower()
    return "reminder" in words or "heartbeat" in words


def user_text(engine: Engine, frame: Frame, content: Value) -> None:
    """Text of a message that is not the system's."""
    for atom in content.all_atoms().values():
        if atom.mark is not None:
            vote(engine, frame, atom.mark, "user")
        elif atom.source is None and atom.key[0] == "p":
            function = _function_of(frame, atom)
            if function is not None:
                function.summary.sinks.setdefault(
                    (atom.key[2], "", "user"), ParamSink(atom.key[2], "", "user", (), 0, (), "user")
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
            from pytest_cachesafe.lint.flow.module import dotted_name

            role_name = role_word(dotted_name(nodes["role"]))
        mark = message(engine, frame, node, role_name, fields[name], nodes.get(name, node), "system message")
        if mark is not None:
            return Value(value.atoms, DictShape(fields, mark))
        return value
    for key in fields:
        beside = sinks.KEYS_BESIDE.get(key)
        if (key in sinks.SYSTEM_KEYS or (beside is not None and beside & fields.keys())) and key in nodes:
            arrive(engine, frame, nodes[key], fields[key], f"{key!r} of a request")
    if "description" in fields and sinks.TOOL_KEYS & fields.keys():
        for key in ("name", "description", "input_schema", "inputSchema", "parameters"):
            if key in nodes:
                arrive(engine, frame, nodes[key], fields[key], f"{key} of a tool", "tools", atoms=fields[key].all_atoms())
    if "tools" in fields and "tools" in nodes and fields.keys() & sinks.BESIDE_TOOLS:
        tools(engine, frame, nodes["tools"], fields["tools"])
    return value


def role_word(spelt: str) -> str:
    """The role a dotted name stands for."""
    if sinks.is_system_role(spelt):
        return "system"
    last = spelt.rsplit(".", 1)[-1].lower()
    return "other" if last in sinks.OTHER_ROLES else ""


def tools(engine: Engine, frame: Frame, node: ast.AST, value: Value) -> None:
    """The `tools` of a request: their order matters, whatever they are."""
    atoms = value.all_atoms()
    arrive(engine, frame, node, value, TOOL_LIST, "tools", kinds=ORDER_KINDS, atoms=atoms)


def list_positions(
    engine: Engine, frame: Frame, added: tuple[Value, ...], before: tuple[Value, ...], exact: bool
) -> None:
    """Messages put behind `before`: a system message counts only at the head, and as the first of its kind."""
    for value in added:
        shape = value.shape
        if not isinstance(shape, DictShape) or shape.mark is None:
            continue
        if not exact or any(not _is_system(v) for v in before):
            vote(engine, frame, shape.mark, "tail")
        elif before:
            vote(engine, frame, shape.mark, "second")


def _is_system(value: Value) -> bool:
    return isinstance(value.shape, DictShape) and value.shape.mark is not None
