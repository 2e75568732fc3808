"""History that OpenAI holds for the caller: a request with `previous_response_id` sends its new items only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_cachesafe.messages.openai_responses import served_history
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["Held"]


class Held:
    """Puts the history back in front, as far as its requests were seen."""

    def __init__(self) -> None:
        # Items by the id under which a later request asks for them.
        self._items: dict[str, list[Any]] = {}
        # Requests whose reply was not there yet: (exchange, all its items, id of its conversation).
        self._open: list[tuple[Exchange, list[Any], str | None]] = []

    def whole(self, exchange: Exchange) -> tuple[Exchange, bool]:
        """The request with all its input, and whether everything the provider holds for it was seen."""
        if exchange.api != "responses":
            return exchange, True
        self._collect()
        body = exchange.body
        field = served_history(body)
        asked = _id(body[field]) if field is not None else None
        given = body.get("input")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())
        earlier = self._items.get(asked) if asked is not None else None
        known = field is None or earlier is not None
        if earlier is not None:
            items = [*earlier, *items]
            exchange = replace(exchange, body={k: v for k, v in body.items() if k != field} | {"input": items})
        return exchange, known

    def note(self, exchange: Exchange, whole: Exchange) -> None:
        """Remember a request; its reply may come later."""
        if exchange.api != "responses":
            return
        given = whole.body.get("input")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())
        conversation = _id(exchange.body.get("conversation"))
        self._open.append((exchange, items, conversation))

    def _collect(self) -> None:
        waiting = []
        for exchange, items, conversation in self._open:
            reply = exchange.reply
            if reply is None:
                waiting.append((exchange, items, conversation))
                continue
            said = reply.get("output") if isinstance(reply, Mapping) else None
            whole = [*items, *(said if isinstance(said, list) else ())]
            for name in (reply.get("id") if isinstance(reply, Mapping) else None, conversation):
                if isinstance(name, str):
                    self._items[name] = whole
        # A reply that never came is not waited for for ever.
        self._open = waiting[-64:]


def _id(value: Any) -> str | None:
    if isinstance(value, Mapping):
        value = value.get("id")
    return value if isinstance(value, str) else None
