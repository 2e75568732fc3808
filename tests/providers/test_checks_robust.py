"""Whatever stands in a body: a report or one line of a `UsageError`, never a fault of ours."""

from __future__ import annotations

import json
from typing import Any

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
