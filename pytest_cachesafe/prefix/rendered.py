"""Whether everything a request says reaches the prompt: a template that drops a message makes every check vacuous."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe.prompt import Prompt, Segment

__all__ = ["Missing", "not_rendered"]

# A text this long is not in a prompt by coincidence.
_TELLING = 12


@dataclass(frozen=True, slots=True)
class Missing:
    """Something the request says and the prompt does not."""

    # "message", "tools", "tool call" or "tool result".
    what: str
    path: str
    message_index: int | None
    role: str | None
    # A tool's or function's name, else the beginning of the text.
    name: str

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {name: getattr(self, name) for name in self.__slots__}


def not_rendered(prompt: Prompt) -> list[Missing]:
    """Messages, tools, calls and results of a request whose text does not appear in its prompt.

    Reasoning of earlier turns is not looked for: leaving it out is what many templates are made to do, and if that
    changes the prompt it is a divergence. The wire front end prints everything.
    """
    chat = prompt.chat
    if chat is None or chat.raw is not None or prompt.is_wire:
        return []
    if not prompt.text and prompt.token_ids:
        # A callable that returns ids: there is no text to look in.
        return []
    seen = _Seen(prompt)
    missing = []
    calls = 0
    for i, message in enumerate(chat.messages):
        base = chat.path_of(i)
        role = message.get("role")
        for path, text in _texts(message, base):
            # Blocks that were joined to one string stand at the message's content.
            if not seen.path(path) and not seen.path(f"{base}.content", whole=True) and not seen.text(text):
                what = "tool result" if role == "tool" else "message"
                missing.append(Missing(what, path, i, role, text.strip()[:40]))
        for j, call in enumerate(message.get("tool_calls") or ()):
            path = f"{base}.tool_calls[{j}]"
            function = call.get("function", call) if isinstance(call, Mapping) else {}
            name = str(function.get("name", ""))
            if not seen.path(path) and not seen.text(name):
                missing.append(Missing("tool call", path, i, role, name))
            else:
                calls += 1
    tools = [
        Missing("tools", f"tools[{i}]", None, None, _tool_name(tool))
        for i, tool in enumerate(chat.tools or ())
        if not seen.path(f"tools[{i}]") and not seen.tool(_tool_name(tool))
    ]
    # A template that prints calls knows of tools; where it prints no declarations, they are meant to come by other
    # ways (many put them into the system text). One that prints neither has no idea of tools.
    return [*tools, *missing] if not calls else missing


def _texts(message: Mapping[str, Any], base: str) -> Iterator[tuple[str, str]]:
    content = message.get("content")
    if isinstance(content, str):
        # Reasoning written into the text is reasoning all the same.
        if re.sub(r"<think>.*?(</think>|\Z)", "", content, flags=re.DOTALL).strip():
            yield f"{base}.content", content
    elif isinstance(content, list):
        for j, block in enumerate(content):
            text = block.get("text") if isinstance(block, Mapping) else block
            if isinstance(text, str) and text.strip():
                yield f"{base}.content[{j}]", text


def _tool_name(tool: Any) -> str:
    if not isinstance(tool, Mapping):
        return str(getattr(tool, "__name__", tool))
    function = tool.get("function")
    return str((function if isinstance(function, Mapping) else tool).get("name", "?"))


class _Seen:
    """What a prompt contains: the paths its segments were copied from, and its text."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        data = [s for s in prompt.segments if s.writer == "data" and s.path is not None and s.end > s.start]
        self._paths = {s.path for s in data}
        self._traced = bool(data)
        self._prefixes: set[str] = set()
        for path in self._paths:
            assert path is not None
            for match in re.finditer(r"[.\[]", path):
                self._prefixes.add(path[: match.start()])
        self._squeezed: str | None = None

    def path(self, path: str, *, whole: bool = False) -> bool:
        """Whether the datum at a path is printed: itself, something in it, or something that it is a part of."""
        if path in self._paths:
            return True
        if whole:
            return False
        ends = [match.start() for match in re.finditer(r"[.\[]", path)]
        return path in self._prefixes or any(path[:end] in self._paths for end in ends)

    def text(self, text: str) -> bool:
        """The text itself, for values that a filter rewrote so that their origin was lost."""
        needle = _squeeze(text)
        if not needle or (self._traced and len(needle) < _TELLING):
            return False
        if self._squeezed is None:
            self._squeezed = _squeeze(self._prompt.text)
        return needle in self._squeezed

    def tool(self, name: str) -> bool:
        """A tool named in text that no message brought."""
        quiet: list[Segment] = [s for s in self._prompt.segments if s.part != "message"]
        word = re.compile(
            rf"(?<![\w.-]){re.escape(name)}(?![\w-])" if len(name) > 3 else rf"[\"'`]{re.escape(name)}[\"'`(]"
        )
        return any(word.search(self._prompt.text, s.start, s.end) for s in quiet)


def _squeeze(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()
