"""Whose doing it is: the datum at the place decides, not what else differs in the request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe import (
    Accept,
    ChatTemplate,
    PrefixFailure,
    Prompt,
    UsageError,
    assert_prefix_stable,
    check_prefix_stable,
    compare,
)

SYSTEM = {"role": "system", "content": "You are the help desk of Example Ltd."}
ASK = {"role": "user", "content": "What is the question?"}
ANSWER = {"role": "assistant", "content": "Here is my answer."}
MORE = {"role": "user", "content": "And another one?"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "Looks it up.",
            "parameters": {"type": "object", "properties": {}},
        },
    }
]
Case = tuple[str, str, str]


def found(report: Any) -> Case:
    data = report.as_dict()
    return data["cause"], data["origin"], data["location"]["part"]


def test_text_in_a_block_is_rendered(qwen3_dir: Path, smollm2_tokenizer_dir: Path) -> None:
    blocks = [SYSTEM, {"role": "user", "content": [{"type": "text", "text": "What is this?"}]}, ANSWER, MORE]
    for template in (qwen3_dir, smollm2_tokenizer_dir):
        assert check_prefix_stable(blocks, template=template).verdict == "stable"
    dumped = ChatTemplate.from_string("{% for m in messages %}{{ m | tojson }}{% endfor %}")
    assert (
        check_prefix_stable([SYSTEM, ASK, {"role": "assistant", "content": "Hi."}, MORE], template=dumped).verdict
        == "stable"
    )


def turn(n: int, length: int, **extra: Any) -> list[dict[str, Any]]:
    call = {"id": f"call_{n}", "type": "function", "function": {"name": "look_up", "arguments": {}}}
    answer = {"role": "assistant", "content": "", "reasoning_content": "I look it up.", "tool_calls": [call], **extra}
    return [ASK, answer, {"role": "tool", "tool_call_id": f"call_{n}", "content": "found"}, ANSWER, MORE][:length]


@pytest.mark.parametrize("extra", [{}, {"created_at": "10:41:07"}])
def test_a_field_that_is_not_printed_is_not_the_cause(qwen3_dir: Path, extra: dict[str, Any]) -> None:
    """Qwen3 prints no call ids; what it does is leave the reasoning out."""
    changed = dict.fromkeys(extra, "10:52:08")
    report = check_prefix_stable([turn(1, 3, **extra), turn(2, 5, **changed)], template=qwen3_dir, tools=TOOLS)
    assert found(report) == ("reasoning_dropped", "template", "message")


def test_key_order_of_a_call_is_no_dropped_reasoning() -> None:
    def body(given: dict[str, int], n: int) -> dict[str, Any]:
        use = {"type": "tool_use", "id": "t1", "name": "f", "input": given}
        result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
        messages = [ASK, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}, ANSWER, MORE]
        return {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages[:n]}

    report = check_prefix_stable(
        [body({"x": 1, "y": 2}, 3), body({"y": 2, "x": 1}, 5)], accept=[Accept(cause="reasoning_dropped")]
    )
    assert not report.passed
    assert found(report) == ("tool_arguments_reserialised", "framework", "message")


def test_white_space_does_not_cover_reasoning() -> None:
    first = {"role": "assistant", "content": "one moment please", "reasoning_content": "thinking about it"}
    again = {"role": "assistant", "content": "one  moment please"}
    report = check_prefix_stable(
        [[ASK, first, MORE], [ASK, again, MORE, ANSWER, MORE]],
        template=ChatTemplate.from_string(
            "{% for m in messages %}<{{ m.role }}>{{ m.reasoning_content }}|{{ m.content }}{% endfor %}"
        ),
        accept=[Accept(cause="whitespace")],
    )
    assert not report.passed
    assert found(report)[0] == "reasoning_dropped"


@pytest.mark.parametrize("tools", [None, TOOLS])
def test_the_application_moves_its_system_message(
    qwen3_dir: Path, smollm2_tokenizer_dir: Path, llama32_dir: Path, tools: Any
) -> None:
    developer = {**SYSTEM, "role": "developer"}
    for template in (qwen3_dir, smollm2_tokenizer_dir, llama32_dir):
        moved = check_prefix_stable([[SYSTEM, ASK], [ASK, ANSWER, SYSTEM, MORE]], template=template, tools=tools)
        assert found(moved) == ("system_moved", "application", "system")
        renamed = check_prefix_stable([[SYSTEM, ASK], [developer, ASK, ANSWER, MORE]], template=template, tools=tools)
        assert found(renamed) == ("system_changed", "application", "system")


def test_default_system_text_only_where_there_is_one(qwen3_dir: Path, llama32_dir: Path) -> None:
    pair = [[ASK], [SYSTEM, ASK, ANSWER, MORE]]
    assert found(check_prefix_stable(pair, template=llama32_dir)) == ("default_system_text", "template", "template")
    report = check_prefix_stable(pair, template=qwen3_dir)
    assert found(report) == ("system_changed", "application", "system")
    assert report.as_dict()["location"]["role"] == "system"


def test_an_edit_of_printed_blocks_is_no_tail(llama32_dir: Path) -> None:
    text, image = {"type": "text", "text": "Describe the picture"}, {"type": "image", "image": "page-1"}
    first = [SYSTEM, {"role": "user", "content": [text, image]}]
    second = [SYSTEM, {"role": "user", "content": [image, text]}, ANSWER, MORE]
    report = check_prefix_stable([first, second], template=llama32_dir)
    assert report.verdict == "history"
    assert report.as_dict()["origin"] == "application"


@pytest.mark.parametrize("before", [None, [], TOOLS])
@pytest.mark.parametrize("after", [None, [], TOOLS])
def test_changed_tools_are_the_applications_doing(llama32_dir: Path, before: Any, after: Any) -> None:
    requests: list[dict[str, Any]] = [{"messages": [SYSTEM, ASK]}, {"messages": [SYSTEM, ASK, ANSWER, MORE]}]
    for request, tools in zip(requests, (before, after), strict=True):
        if tools is not None:
            request["tools"] = tools
    report = check_prefix_stable(requests, template=llama32_dir)
    if before == after:
        assert report.prefix_verdict == "stable"
    else:
        assert report.as_dict()["cause"] == "tools_changed"
        assert report.as_dict()["origin"] == "application"
        assert "tools" in report.as_dict()["location"]["path"]


@pytest.mark.parametrize(
    "shape",
    [
        {"annotations": [], "refusal": None, "audio": None},
        {"tool_calls": []},
        {"content": [{"type": "text", "text": ANSWER["content"]}]},
    ],
)
def test_replay_shapes_of_one_answer_are_the_same(shape: dict[str, Any]) -> None:
    requests = [[SYSTEM, ASK, ANSWER, MORE], [SYSTEM, ASK, {**ANSWER, **shape}, MORE, ANSWER, ASK]]
    assert check_prefix_stable(requests).verdict == "stable"


def test_replayed_calls_are_the_same() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "found"}
    first = {"role": "assistant", "content": None, "tool_calls": [call]}
    second = {"role": "assistant", "content": "", "tool_calls": [{**call, "index": 0}]}
    assert check_prefix_stable([[ASK, first, result], [ASK, second, result, ANSWER, MORE]]).verdict == "stable"


def test_places_behind_composed_characters(qwen3_dir: Path) -> None:
    """Qwen's tokenizer composes characters first: the texts part earlier than the ids do, by other lengths."""
    template = ChatTemplate.from_pretrained(qwen3_dir)
    composed = [{"role": "user", "content": "caf\u00e9 " * 10 + "one two"}, ANSWER, MORE]
    apart = [{"role": "user", "content": "cafe\u0301 " * 10 + "one TEN"}, ANSWER, MORE]
    one, other = compare(composed, apart, template=template), compare(apart, composed, template=template)
    assert one.divergence is not None
    assert other.divergence is not None
    assert (one.divergence.before[:3], one.divergence.after[:3]) == ("two", "TEN")
    assert (other.divergence.before[:3], other.divergence.after[:3]) == ("TEN", "two")
    assert one.divergence.location == other.divergence.location
    assert (one.divergence.cause, one.shared_chars) == (other.divergence.cause, other.shared_chars)
    same = [{"role": "user", "content": "cafe\u0301 " * 10 + "one two"}, ANSWER, MORE]
    assert compare(composed, same, template=template).divergence is None


