"""Sinks: what reaches a cached prefix, here or in a caller."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

from cachesafe_rules.model import Step, Taint
from cachesafe_rules.observers import TOOL_WORDS, is_observer
from cachesafe_rules.patterns import lazy_pattern
from pytest_cachesafe.lint.flow.atoms import EMPTY, UNORDERED_KINDS, merge, volatile_atoms
from pytest_cachesafe.lint.flow.frame import ParamSink, function_of
from pytest_cachesafe.lint.flow.marks import role_of, vote
from pytest_cachesafe.lint.flow.moment import is_excerpt
from pytest_cachesafe.lint.flow.values import DictShape, Func, Lambda, ListShape, Obj
from pytest_cachesafe.lint.tables import sinks

if TYPE_CHECKING:
    from cachesafe_rules.model import Source, Span
    from pytest_cachesafe.lint.flow.atoms import Atom, Mark
    from pytest_cachesafe.lint.flow.engine import Engine
    from pytest_cachesafe.lint.flow.frame import Frame
    from pytest_cachesafe.lint.flow.values import Value

__all__ = ["ORDER_KINDS", "TOOL_LIST", "Hit", "arrive", "hit", "only_named", "prompt_atoms", "tells_order"]

# Fields of a block that marks the end of what is cached: its own, or a block that is a marker and nothing else.
_MARKERS = frozenset(("cache_control", "cachePoint"))
# Handed down through one argument at most, and not into another file: farther away they are somebody's identifiers.
_NEAR_KINDS = frozenset(("user", "session", "env", "random", "temp", "set", "listing", "state", "repr"))
_FARTHEST = 3
_OF_CHAT = frozenset(("state", "build", "memory", "file", "random", "temp"))
# A chat that is handed on: `"messages": messages`, `messages=history`, `*history`.
_CHAT_BEHIND = lazy_pattern(r"""["']?messages["']?\s*[:=]\s*(?!\[\s*\{)[\w.\[(*]|\*\w*(?:history|messages|turns)\b""")
TOOL_LIST = "list of tools"
# What may be said of the order of tools or of examples.
ORDER_KINDS = frozenset(("set", "listing", "random"))
_ORDERING = lazy_pattern(r"shuffl|sample|choice|permut")


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
        if "preset" in shape.fields and "append" in shape.fields:
            # `{"type": "preset", "append": text}`: what is put behind the prompt of a framework.
            names.append("append")
        for name in names or ():
            atoms = merge(atoms, prompt_atoms(engine, frame, shape.fields[name], node, depth - 1))
        return atoms
    if isinstance(shape, ListShape):
        return merge(atoms, _list_atoms(engine, frame, shape, node, depth))
    if isinstance(shape, Lambda):
        return merge(atoms, prompt_atoms(engine, frame, shape.result, node, depth - 1))
    if isinstance(shape, Func):
        # Applying a function asks what arrives in it.
        from pytest_cachesafe.lint.flow.apply import call_function

        result = call_function(engine, frame, shape.functions, [], {}, shape.bound, node, None)
        return merge(atoms, volatile_atoms(prompt_atoms(engine, frame, result, node, depth - 1)))
    if isinstance(shape, Obj):
        for name in ("content", "text"):
            if name in shape.fields:
                atoms = merge(atoms, prompt_atoms(engine, frame, shape.fields[name], node, depth - 1))
    return atoms


def _list_atoms(engine: Engine, frame: Frame, shape: ListShape, node: ast.AST, depth: int) -> Any:
    """Blocks: nothing behind the last cache marker counts, and nothing behind a block that stays the same."""
    items = list(shape.items)
    marked = [
        i
        for i, item in enumerate(items)
        if isinstance(item.shape, DictShape) and not _MARKERS.isdisjoint(item.shape.fields)
    ]
    if marked:
        for item in items[marked[-1] + 1 :]:
            # A block of its own behind the cached ones, whatever it was called before.
            for atom in item.all_atoms().values():
                if atom.mark is not None:
                    vote(engine, frame, atom.mark, "behind")
        items = items[: marked[-1] + 1]
    atoms = EMPTY
    stable_before = False
    # Where nothing is marked in a file that is complete as it stands, the history stands behind all blocks.
    behind = not marked and is_excerpt(engine, frame.module) and not _marks_elsewhere(engine, frame)
    blocks = sum(isinstance(i.shape, DictShape) for i in items) == len(items)
    for item in items:
        found = prompt_atoms(engine, frame, item, node, depth - 1)
        if blocks and not marked and stable_before:
            if behind:
                atoms = merge(atoms, {k: a for k, a in found.items() if _is_of_moment(a)})
            continue
        atoms = merge(atoms, found)
        if not found:
            stable_before = True
    return atoms


def _is_of_moment(atom: Atom) -> bool:
    """Whether a value is another one within a chat: what stays for the chat costs nothing behind a block of its own."""
    source = atom.source
    return source is not None and (
        source.kind in _OF_CHAT or (source.kind == "clock" and source.granularity in ("microsecond", "second", "minute"))
    )


def _marks_elsewhere(engine: Engine, frame: Frame) -> bool:
    """Whether a file speaks of cache markers, or of no messages that may stand behind its blocks."""
    text = "\n".join(engine.lines(frame.module))
    return any(word in text for word in ("cache", *_MARKERS)) or not _CHAT_BEHIND.search(text)


def arrive(
    engine: Engine,
    frame: Frame,
    node: ast.AST,
    value: Value,
    sink: str,
    part: str = "system",
    marks: tuple[Mark, ...] = (),
    kinds: frozenset[str] | None = None,
    atoms: Any = None,
) -> None:
    """A value reaches a sink here. `kinds` limits what counts (order of tools)."""
    if atoms is None:
        atoms = prompt_atoms(engine, frame, value, node)
    if not atoms or is_observer(frame.module.name):
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
                vote(engine, frame, atom.mark, "named" if only_named(marks) else _in(marks))
            continue
        if atom.source is None:
            if atom.hops < _FARTHEST and atom.key[0] == "p":
                step = Step(name, row, f"reaches the {sink}")
                key = (".".join(atom.key[2:]), sink, part)
                function = function_of(frame, atom)
                found = ParamSink(atom.key[2], sink, part, (step,), atom.hops, marks, fields=atom.key[3:])
                if function is not None:
                    function.summary.sinks.setdefault(key, found)
                elif atom.key[1].endswith(".__init__"):
                    # What an object was made with reaches a sink in one of its methods.
                    far = found._replace(hops=max(1, atom.hops))
                    engine.made_sinks.setdefault(atom.key[1], {}).setdefault(key, far)
            continue
        if kinds is not None and not (
            atom.source.kind in kinds and tells_order(atom.source) and _of_tools(frame, atom)
        ):
            continue
        hit(engine, frame, node, atom, sink, part, marks, ())


def _of_tools(frame: Frame, atom: Atom) -> bool:
    """Whether what has no order are the tools: it is read in this function, or goes by a name for tools. Tools that are
    found by way of other things have an order of their own."""
    source, function = atom.source, frame.function
    if source is None or source.kind not in UNORDERED_KINDS or function is None:
        return True
    if source.kind == "listing":
        # A registry that another file fills from a folder may be filled otherwise as well.
        return source.span.filename == frame.module.name
    here = source.span.filename == frame.module.name and function.first <= source.span.row <= function.end_row
    return here or any(TOOL_WORDS.search(step.message.lower()) for step in atom.steps[1:2])


def tells_order(source: Source) -> bool:
    """Whether a source says something of an order; an id that is made at random beside a list does not."""
    return source.kind in ("set", "listing") or (source.kind == "random" and bool(_ORDERING.search(source.api)))


def only_named(marks: tuple[Mark, ...]) -> bool:
    """Whether a sink is one by its name alone."""
    return any(m.key.startswith(("name:", "soft:", "weak:", "task:")) for m in marks)


def _in(marks: tuple[Mark, ...]) -> str:
    """What a text in a marked message is worth depends on the message."""
    return f"in {marks[0].key}" if marks else "system"


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
    if source.kind in UNORDERED_KINDS and hops and part == "system":
        # Which texts a function is called with is not the order of a text that all requests share.
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
