"""Files in which repeated values stand once: the same requests come back, whatever stands in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe.providers.capture.readers import parse_exchanges, read_exchanges
from pytest_cachesafe.providers.capture.storage import exchange_lines, write_exchanges
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.usage import UsageError


def exchange(body: dict[str, Any]) -> Exchange:
    return Exchange("anthropic", "messages", body, model="m")


def both(bodies: list[dict[str, Any]]) -> list[Exchange]:
    return parse_exchanges("\n".join(exchange_lines(map(exchange, bodies), compact=True)))


def test_a_growing_conversation_is_kept_once(tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = []
    sent = []
    for turn in range(60):
        text = {"type": "text", "text": f"turn {turn} " + "x" * 400}
        messages.append({"role": "user" if turn % 2 == 0 else "assistant", "content": [text]})
        # The marker moves to the newest turn, as frameworks do.
        last = {"role": messages[-1]["role"], "content": [{**text, "cache_control": {"type": "ephemeral"}}]}
        body = {
            "model": "m",
            "system": "rules " * 200,
            "tools": [{"name": "t" * 300}],
            "messages": [*messages[:-1], last],
        }
        sent.append(exchange(body))
    plain, compact = tmp_path / "plain.jsonl", tmp_path / "compact.jsonl"
    assert write_exchanges(plain, sent) == 60
    assert write_exchanges(compact, sent, compact=True) == 60
    assert read_exchanges(compact) == read_exchanges(plain) == sent
    # 60 x 61 / 2 = 1,830 messages in the plain file; each of the 60 twice (with and without marker) in the other.
    assert compact.stat().st_size * 8 < plain.stat().st_size
    assert compact.read_text().count("turn 7 x") == 2
    assert compact.stat().st_mode & 0o777 == 0o600


LEAVES = st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
BIG = st.sampled_from(["y" * 300, "z" * 300])
BLOCKS = st.recursive(
    LEAVES | BIG,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["$", "content", "parts", "id", "value", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
BODIES = st.fixed_dictionaries(
    {"messages": st.lists(BLOCKS, max_size=4)}, optional={"system": BLOCKS, "tools": st.lists(BLOCKS, max_size=2)}
)


@settings(deadline=None, max_examples=tries(300))
@given(st.lists(BODIES, min_size=1, max_size=4))
def test_every_body_comes_back_even_where_it_looks_like_a_reference(bodies: list[dict[str, Any]]) -> None:
    assert [json.dumps(e.body) for e in both(bodies)] == [json.dumps(body) for body in bodies]


def test_key_order_and_number_types_are_not_taken_for_equal() -> None:
    pad = "x" * 300
    bodies = [{"messages": [{"a": 1, "b": pad}, {"b": pad, "a": 1}, {"a": 1.0, "b": pad}, {"a": True, "b": pad}]}]
    assert [json.dumps(e.body) for e in both(bodies)] == [json.dumps(body) for body in bodies]


def test_texts_are_hidden_in_it_as_well() -> None:
    lines = "\n".join(exchange_lines([exchange({"messages": [{"content": "secret " * 100}]})], "hash", compact=True))
    assert "secret" not in lines


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('{"cachesafe":"compact","schema":1}', "requests: no requests in it"),
        ('{"cachesafe":"compact","schema":2}\n{}', "requests: written by a newer version (schema 2); update this one"),
        (
            '{"cachesafe":"compact","schema":1}\n{"api":"messages","body":{"messages":[{"$":3}]}}',
            "requests: line 2 refers to value 3, which no line before it gives",
        ),
    ],
)
def test_broken_files_are_told(lines: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_exchanges(lines)
    assert words in str(caught.value)
