"""What a cache key has to tell apart in a request, and requests in which one of it is changed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe.findings import Severity
from pytest_cachesafe.messages import to_chat

__all__ = ["FIELDS", "Field", "last_user_text"]

_LISTS = ("messages", "input", "contents")
_SYSTEM_KEYS = ("system", "instructions", "systemInstruction", "system_instruction")
_SYSTEM_ROLES = ("system", "developer")
_TOOLS = ("tools", "toolConfig", "functions")
_TENANT = ("tenant", "tenant_id", "organization", "organization_id", "org_id", "account_id", "workspace_id")
# Within a tenant, or without one. `user` is OpenAI's field for it (replaced by `safety_identifier` in 2025).
_USER = ("user_id", "user", "customer_id", "safety_identifier")
_OTHER = "Answer as the night porter of a lighthouse, in rhymes."


@dataclass(frozen=True, slots=True)
class Field:
    """A part of requests that decides on the answer."""

    name: str
    words: str
    severity: Severity
    # The part itself, in a form that can be compared; None where a request has none.
    value: Callable[[Any], Any]
    # A copy of the request with another value; None where it has none.
    changed: Callable[[Any], Any]
    why: str


def last_user_text(request: Any) -> str:
    """The text of the last user message: what many caches embed when nothing else is said.

    Raises:
        UsageError: no chat, or no user message in it.
    """
    from pytest_cachesafe.semantic.files import prompt_in

    if isinstance(request, str):
        return request
    if isinstance(request, Mapping) and not any(key in request for key in _LISTS):
        return prompt_in(request, "the request")
    return prompt_in({"messages": to_chat(request).messages}, "the request")


def _messages(request: Any) -> list[Any]:
    if isinstance(request, list):
        return request
    if isinstance(request, Mapping):
        for key in _LISTS:
            if isinstance(request.get(key), list):
                return list(request[key])
    return []


def _role(message: Any) -> str | None:
    return message.get("role") if isinstance(message, Mapping) else None


def _history_span(request: Any) -> list[int]:
    """Indices of the messages before the last one of the user's, system messages left out."""
    messages = _messages(request)
    users = [index for index, message in enumerate(messages) if _role(message) == "user"]
    last = users[-1] if users else 0
    return [index for index in range(last) if _role(messages[index]) not in _SYSTEM_ROLES]


def _history(request: Any) -> Any:
    messages = _messages(request)
    return [messages[index] for index in _history_span(request)] or None


def _other_history(request: Any) -> Any:
    span = _history_span(request)
    if not span:
        return None
    found = copy.deepcopy(request)
    # In place: `_messages` of a mapping copies the list, not the messages.
    _say(_messages(found)[span[-1]], _OTHER)
    return found


def _say(message: Any, words: str) -> None:
    """Give a message another text, in the form it has."""
    if "parts" in message:
        message["parts"] = [{"text": words}]
    elif isinstance(message.get("content"), list):
        message["content"] = [{"type": "text", "text": words}]
    else:
        message["content"] = words


def _system(request: Any) -> Any:
    found = [message for message in _messages(request) if _role(message) in _SYSTEM_ROLES]
    if isinstance(request, Mapping):
        found += [request[key] for key in _SYSTEM_KEYS if request.get(key)]
    return found or None


def _other_system(request: Any) -> Any:
    if _system(request) is None:
        return None
    found = copy.deepcopy(request)
    for message in _messages(found):
        if _role(message) in _SYSTEM_ROLES:
            _say(message, _OTHER)
            return found
    key = next(key for key in _SYSTEM_KEYS if found.get(key))
    value = found[key]
    if isinstance(value, list):
        found[key] = [{"type": "text", "text": _OTHER}]
    else:
        found[key] = {"parts": [{"text": _OTHER}]} if isinstance(value, Mapping) else _OTHER
    return found


def _get(keys: tuple[str, ...]) -> Callable[[Any], Any]:
    def value(request: Any) -> Any:
        place = _place(request, keys)
        return place[0][place[1]] if place is not None else None

    return value


def _place(request: Any, keys: tuple[str, ...]) -> tuple[Any, str] | None:
    """The mapping and the key in which a request has one of these; `metadata` and the like are looked into."""
    if not isinstance(request, Mapping):
        return None
    for holder in (request, request.get("metadata"), request.get("extra_body")):
        if isinstance(holder, Mapping):
            for key in keys:
                if holder.get(key):
                    return holder, key
    return None


def _set(keys: tuple[str, ...], other: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def changed(request: Any) -> Any:
        if _place(request, keys) is None:
            return None
        found = copy.deepcopy(request)
        holder, key = _place(found, keys) or (found, keys[0])
        holder[key] = other(holder[key])
        return found

    return changed


def _other_name(value: Any) -> Any:
    return f"{value}-other" if isinstance(value, str) else [value, "other"]


def _no_tools(value: Any) -> Any:
    return [] if isinstance(value, list) else {}


FIELDS = (
    Field(
        "history", "what was said before the last message", Severity.ERROR, _history, _other_history,
        'the answer to "and the other one?" depends on what came before; put the conversation into the key',
    ),
    Field(
        "system", "the system prompt", Severity.ERROR, _system, _other_system,
        "another system prompt asks for another answer; put its checksum into the key or a filter",
    ),
    Field(
        "tenant", "the tenant", Severity.ERROR, _get(_TENANT), _set(_TENANT, _other_name),
        "one customer is served another customer's answer; filter by tenant",
    ),
    Field(
        "user", "the user", Severity.WARNING, _get(_USER), _set(_USER, _other_name),
        "one user is served an answer made for another; filter by user, or name it in shared=, where all get the same",
    ),
    Field(
        "model", "the model", Severity.WARNING, _get(("model",)), _set(("model",), _other_name),
        "after a change of model the old model's answers are served; put its name into the key or a filter",
    ),
    Field(
        "tools", "the set of tools", Severity.WARNING, _get(_TOOLS), _set(_TOOLS, _no_tools),
        "an answer made with other tools is served; put a checksum of the tools into the key or a filter",
    ),
)  # fmt: skip
