"""What a user hands over as requests: bodies, exchanges, chats, a recording; each becomes an exchange with its chat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe import prompt
from pytest_cachesafe.messages.detect import evident_formats
from pytest_cachesafe.prompt import Chat
from pytest_cachesafe.providers.blocks.block import Layout
from pytest_cachesafe.providers.exchange import APIS, Api, Exchange, Provider
from pytest_cachesafe.usage import UsageError

__all__ = ["PROVIDERS", "Asked", "exchange_of", "exchanges_of"]

PROVIDERS: tuple[Provider, ...] = ("anthropic", "openai", "bedrock", "gemini")
# Keys of a line that holds more than a body.
_LINE_KEYS = (
    "path",
    "host",
    "headers",
    "scope",
    "sent_at",
    "began_at",
    "attempt",
    "status",
    "reply",
    "usage",
    "source",
)
_FORMATS = {"openai-chat": "openai", "openai-responses": "openai"}


@dataclass(slots=True)
class Asked:
    """One request under check."""

    index: int
    exchange: Exchange
    layout: Layout
    # The request with its whole history; None if its provider refuses it in a form that cannot be compared.
    chat: Chat | None = None
    parent: int | None = None
    conversation: int = 0

    @property
    def failed(self) -> bool:
        """Whether the provider did not answer it."""
        return self.exchange.status is not None and self.exchange.status >= 400


def exchanges_of(requests: Any, provider: str, model: str | None) -> list[Exchange]:
    """The requests as exchanges, in order.

    Raises:
        UsageError: none, not requests, an unknown provider, or a body of another provider (with its number).
    """
    if provider not in PROVIDERS:
        from pytest_cachesafe.configuration import closest

        raise UsageError(f"unknown provider {provider!r}; {closest(provider, PROVIDERS)}")
    if isinstance(requests, prompt.Recording):
        items: list[Any] = list(requests)
        if not items:
            raise UsageError("the recording is empty: no request was recorded, nothing to check")
    elif isinstance(requests, (Mapping, Exchange, Chat)):
        items = [requests]
    elif isinstance(requests, Iterable) and not isinstance(requests, (str, bytes)):
        items = list(requests)
    else:
        raise UsageError(
            f"cannot read requests from {type(requests).__name__}: pass a list of wire bodies, or a recording"
        )
    if not items:
        raise UsageError("no requests: nothing to check")
    if all(isinstance(item, Mapping) and "role" in item and "messages" not in item for item in items):
        raise UsageError('got a list of messages where requests are meant: pass bodies, [{"messages": […], …}, …]')
    return [_exchange(item, i, provider, model) for i, item in enumerate(items)]


def _exchange(item: Any, index: int, provider: Provider, model: str | None) -> Exchange:
    if isinstance(item, Exchange):
        return item
    if isinstance(item, Chat):
        kept = getattr(item, "exchange", None)
        if isinstance(kept, Exchange):
            return kept
        if item.raw is not None:
            raise UsageError(f"request {index} is a rendered prompt; providers get message lists")
        body: Mapping[str, Any] = item.body if item.body is not None else {"messages": item.messages}
        if item.body is None and item.tools is not None:
            body = {**body, "tools": item.tools}
        return exchange_of(body, provider, item.model or model, where=f"request {index}", wire=_own_wire(item))
    if not isinstance(item, Mapping):
        raise UsageError(f"request {index} is {type(item).__name__}; a wire body (a dict) is meant")
    inner = next((item[k] for k in ("body", "wire") if isinstance(item.get(k), Mapping)), None)
    if inner is None:
        return exchange_of(item, provider, model, where=f"request {index}")
    exchange = exchange_of(inner, provider, item.get("model") or model, where=f"request {index}")
    for key in _LINE_KEYS:
        if item.get(key) is not None:
            setattr(exchange, key, item[key])
    return exchange


def _own_wire(chat: Chat) -> str | None:
    return chat.wire if chat.body is not None and chat.wire not in ("messages", "text", "ids") else None


def exchange_of(
    body: Mapping[str, Any], provider: Provider, model: str | None = None, *, where: str, wire: str | None = None
) -> Exchange:
    """A body as sent to a provider; the model may stand in it.

    Raises:
        UsageError: nothing to send in it, or it speaks another provider's format.
    """
    api = _api(body, provider)
    key = {"responses": "input", "gemini": "contents"}.get(api, "messages")
    if not isinstance(body.get(key), (list, str)):
        other = next((k for k in ("messages", "input", "contents") if k in body), None)
        hint = f"; it has {other}, so it is no request of {provider}" if other not in (None, key) else ""
        raise UsageError(f"{where}: a request of {provider} has {key}, a list of messages{hint}")
    found = evident_formats(body) if wire is None else frozenset((wire,))
    expected = APIS[api][1]
    if found and expected not in found:
        named = sorted(found)[0]
        other = _FORMATS.get(named, named)
        raise UsageError(f"{where}: the body is one of {named}, checked as {provider}; its provider is {other}")
    named_model = body.get("model", body.get("modelId"))
    if named_model is not None and not isinstance(named_model, str):
        raise UsageError(f"{where}: model is {type(named_model).__name__}; a model id is meant")
    return Exchange(provider, api, body, model=named_model or model, stream=body.get("stream") is True)


def _api(body: Mapping[str, Any], provider: Provider) -> Api:
    if provider == "openai":
        return "responses" if "input" in body else "chat"
    if provider == "bedrock":
        return "invoke" if "anthropic_version" in body else "converse"
    return "messages" if provider == "anthropic" else "gemini"


def messages_of(exchange: Exchange) -> Sequence[Any]:
    """The message list of a body, as sent."""
    key = {"responses": "input", "gemini": "contents"}.get(exchange.api, "messages")
    found = exchange.body.get(key)
    return found if isinstance(found, list) else []
