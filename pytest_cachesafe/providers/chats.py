"""Exchanges as chats: the one vocabulary that comparison, blame, toggles, acceptances and resets read.

What a provider keeps for the caller (`previous_response_id`, `conversation`) is put back in front, so that a request
which holds new items only is compared with its whole history.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.messages import to_chat
from pytest_cachesafe.messages.openai_responses import served_history
from pytest_cachesafe.prompt import Chat, Generated, UsageError
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["ChatMaker", "answer_text", "with_model"]


class ChatMaker:
    """Turns exchanges into chats, in the order in which they were sent."""

    def __init__(self) -> None:
        # Items that the provider holds, by the id under which a later request asks for them.
        self._held: dict[str, list[Any]] = {}

    def chat(self, exchange: Exchange) -> Chat:
        """One request with its whole history; `chat.exchange` is the exchange.

        Raises:
            UsageError: the body is no request of its format.
        """
        chat = to_chat(with_model(self._with_history(exchange), exchange), wire=exchange.wire)
        chat.model = exchange.model or chat.model
        chat.exchange = exchange
        text = answer_text(exchange)
        if text is not None:
            chat.generated = Generated(text=text)
        return chat

    def _with_history(self, exchange: Exchange) -> Mapping[str, Any]:
        body = exchange.body
        if exchange.api != "responses":
            return body
        field = served_history(body)
        asked = _id(body[field]) if field is not None else None
        items = _items(body.get("input"))
        earlier = self._held.get(asked) if asked is not None else None
        if earlier is None and field == "conversation":
            # What was stored before the first request seen stays unknown; it is the same for all that follow.
            earlier = []
        if earlier is not None:
            items = [*earlier, *items]
            body = {key: value for key, value in body.items() if key != field} | {"input": items}
        reply = exchange.reply
        if reply is not None and (field is None or earlier is not None):
            said = reply.get("output")
            whole = [*items, *(said if isinstance(said, list) else ())]
            if isinstance(reply.get("id"), str):
                self._held[reply["id"]] = whole
            if field == "conversation" and asked is not None:
                self._held[asked] = whole
        return body


def with_model(body: Mapping[str, Any], exchange: Exchange) -> Mapping[str, Any]:
    """The body, with the keys that tell formats apart where the path says what the body does not."""
    return (
        body
        if "model" in body or exchange.model is None or exchange.api in ("converse", "gemini")
        else {**body, "model": exchange.model}
    )


def _id(value: Any) -> str | None:
    if isinstance(value, Mapping):
        value = value.get("id")
    return value if isinstance(value, str) else None


def _items(given: Any) -> list[Any]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return list(given) if isinstance(given, list) else []


def answer_text(exchange: Exchange) -> str | None:
    """What the model said, if it said nothing but text; None with calls or thinking."""
    reply = exchange.reply
    if reply is None or (exchange.status is not None and exchange.status >= 400):
        return None
    try:
        return _TEXTS[exchange.api](reply)
    except (KeyError, IndexError, TypeError, AttributeError, UsageError):
        # A reply in a shape of its own (a gateway's): then nothing is known of it.
        return None


def _only(parts: list[Any], key: str) -> str | None:
    texts = [part[key] for part in parts]
    return "".join(texts) if texts and all(isinstance(text, str) for text in texts) else None


def _anthropic(reply: Mapping[str, Any]) -> str | None:
    blocks = reply["content"]
    return _only(blocks, "text") if all(block["type"] == "text" for block in blocks) else None


def _chat(reply: Mapping[str, Any]) -> str | None:
    said = reply["choices"][0]["message"]
    if said.get("tool_calls") or said.get("reasoning_content") or said.get("function_call"):
        return None
    return said["content"] if isinstance(said["content"], str) else None


def _responses(reply: Mapping[str, Any]) -> str | None:
    items = reply["output"]
    if len(items) != 1 or items[0]["type"] != "message":
        return None
    return _only(items[0]["content"], "text")


def _gemini(reply: Mapping[str, Any]) -> str | None:
    parts = reply["candidates"][0]["content"]["parts"]
    return _only(parts, "text") if all(part.keys() == {"text"} for part in parts) else None


def _converse(reply: Mapping[str, Any]) -> str | None:
    parts = reply["output"]["message"]["content"]
    return _only(parts, "text") if all(part.keys() == {"text"} for part in parts) else None


_TEXTS = {
    "messages": _anthropic,
    "invoke": _anthropic,
    "chat": _chat,
    "responses": _responses,
    "gemini": _gemini,
    "converse": _converse,
}
