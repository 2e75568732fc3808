"""Marks: places whose verdict waits for the uses of a value, and the votes on them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.atoms import Mark
from pytest_cachesafe.lint.flow.module import dotted_name
from pytest_cachesafe.lint.flow.values import Const, DictShape, ListShape
from pytest_cachesafe.lint.tables import sinks

if TYPE_CHECKING:
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["added_to_chat", "handed_over", "list_positions", "marks_of", "new_mark", "role_of", "role_word", "vote"]

# Methods that put a message behind those of a chat, and names of functions in which a chat begins.
_ADDS = lazy_pattern(r"(?:add|append|push)(?:_\w+)?$")
_BEGINS = lazy_pattern(r"^_*(?:init|start|set_?up|reset|begin|new|create|make|build|prepare|clear|initiali[sz]e)")
# Whoever makes system messages for the head of a chat says so.
_MAKES_HEADS = lazy_pattern(
    r"prompt|sys|instruction|persona|preamble|initial|prefix|intro|identity|template|developer|"
    r"[. ](?:build|wrap|compose|assemble)(?:$|_)"
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


def role_word(spelt: str) -> str:
    """The role a dotted name stands for."""
    if sinks.is_system_role(spelt):
        return "system"
    last = spelt.rsplit(".", 1)[-1].lower()
    return "other" if last in sinks.OTHER_ROLES else ""


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
        else:
            vote(engine, frame, shape.mark, "head")


def added_to_chat(engine: Engine, frame: Frame, node: ast.Call, last: str, marks: list[Mark]) -> None:
    """Messages handed to `chat.add_message(…)`: they stand at the end, unless the chat begins here."""
    if not _ADDS.match(last) or not isinstance(node.func, ast.Attribute):
        return
    chat = dotted_name(node.func.value)
    first = frame.added.setdefault(chat, node.lineno)
    root = chat.partition(".")[0]
    made_here = root in frame.env and (frame.function is None or root not in frame.function.params)
    begins = frame.function is not None and _BEGINS.search(frame.function.name)
    word = "head" if first >= node.lineno and (made_here or begins) else "handed"
    for mark in marks:
        vote(engine, frame, mark, word)


def handed_over(engine: Engine, frame: Frame, value: Value) -> None:
    """A single system message that a function gives back: a notice for the end of a chat, unless the function is named
    for prompts or somebody puts the message at a head."""
    shape = value.shape
    if not isinstance(shape, DictShape) or shape.mark is None or frame.function is None:
        return
    place = "/".join(frame.module.name.split("/")[-2:])
    # What a hook gives back stands behind what was said before, whatever it speaks of.
    if place.startswith("hooks/") or not _MAKES_HEADS.search(f"{place} {frame.qualname}".lower()):
        vote(engine, frame, shape.mark, "handed")


def _is_system(value: Value) -> bool:
    return isinstance(value.shape, DictShape) and value.shape.mark is not None
