"""What Qwen3's template makes of a session with reasoning and tools."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_cachesafe import Toggle, assert_prefix_stable

from build_doctor import TOOLS, Agent
from expected import REASONING
from sessions import play

Message = dict[str, Any]


@pytest.fixture
def messages() -> list[Message]:
    """The whole session: a chat that grew."""
    return list(play(Agent()))[-1]


def test_user_turns_alone_look_fine(messages: list[Message], qwen3: str) -> None:
    report = assert_prefix_stable(messages, template=qwen3, tools=TOOLS, requests="user")
    assert report.verdict == "stable"


def test_the_known_loss_stays_within_its_bound(messages: list[Message], qwen3: str) -> None:
    report = assert_prefix_stable(messages, template=qwen3, tools=TOOLS, accept=[REASONING])
    assert report.requests == 6


def test_switching_thinking_off_changes_the_end_of_the_prompt_only(messages: list[Message], qwen3: str) -> None:
    thinking = Toggle("enable_thinking", [True, False], expect="tail")
    assert_prefix_stable(messages, template=qwen3, tools=TOOLS, accept=[REASONING], toggles=[thinking])


def test_requests_as_they_were_sent(qwen3: str) -> None:
    assert_prefix_stable(list(play(Agent())), template=qwen3, tools=TOOLS, accept=[REASONING])
