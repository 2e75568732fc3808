"""Requests of a growing conversation are not read again; the result is the same as if they were."""

from __future__ import annotations

import copy
import json
from typing import Any

from cache_requests import MARK, anthropic, chat, converse, said, text, user
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.providers.blocks.layout import Layouter, lay_out
from pytest_cachesafe.providers.capture.bodies import BodyReader
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.fronts import same_front

WORDS = st.sampled_from(["", "a", "b", "long text"])
VALUES = st.sampled_from([1, True, 1.0, "1", None, {"a": 1, "b": 2}, {"b": 2, "a": 1}, [1], [True]])


@st.composite
def blocks(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["text", "tool_use", "tool_result", "thinking", "image", "odd"]))
    block: dict[str, Any] = {
        "text": lambda: text(draw(WORDS)),
        "tool_use": lambda: {"type": kind, "id": "1", "name": "f", "input": {"x": draw(VALUES)}},
        "tool_result": lambda: {
            "type": kind,
            "tool_use_id": "1",
            "content": draw(st.one_of(WORDS, st.just([text("r")]))),
        },
        "thinking": lambda: {"type": kind, "thinking": draw(WORDS), "signature": "s"},
        "image": lambda: {"type": kind, "source": {"type": "base64", "data": draw(WORDS)}},
        "odd": lambda: {"type": "odd", "value": draw(VALUES)},
    }[kind]()
    if draw(st.booleans()):
        block = dict(reversed(list(block.items())))
    if draw(st.integers(0, 3)) == 0:
        block |= MARK
    return block


MESSAGES = st.lists(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant"]),
        st.one_of(WORDS, st.lists(blocks(), max_size=3)),
    ),
    max_size=5,
)
TOOLS = st.lists(st.builds(lambda v: {"name": "f", "input_schema": {"type": v}}, VALUES), max_size=2)


@st.composite
def requests(draw: st.DrawFn) -> list[Exchange]:
    """Requests that share much, with edits anywhere: values that `==` takes for equal among them."""
    out = []
    messages = draw(MESSAGES)
    for _ in range(draw(st.integers(2, 5))):
        messages = copy.deepcopy(messages) if draw(st.booleans()) else list(messages)
        edit = draw(st.sampled_from(["append", "drop", "front", "replace", "mark", "nothing"]))
        if edit == "append":
            messages += draw(MESSAGES)
        elif edit == "drop" and messages:
            del messages[draw(st.integers(0, len(messages) - 1))]
        elif edit == "front":
            messages = draw(MESSAGES) + messages
        elif edit == "replace" and messages:
            messages[draw(st.integers(0, len(messages) - 1))] = user(draw(blocks()))
        elif edit == "mark" and messages:
            messages[-1] = user(text("x", **MARK))
        extra = draw(st.sampled_from([{}, {"system": "s"}, {"system": [text("s", **MARK)]}, MARK]))
        out.append(anthropic(messages, tools=draw(TOOLS), **extra))
    return out


@given(requests())
@settings(deadline=None, max_examples=200)
def test_incremental_is_always_the_same_as_fresh(exchanges: list[Exchange]) -> None:
    layouter = Layouter()
    for exchange in exchanges:
        wire = Exchange(exchange.provider, exchange.api, json.loads(json.dumps(exchange.body)))
        assert layouter.lay_out(wire) == lay_out(wire)


@given(requests(), st.booleans())
@settings(deadline=None, max_examples=150)
def test_what_a_reader_says_is_shared_never_changes_a_layout(exchanges: list[Exchange], automatic: bool) -> None:
    """The way of a capture: bodies share their objects, and who read them says how many."""
    layouter, reader, before = Layouter(), BodyReader(), []
    for exchange in exchanges:
        body = {**exchange.body, **(MARK if automatic else {})}
        wire = Exchange(exchange.provider, exchange.api, reader.load(json.dumps(body).encode()))
        layout = layouter.lay_out(wire, reader.fronts)
        assert layout == lay_out(wire)
        if layout.front is not None:
            assert layout.front.now is layout.blocks
            assert same_front(layout.front.earlier, layout.blocks) >= layout.front.shared
        before.append((wire, layout))
    for wire, layout in before:
        assert layout == lay_out(wire)


@given(requests(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=50)
def test_interleaved_conversations_of_all_formats_are_the_same_as_fresh(exchanges: list[Exchange], random: Any) -> None:
    others = [
        converse([{"role": "user", "content": [{"text": "q"}, {"cachePoint": {"type": "default"}}]}]),
        converse([{"role": "user", "content": [{"text": "q"}, {"text": "r"}]}], system=[{"text": "s"}]),
        chat([{"role": "system", "content": "s"}, user("q")]),
        chat([user("q"), {"role": "assistant", "content": "a"}], prompt_cache_options={"ttl": "12h"}),
    ]
    layouter, mixed = Layouter(), [*exchanges, *others]
    random.shuffle(mixed)
    for exchange in mixed:
        assert layouter.lay_out(exchange) == lay_out(exchange)


def growing(turns: int) -> list[Exchange]:
    """Each request as parsed from the wire, with the marker on its newest message."""
    out, messages = [], []
    for n in range(turns):
        messages.append(user(text(f"question {n}")))
        newest = {**messages[-1], "content": [text(f"question {n}", **MARK)]}
        out.append(anthropic(json.loads(json.dumps([*messages[:-1], newest])), system="s"))
        messages.append(said(text("so"), {"type": "tool_use", "id": f"c{n}", "name": "f", "input": {"n": n}}))
        messages.append(user({"type": "tool_result", "tool_use_id": f"c{n}", "content": "r"}))
    return out


def test_only_new_blocks_and_the_one_the_marker_left_are_made() -> None:
    layouter = Layouter()
    before: list[Any] = []
    for n, exchange in enumerate(growing(12)):
        blocks_now = layouter.lay_out(exchange).blocks
        fresh = [i for i, block in enumerate(blocks_now) if i >= len(before) or block is not before[i]]
        # A turn adds text, call, result and the next question; the question before lost its marker.
        assert len(fresh) == (2 if n == 0 else 5)
        before = blocks_now


def test_a_sub_agent_in_between_costs_nothing() -> None:
    layouter = Layouter()
    chats = growing(6)
    first = layouter.lay_out(chats[4]).blocks
    for n in range(5):
        layouter.lay_out(anthropic([user(f"another agent {n}")], system="t"))
    again = layouter.lay_out(chats[5]).blocks
    assert sum(a is b for a, b in zip(first, again, strict=False)) == len(first) - 1
