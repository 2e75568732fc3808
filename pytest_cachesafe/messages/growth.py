"""A growing chat: the requests it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pytest_cachesafe.messages.pydantic_ai import InstructionsMessage
from pytest_cachesafe.prompt import Chat, Generated, UsageError

__all__ = ["growing_requests"]


def growing_requests(chat: Chat, requests: Literal["user+tool", "user"] = "user+tool") -> list[Chat]:
    """The requests an engine got while this chat grew, in order.

    A request ends where an assistant's answer follows, or at the end of the list: behind the last of a run of tool
    results (parallel results make one request) or behind the user's words, whatever system message or reminder
    stands there with them. `requests="user"` leaves out the requests that end in tool results. A list without any
    assistant message stands for one request per user message. Each request's `generated` is the plain-text answer
    that follows it, where there is one.

    Costs a slice of the message list per request; messages are shared, not copied.

    Raises:
        UsageError: the chat has no user turn, so that it holds no request, or `requests` is unknown.
    """
    if requests not in ("user+tool", "user"):
        raise UsageError(f"requests={requests!r} is unknown; use 'user+tool' or 'user'")
    if chat.raw is not None:
        return [chat]
    messages = chat.messages
    ends = _ends(messages, requests)
    # A final assistant message that the model is to continue is part of the last request.
    resumed = bool(chat.continue_final_message and messages) and messages[-1].get("role") == "assistant"
    if resumed:
        ends.append(len(messages))
    if not ends:
        roles = ", ".join(dict.fromkeys(str(m.get("role")) for m in messages))
        raise UsageError(f"the chat holds no request: no message of role user or tool ends one (roles: {roles})")
    return [_cut(chat, end, last=end == ends[-1], resumed=resumed) for end in ends]


def _ends(messages: list[dict[str, Any]], requests: str) -> list[int]:
    answered = any(m.get("role") == "assistant" for m in messages)
    ends = []
    asked: str | None = None  # role of the latest user or tool message of the running run
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "assistant":
            asked = None
            continue
        if role == "user":
            asked = "user"
        elif role in ("tool", "function"):
            asked = "tool"
        following = messages[index + 1].get("role") if index + 1 < len(messages) else "assistant"
        # Without answers there is nothing that tells one request from the next but the user messages themselves.
        closes = following == "assistant" or (not answered and role == "user" and following == "user")
        if closes and (asked == "user" or (asked == "tool" and requests == "user+tool")):
            ends.append(index + 1)
    return ends


def _cut(chat: Chat, end: int, *, last: bool, resumed: bool) -> Chat:
    messages = chat.messages[:end]
    for i, message in enumerate(messages):
        if isinstance(message, InstructionsMessage):
            messages[i] = message.at(end)
        elif message.get("role") != "system":
            break
    generated = _answer(chat.messages, end)
    if last and chat.generated is not None:
        generated = chat.generated
    cut = replace(
        chat,
        messages=messages,
        # Settings are data of one request: a toggle must not reach the others.
        settings=dict(chat.settings),
        paths=chat.paths[:end],
        body=_cut_body(chat, end),
        generated=generated,
    )
    if resumed and not last:
        cut.continue_final_message = False
        cut.add_generation_prompt = True
    return cut


def _cut_body(chat: Chat, end: int) -> Mapping[str, Any] | None:
    body = chat.body
    if body is None or end >= len(chat.messages):
        return body
    # "messages[3].content[1]" stands in item 3 of the list "messages"; "input" alone is a string and cannot be cut.
    key, bracket, rest = chat.path_of(end - 1).partition("[")
    items = body.get(key)
    if not bracket or not isinstance(items, list):
        return body
    return {**body, key: items[: int(rest.partition("]")[0]) + 1]}


def _answer(messages: list[dict[str, Any]], end: int) -> Generated | None:
    if end >= len(messages):
        return None
    message = messages[end]
    if message.get("role") != "assistant" or message.get("tool_calls") or message.get("function_call"):
        return None
    if any(message.get(name) for name in ("reasoning_content", "reasoning", "thinking")):
        return None
    content = message.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        content = content[0].get("text") if content[0].get("type") == "text" else None
    return Generated(text=content) if isinstance(content, str) and content else None
