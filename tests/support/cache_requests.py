"""Small requests for the tests of blocks and simulated caches; a token is a character where `letters` counts."""

from __future__ import annotations

from typing import Any

from pytest_cachesafe.providers.exchange import Exchange

MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
# Rules in which everything is long enough, so that tests can be short.
NO_MINIMUM = {
    provider: {"models": {model: {"minimum": 0}}}
    for provider, model in (("anthropic", "claude-opus-5-5"), ("bedrock", "anthropic.claude-opus-5-5"))
}


def letters(text: str) -> int:
    """A token a character."""
    return len(text)


def text(words: str, **more: Any) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words, **more}


def user(*content: Any) -> dict[str, Any]:
    """A user message; one string is given as it is."""
    return {
        "role": "user",
        "content": content[0] if len(content) == 1 and isinstance(content[0], str) else list(content),
    }


def said(*content: Any) -> dict[str, Any]:
    """An assistant message."""
    return {**user(*content), "role": "assistant"}


def anthropic(messages: Any, *, at: float | None = None, model: str = "claude-opus-5-5", **body: Any) -> Exchange:
    """A request of the Messages API."""
    body = {"model": model, "max_tokens": 1, "messages": messages, **body}
    return Exchange("anthropic", "messages", body, model=model, sent_at=at)


def converse(
    messages: Any, *, at: float | None = None, model: str = "anthropic.claude-opus-5-5", **body: Any
) -> Exchange:
    """A request of Bedrock's Converse API."""
    return Exchange("bedrock", "converse", {"messages": messages, **body}, model=model, sent_at=at)


def chat(messages: Any, *, at: float | None = None, model: str = "gpt-6-sol", **body: Any) -> Exchange:
    """A request of Chat Completions."""
    return Exchange("openai", "chat", {"model": model, "messages": messages, **body}, model=model, sent_at=at)


def responses(given: Any, *, at: float | None = None, model: str = "gpt-6-sol", **body: Any) -> Exchange:
    """A request of the Responses API."""
    return Exchange("openai", "responses", {"model": model, "input": given, **body}, model=model, sent_at=at)


def gemini(contents: Any, *, at: float | None = None, model: str = "gemini-2.5-pro", **body: Any) -> Exchange:
    """A generateContent request."""
    return Exchange("gemini", "gemini", {"contents": contents, **body}, model=model, sent_at=at)
