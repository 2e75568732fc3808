"""The door: whatever a user has for a request becomes one `Chat`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pytest_cachesafe.messages import anthropic, bedrock, gemini, objects, openai_chat, openai_responses
from pytest_cachesafe.messages.detect import BODY_KEYS, WIRES, detect_body, detect_list, is_body, is_message
from pytest_cachesafe.messages.parts import Parts
from pytest_cachesafe.messages.plain import kind_of, snapshot
from pytest_cachesafe.prompt import Chat, Generated, UsageError

__all__ = ["is_chat_like", "to_chat"]

_CONVERTERS: dict[str, Callable[[Mapping[str, Any]], Parts]] = {
    "openai-chat": openai_chat.convert,
    "openai-responses": openai_responses.convert,
    "anthropic": anthropic.convert,
    "gemini": gemini.convert,
    "bedrock": bedrock.convert,
}
# The key of a body that holds its messages, per wire format.
_LIST_KEY = {"openai-responses": "input", "gemini": "contents"}


def is_chat_like(obj: Any) -> bool:
    """Whether `obj` is one chat (a body, or a list of messages) rather than a list of requests or of rendered prompts.

    A list that tries to be messages and fails (a message without role, an empty list) counts: `to_chat` then says
    what is wrong with it.
    """
    if isinstance(obj, Mapping):
        return is_body(obj) or is_message(obj)
    if isinstance(obj, Chat) or objects.is_prompt_value(obj):
        return True
    if isinstance(obj, (str, bytes)) or not isinstance(obj, Sequence):
        return False
    if not obj:
        return True
    if any(is_body(item) for item in obj):
        return False
    return any(is_message(item) for item in obj) or all(isinstance(item, Mapping) for item in obj)


def to_chat(obj: Any, *, wire: str | None = None) -> Chat:
    """Turn one request into a `Chat`: a list of messages, or a request body of any known wire format.

    Messages may be plain dicts, dataclasses, pydantic models, SDK, LangChain or pydantic-ai objects, also mixed. The
    data are copied: later edits by the caller do not reach the result. `wire` forces a format instead of detecting it.

    Raises:
        UsageError: empty chat, a message without role, content of a wrong type, token ids mixed with text, a lone
            string, an unknown `wire`, or values that have no JSON form; the line names the path.
    """
    if wire is not None and wire not in WIRES:
        from difflib import get_close_matches

        near = get_close_matches(wire, WIRES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"unknown wire format {wire!r}; known are {', '.join(WIRES)}{hint}")
    if isinstance(obj, Chat):
        return obj
    if objects.is_prompt_value(obj):
        obj = objects.prompt_value_messages(obj)
    if isinstance(obj, str):
        raise UsageError('a lone string is no chat: give a list of messages, [{"role": "user", "content": …}]')
    if isinstance(obj, Mapping):
        return _from_body(obj, wire)
    if isinstance(obj, Sequence) and not isinstance(obj, (bytes, bytearray)):
        return _from_list(obj, wire)
    raise UsageError(f"a chat is a list of messages or a request body (a dict), not {kind_of(obj)}")


def _from_list(items: Sequence[Any], wire: str | None) -> Chat:
    _refuse_ids(items)
    if not items:
        raise UsageError("empty chat: the list has no messages")
    messages, notes, paths = objects.plain_messages(items, "messages")
    found = wire or detect_list(messages)
    if found not in _CONVERTERS or found == "openai-chat":
        parts = openai_chat.convert({"messages": messages})
        parts.paths = paths or parts.paths
        return _chat(parts, found if found == "openai-chat" else "messages", None, notes)
    key = _LIST_KEY.get(found, "messages")
    body = {key: messages}
    return _chat(_CONVERTERS[found](body), found, body, notes)


def _refuse_ids(items: Sequence[Any]) -> None:
    ids = [isinstance(item, int) and not isinstance(item, bool) for item in items]
    if items and all(ids):
        raise UsageError("a list of token ids is one prompt, not a chat: give a list of such lists")
    if any(ids):
        first_id = ids.index(True)
        other = next(i for i, is_id in enumerate(ids) if not is_id)
        raise UsageError(
            f"token ids mixed with text: item {first_id} is a token id, item {other} is {kind_of(items[other])}; "
            "give one or the other"
        )
    if items and all(isinstance(item, str) for item in items):
        raise UsageError("a list of strings is a list of rendered prompts, not a chat: messages are dicts with a role")


def _from_body(given: Mapping[str, Any], wire: str | None) -> Chat:
    if not is_body(given):
        if is_message(given):
            raise UsageError("a single message is no chat: put it in a list")
        keys = ", ".join(repr(str(k)) for k in list(given)[:6]) or "none"
        raise UsageError(f"no messages found: a request body has one of {', '.join(BODY_KEYS)}; its keys are {keys}")
    body, notes = _plain_body(given)
    found = wire or detect_body(body)
    if found in ("text", "ids") or _is_completion(body):
        return _completion(body)
    found = "openai-chat" if found == "messages" else found
    return _chat(_CONVERTERS[found](body), found, body, notes)


def _plain_body(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The body as plain JSON; message objects of frameworks inside it become OpenAI-shaped messages."""
    body: dict[str, Any] = {}
    notes: list[str] = []
    for key, value in given.items():
        if key in ("messages", "input", "contents") and isinstance(value, (list, tuple)):
            body[key], more, _ = objects.plain_messages(value, key)
            notes += more
        elif key == "now" and isinstance(value, datetime):
            body[key] = value
        else:
            body[str(key)] = snapshot(value, str(key), callables=key in ("tools", "config", "functions"))
    return body, notes


