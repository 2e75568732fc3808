"""What the lock file guards: each check is held against its line in it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from pytest_cachesafe import Accept, assert_prefix_stable

from triage import JSON, SYSTEM, TOOLS, Triage

STEPS = ("checkout", "compile", "unit", "integration", "package", "publish")
CUT = Accept(cause="edited_history", reason="old logs are cut: how often, the lock file says")


def play(triage: Triage) -> Iterator[JSON]:
    """Every request of a conversation that reads one log after the other."""
    for number, step in enumerate(STEPS):
        triage.add("user", content=f"Why did {step} fail?")
        yield triage.request()
        call = {"id": f"call_{number}", "type": "function"}
        call["function"] = {"name": "read_log", "arguments": json.dumps({"step": step})}
        triage.add("assistant", content=None, tool_calls=[call])
        log = "\n".join(f"{step} {row:02}: nothing to see in this line" for row in range(12))
        triage.add("tool", tool_call_id=call["id"], content=log)
        yield triage.request()
        triage.add("assistant", content=f"The last line of {step} says it.")


def test_a_long_conversation() -> None:
    assert_prefix_stable(list(play(Triage())), accept=[CUT], name="six logs")


@pytest.mark.cachesafe(min_cached_share=0.95)
def test_a_short_conversation() -> None:
    """A budget beside the lock file: a bound that no baseline can move."""
    assert_prefix_stable(list(play(Triage()))[:4], name="two logs")


def test_tools_and_system_text(cachesafe) -> None:
    """They are shared by all users: a change makes every cache cold, and should be meant."""
    cachesafe.snapshot(json.dumps([TOOLS, SYSTEM]), name="tools and system text")