def test_same_text_other_ids() -> None:
    a = Prompt("ab", front_end="given", token_ids=[1, 2])
    b = Prompt("ab", front_end="given", token_ids=[3, 4])
    result = compare(a, b)
    assert result.divergence is not None
    assert (result.divergence.cause, result.divergence.origin) == ("retokenised", "tokenizer")


def test_strangers_are_no_conversation() -> None:
    poet = [{"role": "system", "content": "You are a poet."}, {"role": "user", "content": "Write about rain."}]
    judge = [{"role": "system", "content": "Judge code quality."}, {"role": "user", "content": "def foo(): pass"}]
    with pytest.raises(UsageError, match="nothing in common"):
        check_prefix_stable([poet, judge])


def test_words_around_a_change_are_compared_on() -> None:
    def chat(manner: str, time: str) -> list[dict[str, str]]:
        text = f"You are the desk. Be {manner} to everyone who calls. Session started at {time}. Answer in one line."
        return [{"role": "system", "content": text}, ASK]

    pair = [chat("kind", "10:41:07"), chat("polite", "10:52:11")]
    report = check_prefix_stable(pair, accept=[Accept(cause="system_changed")])
    assert not report.passed
    assert report.as_dict()["cause"] == "timestamp"
    assert check_prefix_stable(pair, accept=[Accept(cause="system_changed"), Accept(cause="timestamp")]).passed


