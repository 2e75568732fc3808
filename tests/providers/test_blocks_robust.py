"""Whatever a body holds, it is laid out or refused in one line."""

from __future__ import annotations

from typing import Any

import pytest
from cache_requests import anthropic, user
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.providers.blocks.layout import Layouter, lay_out
from pytest_cachesafe.providers.cache.simulate import ProviderCache
from pytest_cachesafe.providers.exchange import APIS, Exchange
from pytest_cachesafe.usage import UsageError

NAMES = st.sampled_from(
    [
        *("role", "content", "type", "text", "cache_control", "ttl", "cachePoint", "toolUse", "toolResult", "input"),
        *("tool_calls", "parts", "source", "citations", "enabled", "image", "document", "output", "summary", "name"),
        *("prompt_cache_breakpoint", "mode", "functionCall", "inlineData", "data", "thinking", "item"),
    ]
)
SCALARS = st.one_of(
    st.sampled_from([None, True, False, -1, 0, 1, 1.0, "", "a", "\ud800", "␞␟"]),
    st.sampled_from(["user", "assistant", "tool", "system", "text", "image", "tool_result", "function_call_output"]),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=8,
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", None])},
    optional=dict.fromkeys(("content", "type", "tool_calls", "output"), JSON),
)
MESSAGES = st.lists(st.one_of(MESSAGE, JSON), max_size=3)
FIELDS = (
    *("tools", "system", "instructions", "cache_control", "toolConfig", "systemInstruction", "thinking", "reasoning"),
    *("output_config", "tool_choice", "text", "prompt_cache_options", "response_format", "mcp_servers", "functions"),
    *("config", "diagnostics", "outputConfig", "previous_response_id", "conversation", "prompt_cache_key"),
)
LISTS = {"responses": "input", "gemini": "contents"}


@st.composite
def bodies(draw: st.DrawFn, api: str) -> dict[str, Any]:
    """Messages under the API's name, most of them in its shape, and a few other fields of any kind."""
    names = draw(st.lists(st.sampled_from(FIELDS), max_size=3, unique=True))
    body = {name: draw(JSON) for name in names}
    return {**body, LISTS.get(api, "messages"): draw(st.one_of(MESSAGES, MESSAGES, JSON))}


def followed(provider: ProviderCache, layouter: Layouter, exchange: Exchange) -> str | None:
    """What is wrong with a request, in words; None: nothing, and its numbers add up."""
    try:
        layout = layouter.lay_out(exchange)
        usage = provider.request(exchange).usage
    except UsageError as error:
        return str(error)
    assert layout == lay_out(exchange)
    assert usage.read + usage.write + usage.uncached == usage.total
    return None


@given(st.data(), st.sampled_from(sorted(APIS)))
@settings(deadline=None, max_examples=tries(150))
def test_any_body_is_followed_or_refused_in_one_line(data: st.DataObject, api: Any) -> None:
    provider, layouter = ProviderCache({}), Layouter()
    models = {"anthropic": "claude-haiku-4-5", "openai": "gpt-6-sol", "bedrock": "x", "gemini": "gemini-2.5-pro"}
    for _ in range(2):
        exchange = Exchange(APIS[api][0], api, data.draw(bodies(api)), model=models[APIS[api][0]])
        assert "\n" not in (followed(provider, layouter, exchange) or "")


def test_too_deep_is_refused_in_one_line() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = {"content": [deep]}
    with pytest.raises(UsageError, match="nested too deep"):
        lay_out(anthropic([user(deep)]))


def test_a_large_body_is_no_problem() -> None:
    words = "All work and no play. " * 1_000_000  # 22 MB
    layout = lay_out(anthropic([user(words)]))
    assert len(layout.blocks[0].text) == len(words)
