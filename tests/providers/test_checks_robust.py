"""Whatever stands in a body: a report or one line of a `UsageError`, never a fault of ours."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tries import tries

from pytest_cachesafe import UsageError
from pytest_cachesafe.providers.checks.result import CacheReport
from tests.support.wire_requests import check

SCALARS: Any = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["", "x", "1h", "5m", "auto"]))
MARKERS = st.one_of(SCALARS, st.fixed_dictionaries({"type": SCALARS}, optional={"ttl": SCALARS}))
KEYS = st.sampled_from(
    [
        *("type", "text", "content", "role", "name", "input", "id", "tool_use_id", "thinking", "citations", "source"),
        *("cache_control", "cachePoint", "prompt_cache_breakpoint", "toolResult", "toolUse", "tool_calls", "function"),
        *("enabled", "ttl", "configs", "parts", "arguments", "call_id", "output"),
    ]
)
KINDS = st.sampled_from(["text", "tool_use", "tool_result", "thinking", "image", "document", "function_call", "odd"])
VALUES: Any = st.recursive(
    st.one_of(SCALARS, MARKERS, KINDS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(KEYS, inner, max_size=4),
        st.tuples(KINDS, st.dictionaries(KEYS, inner, max_size=3)).map(lambda pair: {"type": pair[0], **pair[1]}),
    ),
    max_leaves=8,
)
BLOCKS = st.one_of(
    VALUES,
    st.fixed_dictionaries({"type": KINDS}, optional={"text": SCALARS, "cache_control": MARKERS, "content": VALUES}),
    st.fixed_dictionaries({"cachePoint": MARKERS}),
)
ROLED = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "tool", "odd"])},
    optional={
        "content": st.one_of(st.sampled_from(["a", "b", ""]), st.lists(BLOCKS, max_size=4), SCALARS),
        "parts": st.lists(BLOCKS, max_size=3),
        "cache_control": MARKERS,
        "additional_kwargs": VALUES,
        "tool_calls": VALUES,
    },
)
TOP = [
    *("system", "tools", "thinking", "output_config", "tool_choice", "cache_control", "speed", "max_tokens", "stream"),
    *("instructions", "reasoning", "text", "prompt_cache_key", "prompt_cache_options", "toolConfig", "model"),
    *("additionalModelRequestFields", "systemInstruction", "cachedContent", "previous_response_id", "service_tier"),
]


LISTS = {"anthropic": "messages", "openai": "messages", "bedrock": "messages", "gemini": "contents"}


@st.composite
def requests_of(draw: st.DrawFn) -> tuple[str, list[dict[str, Any]]]:
    provider = draw(st.sampled_from(sorted(LISTS)))
    key = draw(st.sampled_from([LISTS[provider]] * 5 + ["messages", "input", "contents"]))
    bodies = []
    for _ in range(draw(st.integers(1, 3))):
        body: dict[str, Any] = draw(st.dictionaries(st.sampled_from(TOP), VALUES, max_size=4))
        body[key] = draw(st.one_of([st.lists(ROLED, min_size=1, max_size=4)] * 4 + [VALUES]))
        bodies.append(body)
    return provider, bodies


def outcome(requests: list[dict[str, Any]], provider: str) -> CacheReport | str:
    try:
        return check(requests, provider)
    except UsageError as error:
        return str(error)


@given(requests_of())
@settings(deadline=None, max_examples=tries(150))
def test_any_body_gives_a_report_or_one_line(given_: tuple[str, list[dict[str, Any]]]) -> None:
    provider, requests = given_
    report = outcome(requests, provider)
    event("refused" if isinstance(report, str) else "report")
    if isinstance(report, str):
        assert report
        assert "\n" not in report
        return
    json.dumps(report.as_dict())
    assert report.text(2)
    assert len(report.requests) == len(requests)
    for verdict in report.requests:
        usage = verdict.usage
        assert usage is None or usage.total == usage.read + usage.write + usage.uncached


BODY = {"model": "claude-opus-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}


@pytest.mark.parametrize("argument", ["name", "model"])
def test_a_name_that_is_no_text_is_one_line(argument: str) -> None:
    from pytest_cachesafe.providers.checks.check import check_requests

    with pytest.raises(UsageError, match=f"^{argument}=5 is int; text is meant$"):
        check_requests([BODY], **{argument: 5})  # type: ignore[arg-type]


def test_what_is_no_chat_is_not_recorded() -> None:
    from pytest_cachesafe import Recording

    recording = Recording()
    with pytest.raises(
        UsageError, match=r"^add\(\) got dict; a Chat is meant: note messages or a body with rec.request"
    ):
        recording.add(BODY)  # type: ignore[arg-type]
    assert len(recording) == 0


@pytest.mark.parametrize(
    ("usage", "wrong"),
    [
        ({"input_tokens": "x", "cache_read_input_tokens": 100}, "input_tokens is 'x', and a count is meant"),
        ({"input_tokens": -4}, "input_tokens is -4, and a count is meant"),
        ({"input_tokens": True}, "input_tokens is True, and a count is meant"),
        ({"input_tokens": float("nan")}, "input_tokens is nan, and a count is meant"),
        ({"input_tokens": [3]}, "input_tokens is list, and a count is meant"),
        ({"cache_creation": {"ephemeral_5m_input_tokens": "many"}}, "ephemeral_5m_input_tokens is 'many', and a co"),
        (7, "it is int, and an object is meant"),
    ],
)
def test_a_recorded_usage_that_is_none_is_told_and_left_out(usage: Any, wrong: str) -> None:
    from pytest_cachesafe.providers.checks.check import check_requests
    from pytest_cachesafe.providers.exchange import Exchange

    def judged(recorded: Any) -> CacheReport:
        return check_requests([Exchange("anthropic", "messages", BODY, model="claude-opus-5", usage=recorded)])

    report = judged(usage)
    assert any(note.startswith(f"request 0: its recorded usage is left out: {wrong}") for note in report.notes)
    assert report.requests == judged(None).requests
    fine = {"input_tokens": 5, "output_tokens": None, "service_tier": "standard", "cache_creation": None}
    assert not any("recorded usage" in note for note in judged(fine).notes)
