"""What a user hands over as requests: bodies, exchanges, chats, a recording; each becomes an exchange with its chat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_cachesafe import prompt
from pytest_cachesafe.prompt import Chat
from pytest_cachesafe.providers.blocks.block import Layout
from pytest_cachesafe.providers.checks.hard import HardError
from pytest_cachesafe.providers.checks.markers import Placed
from pytest_cachesafe.providers.exchange import APIS, Exchange
from pytest_cachesafe.usage import UsageError

__all__ = ["Asked", "exchanges_of", "messages_of"]

# Formats of chats that are one provider's own.
_PROVIDERS = {wire: provider for provider, wire in APIS.values() if (provider, wire) != ("bedrock", "anthropic")}


@dataclass(slots=True)
class Asked:
    """One request under check."""

    index: int
    exchange: Exchange
    layout: Layout
    # Every marker as serialised, and why the provider refuses the request.
    placed: Sequence[Placed] = ()
    refused: Sequence[HardError] = ()
    # The request with its whole history; None if its provider refuses it in a form that cannot be compared.
    chat: Chat | None = None
    parent: int | None = None
    conversation: int = 0
    # It opens a chat as another one of its application does, with a system text of its own that chats keep.
    parted: bool = False

    @property
    def failed(self) -> bool:
        """Whether the provider did not answer it."""
        return self.exchange.status is not None and self.exchange.status >= 400

    @property
    def answered(self) -> bool:
        """Whether the provider took the request and answered it, as far as is known."""
        return not self.failed and not self.refused

    def shows(self, what: str) -> bool:
        """Whether its source shows its "markers", "settings", "texts": nothing is concluded from what is not shown."""
        return what not in self.exchange.omits


def exchanges_of(requests: Any, provider: str, model: str | None) -> list[tuple[Exchange, Chat | None]]:
    """The requests as exchanges, in order, each with its chat where that was given.

    Raises:
        UsageError: none, not requests, an unknown provider, or a body of another provider (with its number).
    """
    if isinstance(requests, prompt.Recording):
        items: list[Any] = _recorded(requests)
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
    return [
        (_exchange(item, f"request {i}", provider, model), item if isinstance(item, Chat) else None)
        for i, item in enumerate(items)
    ]


def _recorded(recording: prompt.Recording) -> list[Any]:
    """Everything in a recording; what was caught and is no chat (the provider would refuse it) as well."""
    chats = list(recording)
    caught: list[Exchange] = getattr(recording, "exchanges", [])
    by_exchange = {id(chat.exchange): chat for chat in chats if chat.exchange is not None}
    if len(by_exchange) < len(chats):
        # Requests noted by hand stand among them: their order is known, that of what is no chat is not.
        return [*chats, *(e for e in caught if id(e) not in by_exchange)]
    return [by_exchange.get(id(exchange), exchange) for exchange in caught] if caught else list(chats)


def _exchange(item: Any, where: str, provider: str, model: str | None) -> Exchange:
    if isinstance(item, Exchange):
        return item
    if isinstance(item, Chat) and isinstance(item.exchange, Exchange):
        return item.exchange
    from pytest_cachesafe.providers.capture.readers.lines import exchange_of_line

    if not isinstance(item, Chat):
        return exchange_of_line(item, where, provider, model)
    if item.raw is not None:
        raise UsageError(f"{where} is a rendered prompt; providers get message lists")
    if item.body is None:
        given: Mapping[str, Any] = {"messages": item.messages} | ({"tools": item.tools} if item.tools else {})
        return exchange_of_line(given, where, provider, item.model or model)
    return exchange_of_line(item.body, where, _PROVIDERS.get(item.wire, provider), item.model or model)


def messages_of(exchange: Exchange) -> Sequence[Any]:
    """The message list of a body, as sent."""
    key = {"responses": "input", "gemini": "contents"}.get(exchange.api, "messages")
    found = exchange.body.get(key)
    return found if isinstance(found, list) else []
