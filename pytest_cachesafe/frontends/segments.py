"""From tagged runs to segments: which message, tool or neither every printed character belongs to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_cachesafe.frontends.data import REASONING_KEYS
from pytest_cachesafe.prompt import Chat, Part, Segment

__all__ = ["CLOCK", "Frame", "Piece", "Source", "anchored", "merged", "segments_of"]


class Source(NamedTuple):
    """Where a datum comes from: its JSON path, and the message or tool it belongs to."""

    path: str
    message: int | None = None
    tool: bool = False


class Frame(NamedTuple):
    """The message or tool the template's innermost loop was at when it wrote something."""

    message: int | None = None
    tool: bool = False


class Clock:
    """Tag of characters that come from the clock."""


CLOCK = Clock()


class Piece(NamedTuple):
    """A run of characters as printed: which print it belongs to, and its tag."""

    length: int
    tag: Any
    number: int


def _roles(chat: Chat) -> list[tuple[str | None, Part]]:
    """Role and part of each message: system and developer messages before any other are the system part."""
    out: list[tuple[str | None, Part]] = []
    leading = True
    for message in chat.messages:
        role = message.get("role") if isinstance(message, Mapping) else getattr(message, "role", None)
        role = None if role is None else str(role)
        leading = leading and role in ("system", "developer")
        out.append((role, "system" if leading else "message"))
    return out


def segments_of(pieces: Sequence[Piece], chat: Chat) -> list[Segment]:
    """Turn tagged runs into segments: data is plain, template text is given to what it frames."""
    roles = _roles(chat)
    owners = _owners(pieces)
    out: list[Segment] = []
    at = 0
    for piece, owner in zip(pieces, owners, strict=True):
        end = at + piece.length
        data = isinstance(piece.tag, Source)
        path = piece.tag.path if data else None
        writer: Any = "data" if data else "template"
        if owner is None:
            out.append(Segment(at, end, "template", writer, path))
        elif owner.message is None:
            out.append(Segment(at, end, "tools" if owner.tool else "template", writer, path))
        else:
            role, part = roles[owner.message]
            out.append(Segment(at, end, part, writer, path, owner.message, role))
        at = end
    return out


def _owners(pieces: Sequence[Piece]) -> list[Frame | None]:
    """Which message or tool each run belongs to; None: text the template inserts on its own.

    In this order: data belongs to itself; clock output to nobody; what a print holds beside data frames that data; a
    print next to tools belongs to the tools; a print inside a message loop to the message it is at; a print right
    behind a message closes it. Before the first datum of any message only the last print, its header, frames it:
    default system texts and preambles are often printed inside the loop's first pass.
    """
    owners: list[Frame | None] = [
        Frame(p.tag.message, p.tag.tool) if isinstance(p.tag, Source) else None for p in pieces
    ]
    datum = [isinstance(p.tag, Source) for p in pieces]
    in_print: dict[int, Frame] = {}
    for piece, owner in zip(pieces, owners, strict=True):
        if owner is not None and (owner.message is not None or owner.tool):
            in_print.setdefault(piece.number, owner)
    first_datum = next(
        (i for i, o in enumerate(owners) if datum[i] and o is not None and o.message is not None), len(pieces)
    )
    header = pieces[first_datum - 1].number if 0 < first_datum < len(pieces) else -1
    free = [not d and not isinstance(p.tag, Clock) for p, d in zip(pieces, datum, strict=True)]
    for i, piece in enumerate(pieces):
        if not free[i]:
            continue
        if piece.number in in_print:
            owners[i] = in_print[piece.number]
            # Of one print, what stands behind data of another message closes that one.
            if i and pieces[i - 1].number == piece.number and datum[i - 1]:
                owners[i] = owners[i - 1]
        elif isinstance(piece.tag, Frame) and (piece.tag.tool or i > first_datum or piece.number == header):
            owners[i] = piece.tag
    _give_to_tools(pieces, owners, datum, free, in_print)
    for i in range(first_datum + 1, len(pieces)):
        before = owners[i - 1]
        if free[i] and owners[i] is None and before is not None and datum[i - 1]:
            owners[i] = before
    return owners


def _give_to_tools(
    pieces: Sequence[Piece],
    owners: list[Frame | None],
    datum: Sequence[bool],
    free: Sequence[bool],
    in_print: Mapping[int, Frame],
) -> None:
    """The prints next to the tools introduce and close them, also inside a message."""
    tools = [i for i, o in enumerate(owners) if o is not None and o.tool]
    if not tools:
        return
    mine = Frame(tool=True)
    starts = [i for i in tools if i == 0 or owners[i - 1] is None or not owners[i - 1].tool]  # type: ignore[union-attr]
    for start in starts:
        at = start - 1
        number = pieces[at].number if at >= 0 else -1
        while at >= 0 and free[at] and pieces[at].number == number and number not in in_print:
            owners[at] = mine
            at -= 1
        end = start
        while end < len(pieces) and (owner := owners[end]) is not None and owner.tool:
            end += 1
        number = pieces[end].number if end < len(pieces) else -1
        while end < len(pieces) and free[end] and pieces[end].number == number and number not in in_print:
            owners[end] = mine
            end += 1


def anchored(text: str, chat: Chat) -> list[Segment]:
    """Segments by looking the messages up in the text, in order, where tags could not follow the template."""
    roles = _roles(chat)
    out: list[Segment] = []
    at = 0
    behind: int | None = None

    def frame(end: int, index: int | None) -> None:
        if end > at:
            role, part = (None, "template") if index is None else roles[index]
            out.append(Segment(at, end, part, "template", None, index, role))

    for index, message in enumerate(chat.messages):
        for path, value in _texts(message, chat.path_of(index)):
            found = text.find(value, at) if value else -1
            if found >= 0:
                frame(found, behind)
                role, part = roles[index]
                out.append(Segment(found, found + len(value), part, "data", path, index, role))
                at, behind = found + len(value), index
    frame(len(text), behind)
    return out


def _texts(message: Any, prefix: str) -> list[tuple[str, str]]:
    if not isinstance(message, Mapping):
        return []
    out = [(f"{prefix}.{k}", message[k].strip()) for k in REASONING_KEYS if isinstance(message.get(k), str)]
    content = message.get("content")
    if isinstance(content, str):
        out.append((f"{prefix}.content", content.strip()))
    elif isinstance(content, (list, tuple)):
        for i, block in enumerate(content):
            if isinstance(block, Mapping) and isinstance(block.get("text"), str):
                out.append((f"{prefix}.content[{i}].text", block["text"].strip()))
    for i, call in enumerate(message.get("tool_calls") or ()):
        arguments = call.get("function", {}).get("arguments") if isinstance(call, Mapping) else None
        if arguments:
            shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            out.append((f"{prefix}.tool_calls[{i}].function.arguments", shown))
    return out


def merged(segments: Sequence[Segment]) -> list[Segment]:
    out: list[Segment] = []
    for segment in segments:
        if segment.end <= segment.start:
            continue
        if out and out[-1][2:] == segment[2:]:
            out[-1] = out[-1]._replace(end=segment.end)
        else:
            out.append(segment)
    return out
