"""Scripted answers in each provider's own form: one JSON body, or the events of its stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_cachesafe.providers.capture.replies.ids import Ids
from pytest_cachesafe.providers.capture.replies.rendered import Rendered
from pytest_cachesafe.providers.capture.reply import Failure, Reply
from pytest_cachesafe.providers.exchange import Exchange

__all__ = ["Ids", "Rendered", "render"]


def render(exchange: Exchange, reply: Reply | Failure, counters: Mapping[str, Any], ids: Ids) -> Rendered:
    """An answer to one request, as its provider would send it: streamed if the request asks for a stream.

    Args:
        exchange: the request; its `api`, `stream`, `model` and body decide the form.
        reply: what the test scripted.
        counters: the provider's own usage object, as in a whole (not streamed) reply, without output tokens.
        ids: counts up the ids of replies, items and calls.
    """
    if isinstance(reply, Failure):
        from pytest_cachesafe.providers.capture.replies.failures import failure

        return failure(exchange, reply, ids)
    if exchange.api == "messages":
        from pytest_cachesafe.providers.capture.replies.anthropic import answer
    elif exchange.api == "chat":
        from pytest_cachesafe.providers.capture.replies.openai_chat import answer
    elif exchange.api == "responses":
        from pytest_cachesafe.providers.capture.replies.openai_responses import answer
    elif exchange.api == "gemini":
        from pytest_cachesafe.providers.capture.replies.gemini import answer
    elif exchange.api == "converse":
        from pytest_cachesafe.providers.capture.replies.converse import answer
    else:
        from pytest_cachesafe.providers.capture.replies.invoke import answer
    return answer(exchange, reply, counters, ids)
