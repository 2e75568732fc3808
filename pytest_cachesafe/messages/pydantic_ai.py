"""pydantic-ai messages: a request or response object holds parts, of which each becomes a template message."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_cachesafe.messages.parts import add_text, joined
from pytest_cachesafe.messages.plain import kind_of, snapshot
from pytest_cachesafe.prompt import UsageError

__all__ = ["Instructions", "InstructionsMessage", "convert", "is_message"]


def is_message(obj: Any) -> bool:
    """Whether `obj` is a pydantic-ai request or response, as object or as its stored dict."""
    if isinstance(obj, Mapping):
        return obj.get("kind") in ("request", "response") and isinstance(obj.get("parts"), (list, tuple))
    return type(obj).__module__.startswith("pydantic_ai.") and getattr(obj, "kind", None) in ("request", "response")


def _get(obj: Any, name: str) -> Any:
    return obj.get(name) if isinstance(obj, Mapping) else getattr(obj, name, None)


class InstructionsMessage(dict[str, Any]):
    """The system message pydantic-ai makes of instructions; remembers what earlier requests said instead.

    Instructions are evaluated for each request and only the latest are sent, so one list of messages stands for
    requests with different system texts. `sent[i]` is (messages up to that request, its instructions).
    """

    sent: tuple[tuple[int, str], ...] = ()

    def at(self, end: int) -> dict[str, Any]:
        """The system message of the request that consists of the first `end` messages."""
        texts = [text for upto, text in self.sent if upto <= end]
        if not texts or texts[-1] == self["content"]:
            return self
        earlier = InstructionsMessage(self)
        earlier["content"] = texts[-1]
        earlier.sent = self.sent
        return earlier


class Instructions:
    """Gathers the instructions of all requests of a list, and puts the latest in front."""

    def __init__(self) -> None:
        self._sent: list[tuple[int, str]] = []

    def __bool__(self) -> bool:
        return bool(self._sent)

    def note(self, obj: Any, upto: int) -> None:
        """Remember what a request object said; `upto` counts the messages made so far."""
        text = _get(obj, "instructions")
        if isinstance(text, str) and text:
            self._sent.append((upto, text))

    def insert(self, messages: list[Any], paths: list[str]) -> None:
        """Insert the system message behind the leading system prompts, where pydantic-ai puts it."""
        at = next((i for i, m in enumerate(messages) if m.get("role") != "system"), len(messages))
        message = InstructionsMessage(role="system", content=self._sent[-1][1])
        message.sent = tuple((upto + 1, text) for upto, text in self._sent)
        messages.insert(at, message)
        paths.insert(at, "instructions")


def convert(obj: Any, path: str, notes: list[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """(message, path) for every part of a request, and one message for a response."""
    parts = _get(obj, "parts") or ()
    if _get(obj, "kind") == "response":
        yield _response(parts, path, notes), path
        return
    for i, part in enumerate(parts):
        yield _request_part(part, f"{path}.parts[{i}]", notes), f"{path}.parts[{i}]"


def _request_part(part: Any, path: str, notes: list[str]) -> dict[str, Any]:
    kind = _get(part, "part_kind")
    content = _get(part, "content")
    if kind == "system-prompt":
        return {"role": "system", "content": content}
    if kind == "user-prompt":
        return {"role": "user", "content": _user(content, path, notes)}
    if kind in ("tool-return", "retry-prompt") and _get(part, "tool_name") is not None:
        message: dict[str, Any] = {"role": "tool", "tool_call_id": _get(part, "tool_call_id")}
        message["name"] = _get(part, "tool_name")
        message["content"] = _text(part, content, path)
        return message
    if kind not in ("retry-prompt", "retry-feedback"):
        notes.append(f"part {kind!r} at {path} rendered as the user's text")
    return {"role": "user", "content": _text(part, content, path)}


def _text(part: Any, content: Any, path: str) -> str:
    """What pydantic-ai sends as text for a result or a retry: its own words where the object can say them."""
    if isinstance(content, str) and _get(part, "part_kind") == "tool-return":
        return content
    for name in ("model_response_str", "model_response"):
        method = getattr(part, name, None)
        if callable(method):
            return str(method())
    if isinstance(content, str):
        return content
    return json.dumps(snapshot(content, f"{path}.content"), ensure_ascii=False, separators=(",", ":"), default=repr)


def _user(content: Any, path: str, notes: list[str]) -> Any:
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        raise UsageError(f"{path}.content is {kind_of(content)}; a string or a list is meant")
    blocks: list[dict[str, Any]] = []
    for i, item in enumerate(content):
        kind = _get(item, "kind")
        if isinstance(item, str):
            blocks.append({"type": "text", "text": item})
        elif kind == "text-content":
            blocks.append({"type": "text", "text": str(_get(item, "content"))})
        elif kind == "cache-point":
            continue
        elif kind == "image-url":
            blocks.append({"type": "image", "image": _get(item, "url")})
        else:
            plain = snapshot(item, f"{path}.content[{i}]")
            block = plain if isinstance(plain, dict) else {"value": plain}
            is_image = str(block.get("media_type", "")).startswith("image/")
            blocks.append({"type": "image" if is_image else str(kind), **block})
            if not is_image:
                notes.append(f"{kind!r} at {path}.content[{i}] kept as it is")
    return joined(blocks)


def _response(parts: Any, path: str, notes: list[str]) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    reasoning: str | None = None
    for i, part in enumerate(parts):
        kind = _get(part, "part_kind")
        where = f"{path}.parts[{i}]"
        if kind == "text":
            blocks.append({"type": "text", "text": str(_get(part, "content"))})
        elif kind == "thinking":
            if _get(part, "content"):
                reasoning = add_text(reasoning, str(_get(part, "content")))
        elif kind == "tool-call":
            arguments = _get(part, "args")
            # A call without arguments goes out as an empty object.
            arguments = snapshot(arguments, f"{where}.args") if arguments not in (None, "") else {}
            function = {"name": _get(part, "tool_name"), "arguments": arguments}
            calls.append({"id": _get(part, "tool_call_id"), "type": "function", "function": function})
        else:
            plain = snapshot(part, where)
            blocks.append({"type": str(kind), **plain} if isinstance(plain, dict) else {"type": str(kind)})
            notes.append(f"part {kind!r} at {where} kept as it is")
    if len(blocks) > 1 and all(block.get("type") == "text" for block in blocks):
        # Text parts of one response are one text on the wire.
        blocks = [{"type": "text", "text": "\n\n".join(block["text"] for block in blocks)}]
    message: dict[str, Any] = {"role": "assistant", "content": joined(blocks)}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return message
