"""The first test of the project: a Qwen3 agent with reasoning and tools, token by token."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from pytest_cachesafe import Accept, assert_prefix_stable, check_prefix_stable

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "search_orders",
            "description": "Find a customer's orders.",
            "parameters": {
                "type": "object",
                "properties": {"customer": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["customer"],
            },
        },
    }
]
THOUGHT = "The customer wants to know where the parcel is. I look up the orders first, newest first, and then answer. "


def agent(turns: int = 3) -> list[dict[str, Any]]:
    """A tool call with reasoning, its result and a reasoned answer per turn."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are the order desk of Example Ltd."}]
    for n in range(turns):
        call = {
            "id": f"call{n:05}",
            "type": "function",
            "function": {"name": "search_orders", "arguments": {"customer": f"C-{n}", "limit": 3}},
        }
        result = f'{{"orders": [{{"id": {n}, "state": "shipped"}}], "page": 1, "note": "record {n} of the archive"}}'
        messages += [
            {"role": "user", "content": f"Where is my parcel number {n}?"},
            {"role": "assistant", "content": "", "reasoning_content": THOUGHT * 8, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "name": "search_orders", "content": result},
            {"role": "assistant", "content": f"Parcel {n} is on its way.", "reasoning_content": THOUGHT},
        ]
    messages.append({"role": "user", "content": "Thank you."})
    return messages


@pytest.fixture
def qwen3(qwen3_dir: Path) -> str:
    return str(qwen3_dir)


def test_stable_over_user_turns_alone(qwen3: str) -> None:
    report = assert_prefix_stable(agent(), template=qwen3, tools=TOOLS, requests="user")
    assert report.verdict == "stable"
    assert [s.request for s in report.steps] == [1, 2, 3]


def test_history_once_tool_results_count(qwen3: str) -> None:
    report = check_prefix_stable(agent(), template=qwen3, tools=TOOLS)
    assert report.verdict == "history"
    assert not report.passed
    # Requests 0, 2, 4, 6 end in a user turn; each one that follows tool results loses the tool turn.
    lossy = [s for s in report.steps if s.verdict != "stable"]
    assert [s.request for s in lossy] == [2, 4, 6]
    for step in lossy:
        assert step.divergence is not None
        assert step.divergence.cause == "reasoning_dropped"
        assert step.divergence.origin == "template"
        assert step.divergence.location.part == "message"
        assert step.divergence.location.role == "assistant"
        assert step.lost_tokens > 150
    assert lossy[0].divergence.location.message_index == 2  # type: ignore[union-attr]
    assert report.as_dict()["first_step"] == 2


def test_an_acceptance_passes(qwen3: str) -> None:
    known = Accept(cause="reasoning_dropped", template="Qwen3", max_lost_tokens=800, reason="template design")
    report = assert_prefix_stable(agent(), template=qwen3, tools=TOOLS, accept=[known])
    assert report.verdict == "stable"
    assert report.acceptances.as_list()[0]["count"] == 3


def test_an_acceptance_over_its_bound_fails(qwen3: str) -> None:
    known = Accept(cause="reasoning_dropped", max_lost_tokens=50)
    assert not check_prefix_stable(agent(), template=qwen3, tools=TOOLS, accept=[known])


def test_an_acceptance_does_not_hide_a_later_edit(qwen3: str) -> None:
    known = Accept(cause="reasoning_dropped", max_lost_tokens=800, reason="template design")
    requests = []
    messages = agent()
    for end in (2, 4, 6, 8, 10, 12, 14):
        request = copy.deepcopy(messages[:end])
        if end == 14:
            request[3]["content"] = "[pruned]"
        requests.append(request)
    assert assert_prefix_stable(requests[:-1], template=qwen3, tools=TOOLS, accept=[known]).verdict == "stable"
    with pytest.raises(AssertionError) as caught:
        assert_prefix_stable(requests, template=qwen3, tools=TOOLS, accept=[known])
    report = caught.value.report  # type: ignore[attr-defined]
    worst = report.worst.divergence
    assert (worst.cause, worst.origin) == ("edited_history", "application")
    assert (worst.location.message_index, worst.location.role) == (3, "tool")
    assert "message 3 (tool)" in str(caught.value).splitlines()[0]
