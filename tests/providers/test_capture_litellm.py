"""LiteLLM: its own HTTP code for most providers, the OpenAI SDK for OpenAI, aiohttp where it awaits; all is caught."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_cachesafe.providers.capture.session import capture_traffic

_WHY = "tests LiteLLM, which does not go with the other SDKs: pip install litellm boto3 in an environment of its own"
_MARKED = [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]
_MESSAGES = [{"role": "user", "content": _MARKED}]
_MODELS = {
    "anthropic/claude-sonnet-4-6": ("messages", "claude-sonnet-4-6"),
    "openai/gpt-5": ("chat", "gpt-5"),
    "gemini/gemini-2.5-flash": ("gemini", "gemini-2.5-flash"),
    "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0": (
        "converse",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ),
}

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("model", list(_MODELS))
@pytest.mark.parametrize("way", ["whole", "stream", "async"])
def test_a_call_is_caught(model: str, way: str) -> None:
    with capture_traffic(["scripted"]) as rec:
        litellm: Any = pytest.importorskip("litellm", reason=_WHY)
        if way == "async":
            reply = asyncio.run(litellm.acompletion(model=model, messages=_MESSAGES, max_tokens=9))
            said = reply.choices[0].message.content
        elif way == "stream":
            chunks = litellm.completion(model=model, messages=_MESSAGES, max_tokens=9, stream=True)
            said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        else:
            said = litellm.completion(model=model, messages=_MESSAGES, max_tokens=9).choices[0].message.content
    assert said == "scripted"
    (exchange,) = rec.exchanges
    assert (exchange.api, exchange.model) == _MODELS[model]
    assert exchange.stream == (way == "stream")
    assert exchange.line is not None
    assert exchange.line.startswith("tests/providers/test_capture_litellm.py:")


def test_markers_survive_for_some_providers_only() -> None:
    """Kept for Anthropic, a cachePoint for Bedrock, dropped for OpenAI: what `cachesafe` must see is the wire."""
    with capture_traffic() as rec:
        litellm: Any = pytest.importorskip("litellm", reason=_WHY)
        for model in _MODELS:
            litellm.completion(model=model, messages=_MESSAGES, max_tokens=9)
    on_the_wire = {exchange.api: repr(exchange.body) for exchange in rec.exchanges}
    assert "cache_control" in on_the_wire["messages"]
    assert "cachePoint" in on_the_wire["converse"]
    assert "cache_control" not in on_the_wire["chat"]
