"""Reasons in the words that providers publish, and what replies say of them."""

from __future__ import annotations

from typing import Any

import pytest
from cache_requests import MARK, NO_MINIMUM, anthropic, letters, responses, said, text, user

from pytest_cachesafe.providers.cache.diagnostics import diagnostics
from pytest_cachesafe.providers.cache.simulate import ProviderCache
from pytest_cachesafe.providers.exchange import Exchange

TOOL = {"name": "find", "input_schema": {"type": "object"}}
START: dict[str, Any] = {"tools": [TOOL], "system": "rules"}
HISTORY = [user("q"), said("a"), user("more")]


@pytest.mark.parametrize(
    ("change", "messages", "reason"),
    [
        ({}, HISTORY, None),
        ({}, [*HISTORY, said("b"), user("and")], None),
        ({}, [user(text("q")), said(text("a")), user(text("more", **MARK))], None),
        ({"model": "claude-opus-5"}, HISTORY, "model_changed"),
        ({"speed": "fast"}, HISTORY, "model_changed"),
        ({"tools": [{**TOOL, "description": "d"}]}, HISTORY, "tools_changed"),
        ({"tools": []}, HISTORY, "tools_changed"),
        ({"system": "rulez"}, HISTORY, "system_changed"),
        ({"system": "rulez", "tools": []}, HISTORY, "tools_changed"),
        ({}, [user("q"), said("A"), user("more")], "messages_changed"),
        ({"tool_choice": {"type": "any"}}, HISTORY, "unavailable"),
        ({"thinking": {"type": "adaptive"}}, HISTORY, "unavailable"),
        ({"output_config": {"effort": "low"}}, HISTORY, "unavailable"),
        ({"temperature": 0}, HISTORY, None),
    ],
)
def test_anthropic_reasons(change: dict[str, Any], messages: list[Any], reason: str | None) -> None:
    provider = ProviderCache(NO_MINIMUM, letters)
    provider.request(anthropic(HISTORY, **START))
    assert provider.request(anthropic(messages, **{**START, **change})).miss == reason


def test_another_conversation_is_not_compared() -> None:
    provider = ProviderCache(NO_MINIMUM, letters)
    provider.request(anthropic(HISTORY, **START))
    assert provider.request(anthropic([user("sub-agent")], system="other")).miss is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"model": "gpt-6.1-sol"}, "model_changed"),
        ({"prompt_cache_key": "b"}, "prompt_cache_key_changed"),
        ({"tools": [{"type": "function", "name": "f"}]}, "tools_changed"),
        ({"text": {"format": {"type": "json_object"}}}, "text_format_changed"),
        ({"reasoning": {"effort": "low"}}, "reasoning_effort_changed"),
        ({"text": {"verbosity": "low"}}, "verbosity_changed"),
        ({"service_tier": "flex"}, "service_tier_changed"),
        ({"input": [{"role": "user", "content": "q"}, {"role": "user", "content": "else"}]}, "input_changed"),
        ({"input": [{"role": "user", "content": "q"}, {"type": "compaction", "encrypted_content": "x"}]},
         "context_compacted"),
    ],
)  # fmt: skip
def test_openai_reasons(change: dict[str, Any], reason: str | None) -> None:
    items = [{"role": "user", "content": "q"}, {"role": "user", "content": "more"}]
    provider = ProviderCache({}, letters)
    provider.request(responses(items))
    given = change.pop("input", items)
    assert provider.request(responses(given, **change)).miss == reason


def replied(exchange: Exchange, name: str) -> Exchange:
    exchange.reply, exchange.status = {"id": name}, 200
    return exchange


def test_anthropic_replies_carry_the_reason_when_asked() -> None:
    validate = pytest.importorskip("anthropic.types", reason="checks against the anthropic SDK's types").Diagnostics
    provider = ProviderCache(NO_MINIMUM, letters)
    first = anthropic(HISTORY, system="rules", diagnostics={"previous_message_id": None})
    assert diagnostics(provider.request(first), first) is None
    replied(first, "msg_1")
    # The first message differs too: found by its id all the same.
    second = anthropic([user("Q")], system="rulez", diagnostics={"previous_message_id": "msg_1"})
    found = diagnostics(provider.request(second), second)
    # Everything behind the difference: 5 of "rulez", 1 of "Q".
    assert found == {"cache_miss_reason": {"type": "system_changed", "cache_missed_input_tokens": 6}}
    assert validate.model_validate(found).cache_miss_reason.type == "system_changed"
    third = anthropic(HISTORY, system="rules", diagnostics={"previous_message_id": "msg_9"})
    assert diagnostics(provider.request(third), third) == {"cache_miss_reason": {"type": "previous_message_not_found"}}
    unasked = anthropic(HISTORY, system="else")
    assert diagnostics(provider.request(unasked), unasked) is None


def test_openai_replies_carry_the_reason_when_asked() -> None:
    types = pytest.importorskip("openai.types.responses", reason="checks against the openai SDK's types")
    pydantic = pytest.importorskip("pydantic", reason="checks against the openai SDK's types")
    adapter = pydantic.TypeAdapter(types.response.PromptCacheDiagnostics)
    provider = ProviderCache({}, letters)
    first = responses("question")
    provider.request(first)
    replied(first, "resp_1")
    asked = {"prompt_cache_options": {"comparison_response_id": "resp_1"}}
    again = responses("question", **asked)
    changed = responses("quiet", **asked)
    for exchange, kind in ((again, "cache_hit"), (changed, "cache_miss")):
        found = diagnostics(provider.request(exchange), exchange)
        assert adapter.validate_python(found).type == kind
    assert found == {
        "type": "cache_miss", "reason": "input_changed", "cache_missed_tokens": 5, "comparison_reusable_tokens": 0,
    }  # fmt: skip
    lost = responses("q", prompt_cache_options={"comparison_response_id": "resp_9"})
    assert diagnostics(provider.request(lost), lost) == {"type": "comparison_response_not_found"}
