"""Canonical text: entries with a label each, unambiguous without lengths, so that growth only appends.

An entry is `␞label`, a newline, the value as it is, `␟` and a newline. The three signs below are escaped where a value
contains them, so a label cannot be forged and no text can end an entry early; ordinary text stays raw, and what
recognises values in it sees them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any

from pytest_cachesafe.prompt import Part, Segment, UsageError

__all__ = ["FRAME", "MARKERS", "Head", "Trace", "Writer", "compact", "entry", "is_marker", "label", "ordered"]

_OPEN, _CLOSE, _ESCAPE = "␞", "␟", "␛"
_ESCAPED = {_OPEN: f"{_ESCAPE}o", _CLOSE: f"{_ESCAPE}c", _ESCAPE: f"{_ESCAPE}e"}
_VALUE_SIGNS = re.compile(f"[{_OPEN}{_CLOSE}{_ESCAPE}]")
_LABEL_SIGNS = re.compile(rf"[{_OPEN}{_CLOSE}{_ESCAPE} \n.~=:\[\]]")

# Replays of the same answer carry these empty or not at all (openai 3.57 ChatCompletionMessage, anthropic 2.14 blocks).
_EMPTY = frozenset(("annotations", "tool_calls", "refusal", "citations", "reasoning_content"))
# Keys that mark where a cache entry ends; they move from turn to turn and are no part of the prompt.
MARKERS = frozenset(("cache_control", "prompt_cache_breakpoint"))
_MARKER_BLOCKS = (frozenset(("cachePoint",)), frozenset(("cache_point",)))
# Parts of a block that the provider reads as fields: their order of keys means nothing.
_ENVELOPES = frozenset(
    (
        *("function", "function_call", "custom", "toolUse", "toolResult", "functionCall", "functionResponse"),
        *("source", "image_url", "inlineData", "fileData", "input_audio", "file"),
        *("reasoningContent", "reasoningText"),
    )
)
# Keys under which a block holds blocks again.
_NESTED = frozenset(("content", "output", "summary"))
_TEXT_KINDS = frozenset(("text", "input_text", "output_text"))
# What names a thing comes before what it says, and that before what only vouches for it (signatures).
_FIRST = {
    "type": 0,
    **dict.fromkeys(("id", "call_id", "tool_call_id", "tool_use_id", "toolUseId"), 1),
    "name": 2,
    **dict.fromkeys(("description", "text", "thinking"), 3),
}
# How an entry begins in canonical text, label and all.
FRAME = re.compile(f"{_OPEN}[^\\n]*\\n|{_CLOSE}\\n")


def is_marker(block: Any) -> bool:
    """Whether a block marks a cache point and holds nothing else."""
    if not isinstance(block, Mapping):
        return False
    return frozenset(block) in _MARKER_BLOCKS or block.get("type") in ("cachePoint", "cache_point")


def ordered(value: Mapping[str, Any], aliases: Mapping[str, str] | None = None) -> list[tuple[str, Any]]:
    """The fields of an envelope in one order: what names it first. Markers and fields that say nothing are left out."""
    kept = [(k, v) for k, v in value.items() if k not in MARKERS and v is not None and not _says_nothing(k, v)]
    names = aliases or {}
    return sorted(kept, key=lambda item: (_FIRST.get(item[0], 9), names.get(item[0], item[0])))


def _says_nothing(name: str, value: Any) -> bool:
    """Defaults that some SDK objects and accumulated streams carry and other shapes of the same message do not."""
    return (name in _EMPTY and value in ([], "")) or (name == "is_error" and value is False)


def compact(value: Any, where: str | None) -> str:
    """JSON without blanks, key order kept: inside a value the order is what the model sees.

    Raises:
        UsageError: a value has no JSON form.
    """
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where or 'the request'} has no JSON form: {error}") from None


def _bytes(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        # An image is equal or it is not; its bytes explain nothing.
        return {"bytes": len(value), "sha256": sha256(value).hexdigest()}
    raise TypeError(f"{type(value).__name__} is no JSON value")


# Made once: `json.dumps` makes one a call when it is given options.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_bytes)


def entry(heading: str, value: str = "") -> str:
    """What `Writer.entry` writes, for whoever needs the text of a few entries alone."""
    if not value.isascii() and _VALUE_SIGNS.search(value):
        value = _VALUE_SIGNS.sub(lambda sign: _ESCAPED[sign[0]], value)
    return f"{_OPEN}{heading}\n{value}{_CLOSE}\n"


@lru_cache(maxsize=1024)
def label(name: str) -> str:
    """A name as part of a label: the signs that structure labels are escaped."""
    return _LABEL_SIGNS.sub(lambda sign: f"{_ESCAPE}{ord(sign[0]):x}{_ESCAPE}", name) if name else f"{_ESCAPE}0"


class Writer:
    """Collects canonical text; where it stands is set by the layout."""

    tracing = False

    def __init__(self, reuse: Callable[[Any, str, Callable[[], str]], str] | None = None) -> None:
        self._chunks: list[str] = []
        self._reuse = reuse
        # Other spellings of field names: the label shows one, the path the one that was sent.
        self.aliases: Mapping[str, str] = {}
        self.part: Part = "message"
        self.index: int | None = None
        self.role: str | None = None

    def text(self) -> str:
        """Everything written so far."""
        return "".join(self._chunks)

    def frame(self, text: str) -> None:
        """Text of ours: labels and ends."""
        self._chunks.append(text)

    def data(self, text: str, path: str | None) -> None:
        """Text of the request, which stands at `path` in its body."""
        self._chunks.append(text)

    def entry(self, heading: str, value: str = "", path: str | None = None) -> None:
        """One labelled value."""
        self.frame(f"{_OPEN}{heading}\n")
        if value:
            if not value.isascii() and _VALUE_SIGNS.search(value):
                value = _VALUE_SIGNS.sub(lambda sign: _ESCAPED[sign[0]], value)
            self.data(value, path)
        self.frame(f"{_CLOSE}\n")

    def remembered(self, message: Any, kind: str, write: Callable[[Writer], None]) -> None:
        """Write a message, from memory where its text was written before."""
        if self.tracing or self._reuse is None:
            write(self)
            return
        self.frame(self._reuse(message, kind, lambda: self._apart(write)))

    @staticmethod
    def _apart(write: Callable[[Writer], None]) -> str:
        inner = Writer()
        write(inner)
        return inner.text()

    def field(self, prefix: str, name: str, value: Any, path: str) -> None:
        """A field of a block: strings raw, envelopes field by field, blocks as blocks, anything else as JSON."""
        name = self.aliases.get(name, name)
        start = prefix + label(name)
        if isinstance(value, str):
            self.entry(start, value, path)
        elif name in _ENVELOPES and isinstance(value, Mapping) and value:
            self.entry(f"{start}:")
            for key, item in ordered(value, self.aliases):
                self.field(f"{prefix}.", key, item, f"{path}.{key}")
        elif name in _NESTED and isinstance(value, list) and all(isinstance(b, (Mapping, str)) for b in value):
            self.entry(f"{start}[")
            for i, block in enumerate(value):
                if not is_marker(block):
                    self.block(f"{prefix} ", f"{prefix}.", block, f"{path}[{i}]")
        else:
            self.entry(f"{start}=", compact(value, path), path)

    def block(self, start: str, prefix: str, block: Any, path: str, kind: str | None = None) -> None:
        """A content block. `start` opens its label, `prefix` the labels of its fields; `kind` is a string's."""
        if isinstance(block, str):
            self.entry(f"{start}{label(kind or 'text')}", block, path)
            return
        given, text = block.get("type"), block.get("text")
        name = given if isinstance(given, str) else None
        is_text = isinstance(text, str) and (name is None or name in _TEXT_KINDS)
        shown = label(name) if name is not None else ("text" if is_text else "-")
        skipped = {"type"} if name is not None else set()
        if is_text:
            # Probabilities come with an answer and tell the model nothing.
            skipped |= {"text", "logprobs"}
            self.entry(f"{start}{shown}", text, f"{path}.text")
        else:
            self.entry(f"{start}{shown}")
        for key, value in ordered(block, self.aliases):
            if key in skipped:
                continue
            if key in _NESTED and isinstance(value, str) and name in ("tool_result", "toolResult"):
                # A result given as a string is one text block.
                self.entry(f"{prefix}{label(key)}[")
                self.block(f"{prefix} ", f"{prefix}.", value, f"{path}.{key}")
            else:
                self.field(prefix, key, value, f"{path}.{key}")

    def message(self, role: str, content: Any, path: str, kind: str | None = None) -> None:
        """The content of a message: its first entry names the role, so that two messages are never taken for one."""
        start = f"{label(role)} "
        if content is None:
            self.entry(start)
            return
        blocks = [content] if isinstance(content, str) else content
        if not isinstance(blocks, list) or not all(isinstance(b, (Mapping, str)) for b in blocks):
            self.entry(f"{start}=", compact(content, path), path)
            return
        first = True
        for i, block in enumerate(blocks):
            if not is_marker(block):
                where = path if isinstance(content, str) else f"{path}[{i}]"
                self.block(start if first else " ", ".", block, where, kind)
                first = False
        if first:
            self.entry(f"{start}:")


