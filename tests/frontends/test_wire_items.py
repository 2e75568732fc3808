"""Items of the Responses API in the shapes they are replayed in: the API's bookkeeping is no prompt."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_cachesafe import check_prefix_stable

USER = {"role": "user", "content": "Weather?"}
MORE = [{"role": "assistant", "content": "Cold."}, {"role": "user", "content": "And now?"}]


def requests(one: dict[str, Any], other: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"model": "gpt-4o", "input": [USER, one, USER]}, {"model": "gpt-4o", "input": [USER, other, USER, *MORE]}]


TEXT = {"type": "output_text", "text": "Four degrees."}
ITEMS: dict[str, dict[str, Any]] = {
    "message": {"type": "message", "role": "assistant", "content": [TEXT]},
    "reasoning": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"},
    "function_call": {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    "function_call_output": {"type": "function_call_output", "call_id": "c1", "output": "4"},
    "custom_tool_call": {"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "x"},
    "web_search_call": {"type": "web_search_call", "action": {"type": "search", "query": "weather"}},
}


@pytest.mark.parametrize("kind", list(ITEMS))
@pytest.mark.parametrize(
    ("envelope", "later"),
    [
        ({"id": "it_1", "status": "completed"}, {}),
        ({"id": "it_1"}, {"id": "it_2"}),
        ({"status": "in_progress"}, {"status": "completed"}),
    ],
    ids=["dropped", "other id", "other status"],
)
def test_bookkeeping_is_no_prompt(kind: str, envelope: dict[str, Any], later: dict[str, Any]) -> None:
    item = ITEMS[kind]
    report = check_prefix_stable(requests({**item, **envelope}, {**item, **later}))
    assert report.verdict == "stable"
    assert report.steps[0].lost_tokens == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"type": "item_reference", "id": "msg_1"}, {"type": "item_reference", "id": "msg_2"}),
        ({"type": "reasoning", "id": "rs_1", "summary": []}, {"type": "reasoning", "id": "rs_2", "summary": []}),
        ({"type": "image_generation_call", "id": "ig_1"}, {"type": "image_generation_call", "id": "ig_2"}),
        (
            {"type": "function_call", "id": "fc_1", "name": "f", "arguments": "{}"},
            {"type": "function_call", "id": "fc_2", "name": "f", "arguments": "{}"},
        ),
        (
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"},
        ),
    ],
    ids=["reference", "stored reasoning", "stored image", "call answered by id", "call id"],
)
def test_an_id_that_stands_for_something_counts(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert check_prefix_stable(requests(one, other)).verdict == "history"
    assert check_prefix_stable(requests(one, one)).verdict == "stable"


def test_what_an_sdk_adds_to_an_answer() -> None:
    full = {
        **TEXT,
        "annotations": [],
        "logprobs": [{"token": "Four", "logprob": -0.1, "bytes": [], "top_logprobs": []}],
    }
    one, other = ({**ITEMS["message"], "content": [block]} for block in (full, TEXT))
    assert check_prefix_stable(requests(one, other)).verdict == "stable"
    edited = {**TEXT, "text": "Five degrees."}
    assert check_prefix_stable(requests(one, {**ITEMS["message"], "content": [edited]})).verdict == "history"


def test_another_id_is_not_taken_for_the_cause_of_a_change_elsewhere() -> None:
    one, other = ({**ITEMS["message"], "id": f"msg_{i}"} for i in (1, 2))
    sent = requests(one, other)
    sent[1]["input"][2] = {"role": "user", "content": "Weather today?"}
    data = check_prefix_stable(sent).as_dict()
    assert (data["cause"], data["location"]["path"]) == ("edited_history", "input[2].content")
