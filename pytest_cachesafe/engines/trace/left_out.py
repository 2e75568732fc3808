"""What a template leaves out of the requests of a log, without tracing every prompt back to its request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_cachesafe.prompt import Chat, Prompt

__all__ = ["Watch"]

# Texts this long stand in a prompt for no other reason than that the request says them.
_TELLING = 24
# Shapes that are remembered.
_SHAPES = 1000


class Watch:
    """Looks at one prompt after the other.

    The full check (`prefix.rendered`) takes longer than rendering. It is made of every request whose shape (roles,
    kinds of content, calls, tools) has not passed it yet, and of every one with a text that is not found in the
    prompt, in order. So all that can be missed is a word that is left out and stands there by coincidence.
    """

    def __init__(self) -> None:
        self._passed: set[frozenset[Any]] = set()

    def kinds(self, prompt: Prompt) -> tuple[str, ...]:
        """What the prompt lacks: "tools", "message", "tool call", "tool result"."""
        from pytest_cachesafe.prefix.rendered import not_rendered

        chat = prompt.chat
        if chat is None:
            return ()
        shape = _shape(chat)
        if shape in self._passed and _all_there(prompt.text, chat):
            return ()
        found = tuple(dict.fromkeys(missing.what for missing in not_rendered(prompt)))
        if not found and len(self._passed) < _SHAPES:
            self._passed.add(shape)
        return found


def _shape(chat: Chat) -> frozenset[Any]:
    parts: set[Any] = {
        (message.get("role"), type(message.get("content")), bool(message.get("tool_calls")))
        for message in chat.messages
    }
    parts.add(bool(chat.tools))
    return frozenset(parts)


def _all_there(text: str, chat: Chat) -> bool:
    """Whether all texts and called names stand in the prompt, one behind the other, and all tools in front of them."""
    at, head = 0, None
    for piece in _pieces(chat):
        begin = _find(text, piece, at)
        if begin < 0:
            return False
        if head is None:
            head = begin
        at = begin + len(piece)
    return all(0 <= _find(text, _name(tool), 0) < (head or 0) for tool in chat.tools or ())


def _pieces(chat: Chat) -> Iterator[str]:
    for message in chat.messages:
        content = message.get("content")
        for block in content if isinstance(content, list) else [content]:
            piece = block.get("text") if isinstance(block, Mapping) else block
            if isinstance(piece, str) and (piece := piece.strip()):
                yield piece
        for call in message.get("tool_calls") or ():
            yield _name(call)


def _name(tool: Any) -> str:
    if not isinstance(tool, Mapping):
        return str(getattr(tool, "__name__", tool))
    function = tool.get("function")
    return str((function if isinstance(function, Mapping) else tool).get("name", "?"))


def _find(text: str, piece: str, at: int) -> int:
    """Where `piece` stands from `at` on, a short one as a word by itself; -1: nowhere."""
    begin = text.find(piece, at)
    if len(piece) >= _TELLING:
        return begin
    while begin >= 0:
        end = begin + len(piece)
        before = text[begin - 1] if begin else " "
        if not before.isalnum() and not text[end : end + 1].isalnum():
            return begin
        begin = text.find(piece, begin + 1)
    return -1
