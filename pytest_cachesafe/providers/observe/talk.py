"""Messages whose every field is known, without markers: what comes next of a conversation, and what opens one.

Known is what the full check takes without a word, and keeps apart from what is written otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

__all__ = ["CHAT", "MESSAGES", "Talk"]

_BARE = {"role", "content"}
_TEXT = {"type", "text"}
_USE = {"type", "id", "name", "input"}
_RESULT = {"type", "tool_use_id", "content"}
_CALL = {"id", "type", "function"}
_FUNCTION = {"name", "arguments"}
# Fields that SDKs write out without a value.
_EMPTY = ("refusal", "audio", "function_call")
_MARKERS = {"cache_control", "cachePoint", "prompt_cache_breakpoint"}
# Tool input deeper than this is left to the full check.
_DEEPEST = 24


class Talk:
    """Messages of one interface.

    Args:
        leading: roles of system messages, which may stand in front.
        known: whether a message that is no system message is one of those known.
    """

    def __init__(self, leading: tuple[str, ...], known: Callable[[Any], bool]) -> None:
        self._leading = leading
        self._known = known

    def opening(self, messages: Sequence[Any], *, fresh: bool) -> Hashable | None:
        """The words a request opens with, unlike those of any other opening where they are other words; None if it is
        not known, or `fresh` and holds more than the user's words.
        """
        at = 0
        while at < len(messages) and type(messages[at]) is dict and messages[at].get("role") in self._leading:
            if messages[at].keys() != _BARE or _words(messages[at]["content"]) is None:
                return None
            at += 1
        rest = messages[at:]
        if not rest or not all(map(self._known, rest)) or rest[-1]["role"] == "assistant":
            return None
        if fresh and any(m["role"] != "user" or _words(m["content"]) is None for m in rest):
            return None
        words = _words(rest[0].get("content")) if rest[0]["role"] == "user" else None
        # Any other is unlike all that are the user's words alone.
        return ("",) if words is None else words

    def goes_on(self, messages: Sequence[Any]) -> bool:
        """Whether these are an answer, in one or more messages, and then what is no answer."""
        if not all(map(self._known, messages)):
            return False
        said = 0
        while said < len(messages) and messages[said]["role"] == "assistant":
            said += 1
        return 0 < said < len(messages) and all(m["role"] != "assistant" for m in messages[said:])


def _words(content: Any) -> str | tuple[str, ...] | None:
    """The text of a content that is nothing else; a lone block is the same as a string."""
    if type(content) is str:
        return content
    if type(content) is not list or not content or not all(map(_is_text, content)):
        return None
    return str(content[0]["text"]) if len(content) == 1 else tuple(block["text"] for block in content)


def _is_text(block: Any) -> bool:
    return type(block) is dict and block.keys() == _TEXT and block["type"] == "text" and type(block["text"]) is str


def _anthropic(message: Any) -> bool:
    if type(message) is not dict or message.keys() != _BARE or message["role"] not in ("user", "assistant"):
        return False
    content = message["content"]
    if type(content) is str:
        return True
    if type(content) is not list or not content:
        return False
    other = _is_use if message["role"] == "assistant" else _is_result
    return all(_is_text(block) or other(block) for block in content)


def _is_use(block: Any) -> bool:
    return (
        type(block) is dict
        and block.keys() == _USE
        and block["type"] == "tool_use"
        and type(block["id"]) is str
        and type(block["name"]) is str
        and block["name"] != ""
        and type(block["input"]) is dict
        and _is_plain(block["input"], _DEEPEST)
    )


def _is_result(block: Any) -> bool:
    if type(block) is not dict or block.get("type") != "tool_result" or type(block.get("tool_use_id")) is not str:
        return False
    if block.keys() - {"is_error"} != _RESULT or type(block.get("is_error", False)) is not bool:
        return False
    return _words(block["content"]) is not None


def _is_plain(value: Any, left: int) -> bool:
    """Whether a JSON value holds no field that is called like a marker, and is not deep."""
    if type(value) is dict:
        return left > 0 and _MARKERS.isdisjoint(value) and all(_is_plain(v, left - 1) for v in value.values())
    if type(value) is list:
        return left > 0 and all(_is_plain(v, left - 1) for v in value)
    return True


def _openai(message: Any) -> bool:
    if type(message) is not dict:
        return False
    role, content = message.get("role"), message.get("content")
    if role == "user":
        return message.keys() == _BARE and _words(content) is not None
    if role == "tool":
        bare = message.keys() == _BARE | {"tool_call_id"} and type(message["tool_call_id"]) is str
        return bare and _words(content) is not None
    if role != "assistant" or any(message.get(name) is not None for name in _EMPTY):
        return False
    if message.keys() - _EMPTY - {"content", "tool_calls"} != {"role"}:
        return False
    calls = message.get("tool_calls")
    if "tool_calls" not in message:
        return _words(content) is not None
    return (
        type(calls) is list
        and bool(calls)
        and all(map(_is_call, calls))
        and (content is None or _words(content) is not None)
    )


def _is_call(call: Any) -> bool:
    if type(call) is not dict or call.keys() != _CALL or type(call["id"]) is not str or call["type"] != "function":
        return False
    function = call["function"]
    if type(function) is not dict or function.keys() != _FUNCTION:
        return False
    return type(function["name"]) is str and function["name"] != "" and type(function["arguments"]) is str


MESSAGES = Talk((), _anthropic)
CHAT = Talk(("system", "developer"), _openai)