class Trace(Writer):
    """Notes who wrote which characters; needed at a divergence only."""

    tracing = True

    def __init__(self) -> None:
        super().__init__()
        self.segments: list[Segment] = []
        self._at = 0

    def _note(self, text: str, writer: Any, path: str | None) -> None:
        end = self._at + len(text)
        segment = Segment(self._at, end, self.part, writer, path, self.index, self.role)
        self._at = end
        last = self.segments[-1] if self.segments else None
        if writer == "template" and last is not None and last[2:] == segment[2:]:
            self.segments[-1] = last._replace(end=end)
        else:
            self.segments.append(segment)

    def frame(self, text: str) -> None:
        """Text of ours: labels and ends."""
        self._note(text, "template", None)

    def data(self, text: str, path: str | None) -> None:
        """Text of the request, which stands at `path` in its body."""
        self._note(text, "data", path)


class Head(Writer):
    """Notes where tools and system text end, and stops at the first message: in every layout they stand before it."""

    tracing = True

    class Over(Exception):
        """The first message begins."""

    def __init__(self) -> None:
        super().__init__()
        self.end = 0
        self._at = 0

    def frame(self, text: str) -> None:
        """Text of ours: labels and ends."""
        if self.part == "message":
            raise Head.Over
        self._at += len(text)

    def data(self, text: str, path: str | None) -> None:
        """Text of the request."""
        self.frame(text)
        if self.part != "template":
            self.end = self._at
