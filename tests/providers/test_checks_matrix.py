"""The invalidation table, row by row: one thing flipped between two requests, and what may change freely.

Rows: Claude Platform Docs, "Prompt caching", what invalidates the cache; OpenAI Developers, "Prompt caching", what
breaks the prefix. Read 2026-11-29.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import pytest

from tests.support.wire_requests import (
    LONG,
    MARK,
    anthropic,
    assistant,
    check,
    function,
    marked_last,
    only,
    openai,
    responses,
    text,
    tool,
    user,
)

TOOLS = [tool("alpha"), tool("beta"), tool("gamma")]
ASKED = [user("Where is the manual?")]
GONE_ON = [*ASKED, assistant("On the shelf."), user("Which shelf?")]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A page."}}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
SAID_BY_SYSTEM = {"role": "system", "content": "Answer in Norwegian from here on."}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}


class Flip(NamedTuple):
    """A change of the second request: code, published reason, path; `first` and `second` replace fields."""

    code: str
    reason: str | None
    path: str
    first: dict[str, Any]
    second: dict[str, Any]
    severity: str = "warning"


def _schema_reversed(spec: dict[str, Any]) -> dict[str, Any]:
    return {**spec, "input_schema": dict(reversed(spec["input_schema"].items()))}


ANTHROPIC = [
    Flip("model-changed", "model_changed", "model", {}, {"model": "claude-opus-4-8"}),
    Flip("speed-changed", "model_changed", "speed", {}, {"speed": "fast"}),
    Flip("tools-reordered", "tools_changed", "tools[0]", {}, {"tools": TOOLS[::-1]}, "error"),
    Flip("tools-changed", "tools_changed", "tools[3]", {}, {"tools": [*TOOLS, tool("delta")]}),
    Flip("tools-changed", "tools_changed", "tools[1]", {}, {"tools": [TOOLS[0], TOOLS[2]]}),
    Flip(
        "tool-definition-changed",
        "tools_changed",
        "tools[1]",
        {},
        {"tools": [TOOLS[0], {**TOOLS[1], "description": "Another."}, TOOLS[2]]},
        "error",
    ),
    Flip(
        "schema-key-order",
        "tools_changed",
        "tools[1]",
        {},
        {"tools": [TOOLS[0], _schema_reversed(TOOLS[1]), TOOLS[2]]},
    ),
    Flip("web-search-toggled", "tools_changed", "tools[3]", {}, {"tools": [*TOOLS, SEARCH]}),
    Flip(
        "marker-on-changing-block", "system_changed", "system[0]", {},
        {"system": [text(LONG + "Be brief.", cache_control=MARK)]}, "error",
    ),
    Flip(
        "thinking-changed", "unavailable", "thinking", {"thinking": {"type": "adaptive"}},
        {"thinking": {"type": "disabled"}},
    ),
    Flip(
        "thinking-changed", "unavailable", "thinking", {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        {"thinking": {"type": "enabled", "budget_tokens": 4000}},
    ),
    Flip("effort-changed", "unavailable", "output_config.effort", {}, {"output_config": {"effort": "low"}}),
    Flip(
        "output-format-changed", "unavailable", "output_config.format", {},
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
    ),
    Flip("tool-choice-changed", "unavailable", "tool_choice", {}, {"tool_choice": {"type": "any"}}),
    Flip(
        "parallel-tool-use-changed", "unavailable", "tool_choice.disable_parallel_tool_use", {},
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    ),
    Flip(
        "images-toggled", "messages_changed", "messages[2].content[0]", {},
        {"messages": marked_last([*GONE_ON[:2], user([IMAGE, text("This one?")])])},
    ),
    Flip(
        "citations-toggled", "messages_changed", "messages[2].content[0]", {},
        {"messages": marked_last([*GONE_ON[:2], user([{**DOCUMENT, "citations": {"enabled": True}}, text("And?")])])},
    ),
    Flip(
        "history-edited", "messages_changed", "messages[0].content", {},
        {"messages": marked_last([user("Where is the manual, please?"), *GONE_ON[1:]])}, "error",
    ),
]  # fmt: skip


def pair(flip: Flip) -> list[dict[str, Any]]:
    base = anthropic(marked_last(ASKED), tools=TOOLS)
    return [{**base, **flip.first}, {**base, "messages": marked_last(GONE_ON), **flip.second}]


@pytest.mark.parametrize("flip", ANTHROPIC, ids=[f"{f.code}-{i}" for i, f in enumerate(ANTHROPIC)])
def test_every_row_of_anthropics_table_is_named(flip: Flip) -> None:
    report = check(pair(flip))
    finding = only(report)

    assert (finding.code, finding.data["reason"], finding.location.path) == (flip.code, flip.reason, flip.path)
    assert (str(finding.severity), finding.location.request) == (flip.severity, 1)
    assert report.requests[1].miss_reason == flip.reason
    assert report.requests[0].miss_reason is None


@pytest.mark.parametrize("flip", ANTHROPIC, ids=[f"{f.code}-{i}" for i, f in enumerate(ANTHROPIC)])
def test_after_a_break_comparison_goes_on_from_the_new_state(flip: Flip) -> None:
    first, second = pair(flip)
    third = copy.deepcopy(second)
    third["messages"] = [*third["messages"], assistant("The upper one."), user([text("Thanks", cache_control=MARK)])]
    del third["messages"][-3]["content"][-1]["cache_control"]

    if flip.code == "marker-on-changing-block":
        # It is the same block from now on, so that the system text was changed once and no more.
        assert only(check([first, second, third])).code == "system-changed"
    else:
        assert only(check([first, second, third])).code == flip.code


def test_a_setting_that_flips_back_and_forth_is_an_error() -> None:
    turns = [ASKED, GONE_ON, [*GONE_ON, assistant("Upper."), user("Thanks")]]
    kinds = ["adaptive", "disabled", "adaptive"]
    bodies = [anthropic(marked_last(m), thinking={"type": k}) for m, k in zip(turns, kinds, strict=True)]

    assert [str(f.severity) for f in check(bodies).findings] == ["error", "error"]
    assert [str(f.severity) for f in check(bodies[:2]).findings] == ["warning"]


OPENAI = [
    Flip("model-changed", "model_changed", "model", {}, {"model": "gpt-6-sol"}),
    Flip("tools-reordered", "tools_changed", "tools[0]", {}, {"tools": [function("b"), function("a")]}, "error"),
    Flip("tools-changed", "tools_changed", "tools[1]", {}, {"tools": [function("a")]}),
    Flip("output-format-changed", "text_format_changed", "response_format", {}, {"response_format": SCHEMA}),
    Flip("effort-changed", "reasoning_effort_changed", "reasoning_effort", {"reasoning_effort": "low"},
         {"reasoning_effort": "high"}),
    Flip("verbosity-changed", "verbosity_changed", "verbosity", {}, {"verbosity": "low"}),
    Flip("service-tier-changed", "service_tier_changed", "service_tier", {}, {"service_tier": "flex"}),
    Flip("parallel-tool-use-changed", "tools_changed", "parallel_tool_calls", {}, {"parallel_tool_calls": False}),
    Flip("prompt-cache-key-changed", "prompt_cache_key_changed", "prompt_cache_key", {"prompt_cache_key": "run-1"},
         {"prompt_cache_key": "run-2"}, "error"),
    Flip("system-changed", "input_changed", "messages[0].content", {},
         {"messages": [{"role": "system", "content": LONG + "Be brief."}, *GONE_ON]}, "error"),
    Flip("history-edited", "input_changed", "messages[1].content", {},
         {"messages": [{"role": "system", "content": LONG}, user("Where is the manual, please?"), *GONE_ON[1:]]},
         "error"),
    Flip("cache-mode-changed", "unavailable", "prompt_cache_options.mode", {},
         {"prompt_cache_options": {"mode": "explicit"}, "messages": [
             {"role": "system", "content": LONG}, *GONE_ON[:-1],
             user([text("Which shelf?", prompt_cache_breakpoint={"mode": "explicit"})])]}),
]  # fmt: skip


@pytest.mark.parametrize("flip", OPENAI, ids=[f"{f.code}-{i}" for i, f in enumerate(OPENAI)])
def test_every_reason_of_openai_is_named(flip: Flip) -> None:
    tools = [function("a"), function("b")]
    bodies = [openai(ASKED, tools=tools) | flip.first, openai(GONE_ON, tools=tools) | flip.first | flip.second]
    report = check(bodies, "openai")
    finding = only(report)

    assert (finding.code, finding.data["reason"], finding.location.path) == (flip.code, flip.reason, flip.path)
    assert (str(finding.severity), finding.location.request) == (flip.severity, 1)
    assert report.requests[1].miss_reason == flip.reason


def test_responses_name_their_own_paths() -> None:
    bodies = [responses(ASKED, reasoning={"effort": "low"}), responses(GONE_ON, reasoning={"effort": "high"})]

    assert only(check(bodies, "openai")).location.path == "reasoning.effort"


def test_another_endpoint_is_a_finding_of_its_own() -> None:
    finding = only(check([openai(ASKED), responses(GONE_ON)], "openai"))

    assert (finding.code, str(finding.severity), finding.location.request) == ("endpoint-changed", "warning", 1)


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ({}, {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}}, "thinking-changed"),
        ({}, {"system": [{"text": LONG + "Be brief."}]}, "system-changed"),
        ({"modelId": "us.amazon.nova-pro-v1:0"}, {"modelId": "us.amazon.nova-lite-v1:0"}, "model-changed"),
    ],
)
def test_bedrock_rows(first: dict[str, Any], second: dict[str, Any], code: str) -> None:
    asked = [user([{"text": "Where?"}])]
    more = [*asked, assistant([{"text": "There."}]), user([{"text": "Where there?"}])]
    base = {"system": [{"text": LONG}], "messages": asked}

    report = check([base | first, base | {"messages": more} | first | second], "bedrock")
    assert only(report).code == code
    # Bedrock publishes no names.
    assert (only(report).data["reason"], report.requests[1].miss_reason) == (None, code)


def _fine() -> list[tuple[str, str, list[dict[str, Any]]]]:
    base = anthropic(marked_last(ASKED), tools=TOOLS)
    grown = {**base, "messages": marked_last(GONE_ON)}
    reordered = dict(reversed(grown.items()))
    run = [user("One."), user("Two.")]
    merged = [user([text("One."), text("Two.")])]
    return [
        ("growth", "anthropic", [base, grown]),
        ("exact retry", "anthropic", [base, base, grown]),
        ("marker moved", "anthropic", [base, grown, {**base, "messages": marked_last([*GONE_ON, *ASKED])}]),
        ("order of body keys", "anthropic", [base, reordered]),
        (
            "string against one text block",
            "anthropic",
            [base, {**grown, "messages": marked_last([user([text(ASKED[0]["content"])]), *GONE_ON[1:]])}],
        ),
        ("sampling", "anthropic", [base, {**grown, "temperature": 0.3, "top_p": 0.9, "max_tokens": 5, "top_k": 3}]),
        ("stream and metadata", "anthropic", [base, {**grown, "stream": True, "metadata": {"user_id": "u2"}}]),
        ("diagnostics", "anthropic", [
            {**base, "diagnostics": {"previous_message_id": None}},
            {**grown, "diagnostics": {"previous_message_id": "msg_1"}},
        ]),
        ("default written out", "anthropic", [
            base,
            {**grown, "tool_choice": {"type": "auto"}, "speed": "standard", "thinking": {"type": "disabled"}},
        ]),
        ("a tool found by search", "anthropic", [base, {**grown, "tools": [*TOOLS, tool("late", defer_loading=True)]}]),
        ("merged the same each time", "anthropic", [
            {**base, "messages": marked_last(merged)},
            {**base, "messages": marked_last([*merged, assistant("Ok."), user("Three.")])},
        ]),
        ("an instruction appended", "anthropic", [
            {**base, "model": "claude-opus-5"},
            {**grown, "model": "claude-opus-5", "messages": [*marked_last(GONE_ON), SAID_BY_SYSTEM]},
        ]),
        ("replayed as it came", "anthropic", [
            {**base, "messages": marked_last([*run[:1]])},
            {**base, "messages": marked_last([*run[:1], assistant([text("Ok.", citations=None)]), user("Next.")])},
        ]),
        ("comparison id", "openai", [
            responses(ASKED, prompt_cache_options={"comparison_response_id": None}),
            responses(GONE_ON, prompt_cache_options={"comparison_response_id": "resp_1"}),
        ]),
        ("tool choice", "openai", [
            openai(ASKED, tools=[function("a")]),
            openai(GONE_ON, tools=[function("a")], tool_choice="none", temperature=0.1, seed=7, user="u"),
        ]),
        ("cut short", "openai", [openai(GONE_ON), openai(GONE_ON[:1]), openai(GONE_ON)]),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "provider", "bodies"), _fine(), ids=[name for name, _, _ in _fine()])
def test_what_may_change_is_never_a_finding(name: str, provider: str, bodies: list[dict[str, Any]]) -> None:
    report = check(bodies, provider)

    assert [f.message for f in report.findings] == []
    assert len({verdict.conversation for verdict in report.requests}) == 1
