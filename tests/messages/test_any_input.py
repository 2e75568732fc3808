"""Whatever is given: a chat that every later step can use, or one line that says what is wrong."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from one_agent import BODIES
from tries import tries

from pytest_cachesafe.frontends.wire import WireFrontEnd
from pytest_cachesafe.messages import conversations, growing_requests, interleaved, is_chat_like, to_chat
from pytest_cachesafe.messages.detect import WIRES
from pytest_cachesafe.prompt import Chat, UsageError

names = st.sampled_from(
    [
        *("role", "content", "type", "text", "messages", "input", "contents", "parts", "system", "tools", "prompt"),
        *("tool_calls", "function", "name", "arguments", "output", "functionCall", "functionResponse", "toolUse"),
        *("toolResult", "tool_use_id", "id", "config", "toolConfig", "instructions", "kind", "data", "summary", "json"),
    ]
)
leaves = st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(
    ["", "user", "assistant", "system", "tool", "text", "tool_use", "tool_result", "function_call", "thinking", "model",
     "function_call_output", "reasoning", "message", "human", "request", "response", "x"]
)  # fmt: skip
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4), max_leaves=12
)


def check_use(obj: Any, wire: str | None) -> None:
    is_chat_like(obj)
    try:
        chat = to_chat(obj, wire=wire)
        assert isinstance(chat, Chat)
        assert chat.raw is not None or (chat.messages and len(chat.paths) == len(chat.messages))
        made = WireFrontEnd().prompt(chat)
        assert "".join(made.text[s.start : s.end] for s in made.segments) == made.text
        assert len(conversations([chat, chat])) == 1
        assert interleaved([chat, chat]) is None
        growing_requests(chat)
    except UsageError as error:
        said = str(error)
    else:
        said = ""
    assert "\n" not in said


@settings(derandomize=True, deadline=None, max_examples=tries(200), suppress_health_check=[HealthCheck.too_slow])
@given(anything, st.sampled_from([None, *WIRES]))
def test_any_json(obj: Any, wire: str | None) -> None:
    check_use(obj, wire)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, item in inner for place in places(item, (*at, key)))]


@settings(derandomize=True, deadline=None, max_examples=tries(200))
@given(st.data())
def test_real_bodies_with_one_place_spoilt(data: st.DataObject) -> None:
    body = json.loads(json.dumps(BODIES[data.draw(st.sampled_from(sorted(BODIES)))]))
    place = data.draw(st.sampled_from(places(body)[1:]))
    inner = body
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = data.draw(anything)
    check_use(body, data.draw(st.none() | st.sampled_from(WIRES)))