def user(text: str, role: str = "user") -> dict[str, str]:
    return {"role": role, "content": text}


THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1000}}


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [
        (THINKING, {"thinking": {"type": "enabled", "budget_tokens": 2000}}, "thinking"),
        (THINKING, {}, "thinking"),
        ({"tool_choice": {"type": "any"}}, {}, "tool_choice"),
    ],
)  # fmt: skip
def test_settings_of_a_body_are_named(first: dict[str, Any], second: dict[str, Any], path: str) -> None:
    common = {"model": "claude-sonnet-4-5", "max_tokens": 9}
    grown = [user("a"), user("b", "assistant"), user("c")]
    report = check_prefix_stable([{**common, **first, "messages": grown[:1]}, {**common, **second, "messages": grown}])
    assert found(report)[:2] == ("setting_changed", "application")
    assert report.as_dict()["location"]["path"].startswith(path)


def test_a_merge_over_the_end_is_a_tail_loss(smollm2_tokenizer_dir: Path) -> None:
    report = check_prefix_stable(["Hello wor", "Hello world and more"], template=smollm2_tokenizer_dir)
    assert (report.verdict, report.lost_tokens) == ("tail", 1)
    assert found(report)[:2] == ("token_merge", "tokenizer")


def test_a_message_of_reasoning_alone_is_not_missed() -> None:
    template = ChatTemplate.from_string(
        "{% for m in messages %}<{{ m.role }}>{{ m.content.split('</think>')[-1] }}{% endfor %}"
    )
    chat = [user("find it"), user("<think>hm hm hm hm</think>", "assistant"), user("and?")]
    assert not check_prefix_stable(chat, template=template).missing


def test_thinking_left_out_in_front_of_tools() -> None:
    common = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 9,
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
    }
    grown = [user("a"), user("b", "assistant"), user("c")]
    report = check_prefix_stable([{**common, **THINKING, "messages": grown[:1]}, {**common, "messages": grown}])
    assert found(report) == ("setting_changed", "application", "template")
    assert report.as_dict()["location"]["path"].startswith("thinking")


def test_the_system_message_moves_on_the_wire() -> None:
    report = check_prefix_stable([[SYSTEM, ASK], [ASK, ANSWER, SYSTEM, MORE]])
    assert found(report) == ("system_moved", "application", "system")
    assert "front of the list" in report.text()


def test_failures_go_between_processes() -> None:
    import pickle

    with pytest.raises(PrefixFailure) as caught:
        assert_prefix_stable([[SYSTEM, ASK], [{**SYSTEM, "content": "You are someone else."}, ASK, ANSWER, MORE]])
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.report.verdict == "history"


def test_no_more_is_lost_than_there_is() -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"b": 1}}}
    grown = [user("a"), user("a", "assistant"), user("a")]
    report = check_prefix_stable(
        [{"model": "g", "response_format": schema, "messages": grown[:1]}, {"model": "g", "messages": grown}]
    )
    step = report.steps[0]
    assert step.divergence is not None
    assert step.lost_tokens == step.tokens - (step.divergence.location.token_index or 0)
    low, best, high = step.divergence.lost_tokens
    assert 0 <= low <= best <= high
    assert best == step.lost_tokens
