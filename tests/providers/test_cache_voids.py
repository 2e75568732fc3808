"""What a change leaves readable at Anthropic, level by level; and thinking, which some models lose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cache_requests import MARK, NO_MINIMUM, anthropic, letters, said, text, user

from pytest_cachesafe.providers.cache.simulate import ProviderCache
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.rules.load import Rules, load_rules

TOOL = {"name": "find", "input_schema": {"type": "object"}}
CITED = {"type": "document", "source": {"type": "text", "data": "d"}, "citations": {"enabled": True}}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}}
RULES = [text("rules", **MARK)]
LEVELS = {"tools": len('{"name":"find","input_schema":{"type":"object"}}')}
LEVELS["system"] = LEVELS["tools"] + len("rules")
LEVELS["messages"] = LEVELS["system"] + 1


def cache() -> ProviderCache:
    """Counts letters; nothing is too short."""
    return ProviderCache(NO_MINIMUM, letters)


def marked_at_each_level(body: dict[str, Any]) -> Exchange:
    content = body.pop("content", [text("q", **MARK)])
    return anthropic([user(*content)], **{"tools": [{**TOOL, **MARK}], "system": RULES, **body})


@pytest.mark.parametrize(
    ("change", "valid"),
    [
        ({}, "messages"),
        ({"tools": [{**TOOL, "description": "x", **MARK}]}, None),
        ({"tools": [{**TOOL, **MARK}, {"name": "more", "input_schema": {}}]}, "tools"),
        ({"system": [text("rulez", **MARK)]}, "tools"),
        ({"speed": "fast"}, "tools"),
        ({"tool_choice": {"type": "any"}}, "system"),
        ({"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, "system"),
        ({"content": [text("q", **MARK), IMAGE]}, "system"),
        ({"content": [text("q", **MARK), CITED]}, "tools"),
        ({"thinking": {"type": "adaptive"}}, None),
        ({"output_config": {"effort": "low"}}, None),
        ({"content": [text("Q", **MARK)]}, "system"),
        # What is no change.
        ({"thinking": {"type": "disabled"}}, "messages"),
        ({"output_config": {"effort": "high"}}, "messages"),
        ({"tool_choice": {"type": "auto"}}, "messages"),
        ({"speed": "standard"}, "messages"),
        ({"temperature": 0.2, "max_tokens": 0, "metadata": {"user_id": "u"}}, "messages"),
        ({"content": [text("q", **MARK), text("more")]}, "messages"),
    ],
)  # fmt: skip
def test_what_a_change_leaves_readable(change: dict[str, Any], valid: str | None) -> None:
    provider = cache()
    # Markers everywhere, so that what remains of each level shows.
    assert provider.request(marked_at_each_level({})).usage.read == 0
    assert provider.request(marked_at_each_level(dict(change))).usage.read == (LEVELS[valid] if valid else 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"thinking": {"type": "adaptive"}}, True),
        ({"output_config": {"effort": "low"}}, True),
        ({"speed": "fast"}, False),
    ],
)
def test_what_depends_on_the_model_is_said(change: dict[str, Any], said: bool) -> None:
    provider = cache()
    provider.request(marked_at_each_level({}))
    for _ in range(2):
        found = provider.request(marked_at_each_level(dict(change)))
        assert any("is not published" in words for words in found.unsure) is said
        # The next one has nothing new.
        said = False


def test_web_search_behind_other_tools_leaves_them() -> None:
    provider = cache()
    search = {"type": "web_search_20260318", "name": "web_search"}
    provider.request(marked_at_each_level({}))
    assert provider.request(marked_at_each_level({"tools": [{**TOOL, **MARK}, search]})).usage.read == LEVELS["tools"]


def test_a_user_rule_decides_what_is_void() -> None:
    # The shipped table says "model"; a table of the user's could say that tools and system stay.
    shipped = load_rules(NO_MINIMUM)
    rows = tuple(
        replace(row, tools="valid", system="valid") if row.change == "thinking" else row
        for row in shipped.provider("anthropic").voids
    )
    rules = Rules({**shipped.providers, "anthropic": replace(shipped.provider("anthropic"), voids=rows)})
    provider = ProviderCache(rules, letters)
    provider.request(marked_at_each_level({}))
    found = provider.request(marked_at_each_level({"thinking": {"type": "adaptive"}}))
    assert found.usage.read == LEVELS["system"]


def test_a_deferred_tool_that_appears_leaves_the_prefix() -> None:
    provider = cache()
    late = {"name": "late", "input_schema": {}, "defer_loading": True}
    provider.request(marked_at_each_level({}))
    assert provider.request(marked_at_each_level({"tools": [{**TOOL, **MARK}, late]})).usage.read == LEVELS["messages"]


def test_an_appended_system_message_leaves_the_prefix() -> None:
    provider = cache()
    provider.request(anthropic([user(text("q", **MARK))]))
    found = provider.request(anthropic([user("q"), {"role": "system", "content": [text("new", **MARK)]}]))
    assert (found.usage.write, found.usage.read) == (3, 1)


# Thinking.


def thought(then: list[Any], model: str) -> list[Exchange]:
    thinking = {"type": "thinking", "thinking": "hmm", "signature": "s"}
    call = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": "r"}
    start = [user("q"), said(thinking, call)]
    # In both requests the marker is on the last block.
    return [
        anthropic([*start, user({**result, **MARK})], model=model),
        anthropic([*start, user(result, *then)], model=model),
    ]


RULES_OF_TWO = {"anthropic": {"models": {m: {"minimum": 0} for m in ("claude-opus-4-8", "claude-haiku-4-5")}}}


@pytest.mark.parametrize(("model", "read"), [("claude-opus-4-8", True), ("claude-haiku-4-5", False)])
def test_models_that_do_not_keep_thinking_lose_it_when_the_user_speaks(model: str, read: bool) -> None:
    provider = ProviderCache(RULES_OF_TWO, letters)
    first, second = thought([text("and now?", **MARK)], model)
    whole = provider.request(first).usage.total
    found = provider.request(second).usage
    assert (found.read > 0) is read
    # What is stripped is not counted either: "hmm" is 3.
    assert found.total == whole + len("and now?") - (0 if read else 3)


def test_a_tool_result_alone_keeps_the_thinking() -> None:
    provider = ProviderCache(RULES_OF_TWO, letters)
    first, second = thought([{"type": "tool_result", "tool_use_id": "2", "content": "s", **MARK}], "claude-haiku-4-5")
    whole = provider.request(first).usage.total
    assert provider.request(second).usage.read == whole
