"""A request as the blocks that its provider's cache keys."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cache_requests import HOUR, MARK, anthropic, chat, converse, gemini, responses, said, text, user
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.frontends.wire_text import Writer
from pytest_cachesafe.providers.blocks.block import Layout
from pytest_cachesafe.providers.blocks.canonical import canonical, order_free_key
from pytest_cachesafe.providers.blocks.layout import lay_out
from pytest_cachesafe.providers.exchange import Exchange
from pytest_cachesafe.usage import UsageError

TOOL = {"name": "find", "description": "Find.", "input_schema": {"type": "object", "properties": {"a": {}, "b": {}}}}


def keys(layout: Layout) -> list[bytes]:
    return [block.key for block in layout.blocks]


def paths(layout: Layout) -> list[str]:
    return [block.path for block in layout.blocks]


def marked(layout: Layout) -> dict[str, str]:
    return {b.path: b.marker.ttl for b in layout.blocks if b.marker is not None}


def test_anthropic_order_is_tools_system_messages_whatever_the_order_of_the_body() -> None:
    exchange = anthropic([user("q")], system="s", tools=[TOOL])
    layout = lay_out(exchange)
    assert paths(layout) == ["tools[0]", "system", "messages[0].content"]
    assert [b.level for b in layout.blocks] == ["tools", "system", "messages"]
    body = dict(reversed(list(exchange.body.items())))
    assert keys(lay_out(Exchange("anthropic", "messages", body))) == keys(layout)


def test_a_string_is_one_text_block() -> None:
    whole = lay_out(anthropic([user("q"), said("a")], system="s"))
    parts = lay_out(anthropic([user(text("q")), said(text("a"))], system=[text("s")]))
    assert keys(whole) == keys(parts)
    result = {"type": "tool_result", "tool_use_id": "1"}
    assert keys(lay_out(anthropic([user({**result, "content": "r"})]))) == keys(
        lay_out(anthropic([user({**result, "content": [text("r")]})]))
    )


PARTS = st.one_of(st.text("a␞␟␛\n.~", max_size=4), st.none(), st.just(1))


@given(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "tool_result", "tool_use"])},
        optional=dict.fromkeys(("text", "tool_use_id", "content", "cache_control", "is_error"), PARTS),
    ),
    st.sampled_from([" ", "user "]),
)
@settings(deadline=None)
def test_a_block_is_written_exactly_as_the_wire_front_end_writes_it(block: dict[str, Any], start: str) -> None:
    writer = Writer()
    writer.block(start, ".", block, "p")
    assert canonical(start, ".", block, "p") == writer.text()


def test_a_role_counts_and_two_messages_are_not_one() -> None:
    assert keys(lay_out(anthropic([user("q")]))) != keys(lay_out(anthropic([said("q")])))
    assert keys(lay_out(anthropic([user("a"), user("b")]))) != keys(lay_out(anthropic([user(text("a"), text("b"))])))


def test_markers_are_no_content() -> None:
    plain = lay_out(anthropic([user(text("q"))], system=[text("s")], tools=[TOOL]))
    given = lay_out(anthropic([user(text("q", **MARK))], system=[text("s", **HOUR)], tools=[{**TOOL, **HOUR}]))
    assert keys(given) == keys(plain)
    assert marked(plain) == {}
    assert marked(given) == {"tools[0]": "1h", "system[0]": "1h", "messages[0].content[0]": "5m"}
    assert [m.path for m in given.markers] == ["tools[0]", "system[0]", "messages[0].content[0]"]


def test_null_is_no_marker() -> None:
    layout = lay_out(anthropic([user(text("q", cache_control=None))]))
    assert layout.markers == []
    assert keys(layout) == keys(lay_out(anthropic([user("q")])))


def test_a_tool_input_called_cache_control_is_data() -> None:
    def call(**given: Any) -> Layout:
        return lay_out(anthropic([said({"type": "tool_use", "id": "1", "name": "f", "input": given})]))

    assert call(cache_control={"type": "ephemeral"}).markers == []
    assert keys(call(cache_control={"type": "ephemeral"})) != keys(call())


@pytest.mark.parametrize(
    "block",
    [
        text("", **MARK),
        {"type": "thinking", "thinking": "t", "signature": "s", **MARK},
        {"type": "redacted_thinking", "data": "x", **MARK},
    ],
)
def test_markers_where_none_may_be_are_noted_but_mark_nothing(block: dict[str, Any]) -> None:
    layout = lay_out(anthropic([said(block)]))
    assert marked(layout) == {}
    assert [m.path for m in layout.markers] == ["messages[0].content[0]"]
    assert not layout.blocks[0].markable


def test_markers_on_sub_blocks_and_messages_are_noted() -> None:
    result = {"type": "tool_result", "tool_use_id": "1", "content": [text("a"), text("b", **MARK)]}
    document = {"type": "document", "source": {"type": "content", "content": [text("c", **MARK)]}}
    layout = lay_out(anthropic([{**user(result, document), **MARK}]))
    # Inside a result it is taken as one on the result.
    assert marked(layout) == {"messages[0].content[0]": "5m"}
    assert sorted(m.path for m in layout.markers) == [
        "messages[0]",
        "messages[0].content[0].content[1]",
        "messages[0].content[1].source.content[0]",
    ]
    # And they are no content either.
    assert keys(layout) == keys(
        lay_out(
            anthropic(
                [
                    user(
                        {**result, "content": [text("a"), text("b")]},
                        json.loads(json.dumps(document).replace(', "cache_control": {"type": "ephemeral"}', "")),
                    )
                ]
            )
        )
    )


@pytest.mark.parametrize(
    ("last", "lands"),
    [
        ([text("q")], "messages[1].content[0]"),
        # Empty text and thinking carry none: back to the nearest block that can.
        ([text("q"), text("")], "messages[1].content[0]"),
        ([{"type": "thinking", "thinking": "t", "signature": "s"}], "messages[0].content"),
    ],
)
def test_automatic_caching_walks_back_to_a_block_that_can_be_marked(last: list[Any], lands: str) -> None:
    layout = lay_out(anthropic([user("first"), said(*last)], cache_control={"type": "ephemeral", "ttl": "1h"}))
    assert marked(layout) == {lands: "1h"}
    assert layout.automatic is not None
    assert not layout.automatic.explicit
    # It is counted by `automatic`, not among the markers of the blocks.
    assert layout.markers == []


def test_automatic_caching_without_any_block_to_mark_is_skipped() -> None:
    layout = lay_out(anthropic([user(text(""))], **MARK))
    assert marked(layout) == {}
    assert layout.automatic is not None


def test_automatic_caching_leaves_a_marker_that_is_there() -> None:
    layout = lay_out(anthropic([user(text("q", **HOUR))], **MARK))
    assert marked(layout) == {"messages[0].content[0]": "1h"}


def test_deferred_tools_are_not_in_the_prefix() -> None:
    deferred = {**TOOL, "name": "late", "defer_loading": True}
    assert keys(lay_out(anthropic([user("q")], tools=[TOOL, deferred]))) == keys(
        lay_out(anthropic([user("q")], tools=[TOOL]))
    )
    assert paths(lay_out(anthropic([user("q")], tools=[deferred, TOOL]))) == ["tools[1]", "messages[0].content"]


def test_toolsets_and_server_tools_are_tools() -> None:
    toolset = {"type": "mcp_toolset", "mcp_server_name": "x", "configs": {"a": {**MARK}}, **MARK}
    layout = lay_out(anthropic([user("q")], tools=[toolset, {"type": "web_search_20260318", "name": "web_search"}]))
    assert [b.kind for b in layout.blocks] == ["mcp_toolset", "web_search_20260318", "text"]
    # A member's config cannot carry one.
    assert marked(layout) == {"tools[0]": "5m"}
    assert [m.path for m in layout.markers] == ["tools[0]", "tools[0].configs.a"]
    assert layout.settings["web_search"] == (True, "tools[1]")


def test_a_run_of_tool_blocks_is_one_position_at_anthropic_only() -> None:
    calls = [{"type": "tool_use", "id": str(i), "name": "f", "input": {}} for i in range(3)]
    results = [{"type": "tool_result", "tool_use_id": str(i), "content": "r"} for i in range(3)]
    messages = [user("q"), said(text("a"), *calls), user(*results, text("go on"))]
    # q 0, a 1, three calls 2, three results 3, text 4.
    assert [b.position for b in lay_out(anthropic(messages)).blocks] == [0, 1, 2, 2, 2, 3, 3, 3, 4]
    body = anthropic(messages).body
    assert [b.position for b in lay_out(Exchange("bedrock", "invoke", body)).blocks] == list(range(9))


def test_key_order_counts_and_can_be_told_apart() -> None:
    other = {**TOOL, "input_schema": {"type": "object", "properties": {"b": {}, "a": {}}}}
    one, two = lay_out(anthropic([user("q")], tools=[TOOL])), lay_out(anthropic([user("q")], tools=[{**other, **MARK}]))
    assert one.blocks[0].key != two.blocks[0].key
    assert order_free_key(one.blocks[0]) == order_free_key(two.blocks[0])
    third = lay_out(anthropic([user("q")], tools=[{**TOOL, "description": "Else."}]))
    assert order_free_key(third.blocks[0]) != order_free_key(one.blocks[0])
    # The order of a tool's own fields means nothing.
    turned = lay_out(anthropic([user("q")], tools=[dict(reversed(list(TOOL.items())))]))
    assert turned.blocks[0].key == one.blocks[0].key


def test_a_system_message_among_the_messages_stays_there() -> None:
    layout = lay_out(anthropic([user("q"), {"role": "system", "content": "new rule"}]))
    assert [(b.level, b.role) for b in layout.blocks] == [("messages", "user"), ("messages", "system")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {}),
        # Defaults written out are no settings.
        (
            {
                "thinking": {"type": "disabled"},
                "tool_choice": {"type": "auto", "disable_parallel_tool_use": False},
                "speed": "standard",
                "output_config": {"effort": "high"},
            },
            {},
        ),
        ({"thinking": {"type": "enabled", "budget_tokens": 2048}}, {"thinking": "thinking"}),
        ({"output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {}}}},
         {"effort": "output_config.effort", "output_format": "output_config.format"}),
        ({"tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
         {"tool_choice": "tool_choice", "disable_parallel_tool_use": "tool_choice.disable_parallel_tool_use"}),
        ({"speed": "fast"}, {"speed": "speed"}),
        ({"temperature": 1, "metadata": {"user_id": "u"}, "stream": True, "stop_sequences": ["x"]}, {}),
    ],
)  # fmt: skip
def test_anthropic_settings(body: dict[str, Any], expected: dict[str, str]) -> None:
    assert {n: path for n, (_, path) in lay_out(anthropic([user("q")], **body)).settings.items()} == expected


def test_how_thinking_is_shown_is_no_setting() -> None:
    a, b = (
        lay_out(anthropic([user("q")], thinking={"type": "adaptive", **display})).settings
        for display in ({}, {"display": "omitted"})
    )
    assert a == b != {}


def test_images_and_citations_count_anywhere() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": [image]}
    document = {"type": "document", "source": {"type": "text", "data": "d"}, "citations": {"enabled": True}}
    found = lay_out(anthropic([user("q"), user(result), user(document)])).settings
    assert {n: path for n, (_, path) in found.items()} == {
        "images": "messages[1].content[0]", "citations": "messages[2].content[0]",
    }  # fmt: skip


def test_unknown_blocks_are_kept_and_told() -> None:
    layout = lay_out(anthropic([user({"type": "hologram", "data": 1}, text("q"))]))
    assert layout.unknown == [("messages[0].content[0]", "hologram")]
    assert layout.blocks[0].kind == "hologram"
    assert keys(layout) != keys(lay_out(anthropic([user({"type": "hologram", "data": 2}, text("q"))])))


def test_converse_cache_points_mark_the_block_before() -> None:
    point = {"cachePoint": {"type": "default"}}
    layout = lay_out(
        converse(
            [{"role": "user", "content": [{"text": "q"}, point, {"text": "r"}]}],
            system=[{"text": "s"}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
            toolConfig={"tools": [{"toolSpec": {"name": "f"}}, point], "toolChoice": {"any": {}}},
        )
    )
    assert paths(layout) == [
        "toolConfig.tools[0]", "system[0]", "messages[0].content[0]", "messages[0].content[2]",
    ]  # fmt: skip
    assert marked(layout) == {"toolConfig.tools[0]": "5m", "system[0]": "1h", "messages[0].content[0]": "5m"}
    # The marker's own place is its entry's.
    assert [m.path for m in layout.markers] == ["toolConfig.tools[1]", "system[1]", "messages[0].content[1]"]
    assert layout.settings == {"tool_choice": ({"any": {}}, "toolConfig.toolChoice")}
    bare = lay_out(converse([{"role": "user", "content": [{"text": "q"}, {"text": "r"}]}], system=[{"text": "s"}],
                            toolConfig={"tools": [{"toolSpec": {"name": "f"}}]}))  # fmt: skip
    assert keys(bare) == keys(layout)


def test_a_cache_point_with_nothing_before_it_marks_nothing() -> None:
    point = {"cachePoint": {"type": "default"}}
    layout = lay_out(
        converse(
            [{"role": "user", "content": [point, {"text": "q"}]}, {"role": "user", "content": [point]}], system=[point]
        )
    )
    assert marked(layout) == {}
    assert [m.path for m in layout.markers] == ["system[0]", "messages[0].content[0]", "messages[1].content[0]"]


def test_converse_calls_results_and_thinking() -> None:
    layout = lay_out(
        converse(
            [
                {
                    "role": "assistant",
                    "content": [
                        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                        {"toolUse": {"toolUseId": "1", "name": "f", "input": {"a": 1}}},
                    ],
                },
                {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "r"}]}}]},
            ]
        )
    )
    assert [(b.kind, b.text, b.markable) for b in layout.blocks] == [
        ("thinking", "hm", False), ("tool_use", 'f\n{"a":1}', True), ("tool_result", "r", True),
    ]  # fmt: skip


def test_chat_breakpoints_take_the_lifetime_of_the_request() -> None:
    point = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    late = {"prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}}
    messages = [
        {"role": "developer", "content": [text("rules", **point)]},
        {"role": "user", "content": [text("a", **late), text("b")]},
    ]
    assert marked(lay_out(chat(messages))) == {"messages[0].content[0]": "30m", "messages[1].content[0]": "12h"}
    longer = lay_out(chat(messages, prompt_cache_options={"ttl": "12h"}))
    assert marked(longer) == {"messages[0].content[0]": "12h", "messages[1].content[0]": "12h"}
    assert [b.level for b in longer.blocks] == ["system", "messages", "messages"]
    assert keys(lay_out(chat([{"role": "developer", "content": "rules"}, *messages[1:]]))) == keys(longer)


def test_eligible_ends_of_messages() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    layout = lay_out(
        chat(
            [
                {"role": "system", "content": "rules"},  # 0
                {"role": "developer", "content": "more"},  # 1: the last of the developer messages
                {"role": "user", "content": [text("a"), text("b")]},  # 2, 3
                {"role": "assistant", "content": None, "tool_calls": [call, {**call, "id": "2"}]},  # 4, 5
                {"role": "tool", "tool_call_id": "1", "content": "x"},  # 6
                {"role": "tool", "tool_call_id": "2", "content": "y"},  # 7: the last of its group
                {"role": "assistant", "content": "so"},  # 8
            ]
        )
    )
    assert layout.ends == (7, 3, 1)
    assert layout.developer_end == 1


def test_responses_items() -> None:
    items = [
        {"role": "user", "content": "q"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "1", "name": "f", "arguments": "{}", "status": "completed"},
        {"type": "function_call_output", "call_id": "1", "output": "r"},
    ]
    layout = lay_out(responses(items, instructions="be kind"))
    assert [(b.kind, b.level) for b in layout.blocks] == [
        ("text", "system"), ("text", "messages"), ("thinking", "messages"), ("tool_use", "messages"),
        ("tool_result", "messages"),
    ]  # fmt: skip
    assert layout.ends == (4, 1, 0)
    # What the API keeps for itself does not count; an output as one block is the same.
    again = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]},
        {"type": "reasoning", "id": "rs_2", "summary": []},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "r"}]},
    ]
    assert keys(lay_out(responses(again, instructions="be kind")))[3:] == keys(layout)[3:]
    assert keys(lay_out(responses(again, instructions="be kind")))[1] == keys(layout)[1]
    assert keys(lay_out(responses("q"))) == keys(lay_out(responses(["q"]))) == keys(lay_out(responses(items[:1])))


def test_openai_settings() -> None:
    body = {
        "text": {"format": {"type": "json_object"}, "verbosity": "low"}, "reasoning": {"effort": "low"},
        "parallel_tool_calls": False, "prompt_cache_key": "k", "service_tier": "flex",
    }  # fmt: skip
    assert {n: p for n, (_, p) in lay_out(responses("q", **body)).settings.items()} == {
        "prompt_cache_key": "prompt_cache_key", "parallel_tool_calls": "parallel_tool_calls",
        "service_tier": "service_tier", "text_format": "text.format", "reasoning_effort": "reasoning.effort",
        "verbosity": "text.verbosity",
    }  # fmt: skip
    assert lay_out(chat([user("q")], verbosity="medium", response_format={"type": "text"}, n=2)).settings == {}


def test_gemini_spellings() -> None:
    rest = gemini([{"role": "user", "parts": [{"text": "q"}, {"inlineData": {"mimeType": "image/png", "data": "aa"}}]}],
                  systemInstruction={"parts": [{"text": "s"}]},
                  tools=[{"functionDeclarations": [{"name": "f"}]}])  # fmt: skip
    sdk = gemini([{"parts": [{"text": "q"}, {"inline_data": {"mime_type": "image/png", "data": "aa"}}]}],
                 config={"system_instruction": "s", "tools": [{"function_declarations": [{"name": "f"}]}]})  # fmt: skip
    assert [(b.kind, b.level) for b in lay_out(rest).blocks] == [
        ("tool", "tools"), ("text", "system"), ("text", "messages"), ("image", "messages"),
    ]  # fmt: skip
    assert keys(lay_out(rest)) == keys(lay_out(sdk))


@pytest.mark.parametrize(
    ("exchange", "words"),
    [
        (Exchange("anthropic", "messages", {"input": "q"}), "no list of messages in the body"),
        (Exchange("openai", "chat", {"contents": []}), "no list of messages in the body"),
        (Exchange("openai", "responses", {"messages": []}), "no input in the body"),
        (Exchange("bedrock", "converse", {}), "no list of messages in the body"),
        (Exchange("gemini", "gemini", {"messages": []}), "contents"),
        (anthropic(["q"]), r"messages\[0\] is str"),
        (anthropic([user("q")], tools={"name": "f"}), "tools is dict; a list is meant"),
        (responses([3]), r"input\[0\] is int"),
        (anthropic([said({"type": "tool_use", "id": "1", "name": "f", "input": {"a": {1, 2}}})]), "no JSON form"),
    ],
)
def test_what_is_no_request_is_told_in_one_line(exchange: Exchange, words: str) -> None:
    with pytest.raises(UsageError, match=words) as raised:
        lay_out(exchange)
    assert "\n" not in str(raised.value)
