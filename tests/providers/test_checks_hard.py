"""What a provider refuses with status 400 is told before it is sent, with the place in the body."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.providers.checks.hard import hard_errors
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.providers.rules.load import load_rules
from tests.support.wire_requests import MARK, anthropic, assistant, call, check, result, text, told, tool, user

HOUR = {**MARK, "ttl": "1h"}
POINT: dict[str, Any] = {"cachePoint": {"type": "default"}}
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def refused(body: dict[str, Any], api: Any = "messages", model: str | None = None) -> list[tuple[str, str]]:
    provider: Any = "anthropic" if api == "messages" else "bedrock"
    exchange = Exchange(provider, api, body, model=model or body.get("model"))
    return [(e.code, e.path) for e in hard_errors(None, exchange, load_rules({}))]


def marked(count: int) -> list[dict[str, Any]]:
    return [user([text(f"part {i}", cache_control=MARK) for i in range(count)])]


def test_four_markers_are_taken_and_the_fifth_is_not() -> None:
    # One on the system text, three and then four on the message.
    assert refused(anthropic(marked(3))) == []
    assert refused(anthropic(marked(4))) == [("too-many-markers", "messages[0].content[3]")]


def test_markers_of_tools_count_first() -> None:
    body = anthropic(marked(3), tools=[tool("search", cache_control=MARK)])
    # tools 1, system 1, message 3: the fifth is the message's third.
    assert refused(body) == [("too-many-markers", "messages[0].content[2]")]


def test_automatic_caching_takes_one_of_the_four() -> None:
    # system 1, message 2, automatic 1; then one more.
    assert refused(anthropic([*marked(2), assistant("ok"), user("go on")], cache_control=MARK)) == []
    assert refused(anthropic([*marked(3), assistant("ok"), user("go on")], cache_control=MARK)) == [
        ("too-many-markers", "cache_control")
    ]


def test_users_can_raise_the_number_of_markers() -> None:
    rules = load_rules({"anthropic": {"facts": {"max_markers": 6}}})
    exchange = Exchange("anthropic", "messages", anthropic(marked(4)))

    assert hard_errors(None, exchange, rules) == []


def test_longer_lifetime_comes_first() -> None:
    longer_first = anthropic([user([text("a", cache_control=MARK)])], system=[text("s", cache_control=HOUR)])
    shorter_first = anthropic([user([text("a", cache_control=HOUR)])], system=[text("s", cache_control=MARK)])

    assert refused(longer_first) == []
    assert refused(shorter_first) == [("marker-ttl-order", "messages[0].content[0]")]


def test_tools_stand_before_system_whatever_the_order_of_keys() -> None:
    body = anthropic([user("q")], system=[text("s", cache_control=HOUR)], tools=[tool("t", cache_control=MARK)])

    assert refused(body) == [("marker-ttl-order", "system[0]")]


@pytest.mark.parametrize(
    ("content", "code", "path"),
    [
        ([text("", cache_control=MARK)], "marker-on-empty-text", "messages[0].content[0]"),
        (
            [text("a"), {"type": "thinking", "thinking": "t", "signature": "s", "cache_control": MARK}],
            "marker-on-thinking",
            "messages[0].content[1]",
        ),
        (
            [{"type": "redacted_thinking", "data": "x", "cache_control": MARK}],
            "marker-on-thinking",
            "messages[0].content[0]",
        ),
        (
            [text("a", citations=[{"type": "char_location", "cited_text": "a", "cache_control": MARK}])],
            "marker-on-sub-block",
            "messages[0].content[0].citations[0]",
        ),
        (
            [
                {
                    "type": "document",
                    "source": {"type": "content", "content": [text("page", cache_control=MARK)]},
                }
            ],
            "marker-on-sub-block",
            "messages[0].content[0].source.content[0]",
        ),
        ([text("a", cache_control={"type": "persistent"})], "marker-invalid", "messages[0].content[0]"),
        ([text("a", cache_control={**MARK, "ttl": "30m"})], "marker-invalid", "messages[0].content[0]"),
    ],
)
def test_blocks_that_cannot_carry_a_marker(content: list[Any], code: str, path: str) -> None:
    assert refused(anthropic([assistant(content)])) == [(code, path)]


def test_blocks_inside_a_tool_result_can_carry_one() -> None:
    body = anthropic([user([result(1, [text("row", cache_control=MARK)])])])

    assert refused(body) == []


def test_tool_input_that_looks_like_a_marker_is_data() -> None:
    body = anthropic([assistant([call("configure", 1, cache_control={"type": "persistent"})])])

    assert refused(body) == []


@pytest.mark.parametrize(("on_block", "automatic", "expected"), [
    (MARK, MARK, []),
    (HOUR, HOUR, []),
    (HOUR, MARK, [("automatic-ttl-conflict", "messages[0].content[0]")]),
    (MARK, HOUR, [("automatic-ttl-conflict", "messages[0].content[0]")]),
])  # fmt: skip
def test_automatic_caching_agrees_with_the_marker_on_the_last_block(
    on_block: Any, automatic: Any, expected: list[tuple[str, str]]
) -> None:
    body = anthropic([user([text("q", cache_control=on_block)])], system="s", cache_control=automatic)

    assert refused(body) == expected


def test_older_models_on_bedrock_have_no_automatic_caching() -> None:
    body = {"anthropic_version": "bedrock-2023-05-31", "messages": [user("q")], "cache_control": MARK}

    assert refused(body, "invoke", "us.anthropic.claude-opus-4-6-v1:0") == [("automatic-unsupported", "cache_control")]
    assert refused(body, "invoke", "us.anthropic.claude-opus-4-8-v1:0") == []


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("stream", True, "stream"),
        ("thinking", {"type": "enabled", "budget_tokens": 1024}, "thinking"),
        ("tool_choice", {"type": "any"}, "tool_choice"),
        ("output_config", {"format": {"type": "json_schema"}}, "output_config.format"),
    ],
)
def test_prewarming_has_its_limits(field: str, value: Any, path: str) -> None:
    assert refused(anthropic([user("-")], max_tokens=0)) == []
    assert refused(anthropic([user("-")], max_tokens=0, **{field: value})) == [("prewarm-conflict", path)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"messages": [user([{"text": "q"}, POINT])]}, []),
        ({"messages": [user([POINT, {"text": "q"}])]}, [("cachepoint-first", "messages[0].content[0]")]),
        (
            {"messages": [user([{"text": "q"}]), assistant([{"text": "a"}]), user([POINT])]},
            [("cachepoint-only", "messages[2]")],
        ),
        ({"system": [POINT, {"text": "s"}], "messages": [user([{"text": "q"}])]}, [("cachepoint-first", "system[0]")]),
        (
            {"messages": [user([x for i in range(5) for x in ({"text": str(i)}, POINT)])]},
            [("too-many-markers", "messages[0].content[9]")],
        ),
        (
            {
                "system": [{"text": "s"}, POINT],
                "messages": [user([{"text": "q"}, {"cachePoint": {"type": "default", "ttl": "1h"}}])],
            },
            [("marker-ttl-order", "messages[0].content[1]")],
        ),
        (
            {"messages": [user([{"text": "q"}, {"cachePoint": {"type": "ephemeral"}}])]},
            [("marker-invalid", "messages[0].content[1]")],
        ),
    ],
)
def test_cache_points_of_converse(body: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert refused(body, "converse", CLAUDE) == expected


def test_nova_takes_no_cache_point_among_its_tools() -> None:
    spec = {"toolSpec": {"name": "t", "inputSchema": {"json": {"type": "object"}}}}
    body = {"toolConfig": {"tools": [spec, POINT]}, "messages": [user([{"text": "q"}])]}

    assert refused(body, "converse", "us.amazon.nova-pro-v1:0") == [("cachepoint-in-tools", "toolConfig.tools[1]")]
    assert refused(body, "converse", CLAUDE) == []


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (anthropic([{**user("q"), "cache_control": MARK}]), "messages[0]"),
        (
            anthropic([user([{"type": "image", "source": {"type": "url", "url": "x", "cache_control": MARK}}])]),
            "messages[0].content[0].source",
        ),
        (
            anthropic(
                [user("q")],
                tools=[
                    {
                        "type": "mcp_toolset",
                        "mcp_server_name": "files",
                        "configs": {"read": {"enabled": True, "cache_control": MARK}},
                    }
                ],
            ),
            "tools[0].configs.read",
        ),
    ],
)
def test_markers_in_places_that_nobody_reads(body: dict[str, Any], path: str) -> None:
    report = check([body])

    assert ("marker-misplaced", "error", 0, path) in told(report)
    assert refused(body) == [], "whether it is refused is not documented"


def test_a_refused_request_has_no_usage() -> None:
    report = check([anthropic(marked(4))])

    assert report.requests[0].usage is None
    assert report.as_dict()["requests"][0]["usage"] is None


@given(
    st.lists(st.sampled_from(["none", "5m", "1h"]), max_size=3),
    st.lists(st.sampled_from(["none", "5m", "1h"]), max_size=3),
    st.lists(st.sampled_from(["none", "5m", "1h"]), min_size=1, max_size=4),
)
@settings(deadline=None, max_examples=100)
def test_refused_exactly_if_too_many_or_in_the_wrong_order(
    tools: list[str], system: list[str], content: list[str]
) -> None:
    def mark(ttl: str) -> dict[str, Any]:
        return {} if ttl == "none" else {"cache_control": {**MARK, "ttl": ttl}}

    body = {
        "messages": [user([text(f"m{i}", **mark(ttl)) for i, ttl in enumerate(content)])],
        "system": [text(f"s{i}", **mark(ttl)) for i, ttl in enumerate(system)],
        "tools": [tool(f"t{i}", **mark(ttl)) for i, ttl in enumerate(tools)],
    }
    order = [ttl for ttl in (*tools, *system, *content) if ttl != "none"]
    wrong = "1h" in order[order.index("5m") :] if "5m" in order else False

    assert {code for code, _ in refused(body)} == (
        ({"too-many-markers"} if len(order) > 4 else set()) | ({"marker-ttl-order"} if wrong else set())
    )
