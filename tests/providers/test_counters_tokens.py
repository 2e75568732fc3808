"""Token counts of blocks: what a user's counter is given, and what is estimated all the same."""

from __future__ import annotations

from typing import Any

import pytest
from cache_requests import anthropic, chat, converse, said, text, user

from pytest_cachesafe.providers.blocks.layout import lay_out
from pytest_cachesafe.providers.cache.usage import Tokens
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.tokens import Counter, count
from pytest_cachesafe.usage import UsageError

PIXELS = {"type": "base64", "media_type": "image/png", "data": "a" * 4_000}
TOOL = {"input_schema": {"b": 1, "a": 2}, "name": "f", "description": "d", "cache_control": {"type": "ephemeral"}}


def given(exchange: Exchange) -> list[str]:
    """The texts that a counter is called with."""
    seen: list[str] = []

    def counter(words: str) -> int:
        seen.append(words)
        return len(words)

    counted = Counter(counter)
    for block in lay_out(exchange).blocks:
        assert counted.count(block).exact
    return seen


def test_what_a_counter_is_given() -> None:
    call = {"type": "tool_use", "id": "1", "name": "f", "input": {"b": 1, "a": "ü"}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": [text("one"), text("two")]}
    thinking = {"type": "thinking", "thinking": "hm", "signature": "long signature"}
    exchange = anthropic([user("q"), said(thinking, text("so"), call), user(result)], tools=[TOOL], system="s")
    assert given(exchange) == [
        '{"name":"f","description":"d","input_schema":{"b":1,"a":2}}', "s", "q", "hm", "so", 'f\n{"b":1,"a":"ü"}',
        "one\ntwo",
    ]  # fmt: skip
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
    assert given(chat([user("q"), {"role": "assistant", "content": None, "tool_calls": calls}])) == ["q", 'f\n{"a": 1}']
    block = {"toolResult": {"toolUseId": "1", "content": [{"json": {"a": 1}}, {"text": "t"}]}}
    assert given(converse([{"role": "user", "content": [block]}])) == ['{"a":1}\nt']


def test_equal_blocks_are_counted_once() -> None:
    calls: list[str] = []

    def counter(words: str) -> int:
        calls.append(words)
        return 1

    counted = Counter(counter)
    for _ in range(3):
        for block in lay_out(anthropic([user("same"), user("same"), user("else")])).blocks:
            counted.count(block)
    assert sorted(calls) == ["else", "same"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": PIXELS},
        {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "image", "source": PIXELS}]},
        {"type": "document", "source": {**PIXELS, "media_type": "application/pdf"}},
        {"type": "document", "source": {"type": "file", "file_id": "f"}},
    ],
)
def test_media_are_estimates_even_with_a_counter(block: dict[str, Any]) -> None:
    tokens = count(lay_out(anthropic([user(block)])).blocks[0], len)
    assert not tokens.exact
    assert 0 < tokens.low < tokens.best < tokens.high


def test_a_document_of_text_is_text() -> None:
    block = {"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}
    # "words", a line break, and the title.
    assert count(lay_out(anthropic([user(block)])).blocks[0], len) == Tokens.exactly(7)


def test_without_a_counter_there_is_a_band() -> None:
    block = lay_out(anthropic([user("The quick brown fox jumps over the lazy dog. " * 20)])).blocks[0]
    tokens = count(block)
    # 180 words and 20 full stops: about 200 tokens in every tokenizer.
    assert tokens.low <= 200 <= tokens.high
    assert tokens.at_least(10_000) is False
    assert tokens.at_least(10) is True
    assert tokens.at_least(tokens.best) is None


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (None, "None for a text of 1 characters; a number of tokens is meant, 0 or more"),
        (-1, "-1 for a text of 1 characters; a number of tokens is meant, 0 or more"),
        (True, "True for a text of 1 characters; a number of tokens is meant, 0 or more"),
        ("3", "str of 1 for a text of 1 characters; a number of tokens is meant, 0 or more"),
        (2.0, "2.0 for a text of 1 characters; a whole number is meant"),
        ([7] * 5000, "list of 5,000 for a text of 1 characters; a number is meant: return len(…) of it"),
        ({"input_ids": [1, 2]}, "dict of 1 for a text of 1 characters; a number is meant: return len(…) of it"),
    ],
)
def test_what_is_no_count_is_told_without_the_value(wrong: Any, says: str) -> None:
    block = lay_out(anthropic([user("q")])).blocks[0]
    with pytest.raises(UsageError) as raised:
        count(block, lambda words: wrong)
    assert str(raised.value) == f"count_tokens returned {says}"