def _is_completion(body: Mapping[str, Any]) -> bool:
    return not any(body.get(key) is not None for key in ("messages", "input", "contents"))


def _completion(body: dict[str, Any]) -> Chat:
    ids, text = body.get("prompt_token_ids"), body.get("prompt")
    if ids is None and isinstance(text, list):
        ids = text
    if ids is not None:
        if not isinstance(ids, list) or not ids:
            raise UsageError("prompt_token_ids must be a list of token ids, at least one")
        for index, item in enumerate(ids):
            if not isinstance(item, int) or isinstance(item, bool) or item < 0:
                raise UsageError(
                    f"prompt_token_ids[{index}] is {kind_of(item)}; token ids mixed with text cannot be compared"
                    if isinstance(item, str)
                    else f"prompt_token_ids[{index}] is no token id (a whole number from 0)"
                )
        chat = Chat([], wire="ids", raw=tuple(ids), body=body)
    elif isinstance(text, str):
        if not text:
            raise UsageError("empty chat: prompt is an empty string")
        chat = Chat([], wire="text", raw=text, body=body)
    else:
        raise UsageError(f"prompt is {kind_of(text)}; a string or a list of token ids is meant")
    return _with_controls(chat, body)


def _chat(parts: Parts, wire: str, body: dict[str, Any] | None, notes: Sequence[str]) -> Chat:
    if not parts.messages:
        raise UsageError(f"empty chat: {_LIST_KEY.get(wire, 'messages')} has no messages")
    messages = parts.messages
    if wire == "openai-chat":
        messages = [openai_chat.as_served(message) for message in messages]
    chat = Chat(
        messages,
        tools=parts.tools,
        settings=parts.settings,
        wire=wire,
        body=body,
        paths=tuple(parts.paths),
        notes=(*notes, *parts.notes),
    )
    return chat if body is None else _with_controls(chat, body)


def _with_controls(chat: Chat, body: Mapping[str, Any]) -> Chat:
    """Keys of ours and of engines that say how the request is rendered, who it belongs to and what came back."""
    for name in ("chat_template_kwargs", "template_kwargs", "kwargs"):
        value = body.get(name)
        if value is not None:
            if not isinstance(value, dict):
                raise UsageError(f"{name} is {kind_of(value)}; a dict of template keywords is meant")
            chat.settings.update(value)
    for name in ("documents", "reasoning_effort"):
        if body.get(name) is not None:
            chat.settings.setdefault(name, body[name])
    flag = body.get("add_generation_prompt", True)
    if not isinstance(flag, bool):
        raise UsageError(f"add_generation_prompt is {kind_of(flag)}; true or false is meant")
    chat.add_generation_prompt = flag
    resume = body.get("continue_final_message", False)
    if not isinstance(resume, (bool, str)):
        raise UsageError(f"continue_final_message is {kind_of(resume)}; true, false or a field name is meant")
    chat.continue_final_message = resume
    chat.now = _now(body.get("now"))
    key = body.get("key")
    chat.key = None if key is None else str(key)
    model = body.get("model", body.get("modelId"))
    if model is not None and not isinstance(model, str):
        raise UsageError(f"model is {kind_of(model)}; a model name is meant")
    chat.model = model
    chat.generated = _generated(body)
    return chat


def _generated(body: Mapping[str, Any]) -> Generated | None:
    text, ids = body.get("generated_text"), body.get("generated_ids")
    if text is not None and not isinstance(text, str):
        raise UsageError(f"generated_text is {kind_of(text)}; the generated text is meant")
    if ids is None:
        return None if text is None else Generated(text)
    if not isinstance(ids, list) or not all(isinstance(i, int) and not isinstance(i, bool) for i in ids):
        raise UsageError("generated_ids must be a list of token ids")
    return Generated(text, tuple(ids))


def _now(value: Any) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    if isinstance(value, str):
        try:
            # Python 3.10 does not read the Z of UTC.
            return datetime.fromisoformat(value[:-1] + "+00:00" if value.endswith("Z") else value)
        except ValueError:
            pass
    raise UsageError(f"now is {value!r}; an ISO date and time such as 2026-01-05T12:00:00 is meant")
