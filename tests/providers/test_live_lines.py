"""`--cachesafe-live`: the user's own SDK code against a server on loopback; predicted counters beside real ones.

The server answers in the providers' own JSON with counters of its own, so that nothing of ours decides what it says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, loopback
from own_modules import load_own_modules

pytest.importorskip("anthropic", reason="needs the anthropic SDK: pip install 'pytest-cachesafe[providers]'")
pytest.importorskip("openai", reason="needs the openai SDK: pip install 'pytest-cachesafe[providers]'")
load_own_modules()

CODE = """
import os

SYSTEM = "You are a careful support assistant. Follow the house rules. " * 200

def count(text):
    return len(text) // 10

def claude():
    import anthropic

    client = anthropic.Anthropic(base_url=os.environ["SERVER"], max_retries=0)
    history = []
    for question in ("What is due today?", "And what tomorrow?"):
        history = [*history, {"role": "user", "content": question}]
        message = client.messages.create(
            model="claude-sonnet-4-6",
            max_tokens=100,
            system=[{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
            messages=history,
        )
        history = [*history, {"role": "assistant", "content": message.content[0].text}]

def gpt():
    import openai

    client = openai.OpenAI(base_url=os.environ["SERVER"] + "/v1", max_retries=0)
    history = []
    for question in ("What is due today?", "And what tomorrow?"):
        history = [*history, {"role": "user", "content": question}]
        response = client.responses.create(model="gpt-6-sol", instructions=SYSTEM, input=history)
        history = [*history, {"role": "assistant", "content": response.output_text}]
"""
TEST = """
from code_under_test import claude, count, gpt

def test_it(llm_traffic):
    {counted}
    {call}()
"""


def anthropic_reply(counters: Mapping[str, int]) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": "Nothing."}],
        "usage": {"output_tokens": 2, **counters},
    }  # fmt: skip


def openai_reply(counters: Mapping[str, Any]) -> dict[str, Any]:
    said = {"type": "output_text", "text": "Nothing.", "annotations": []}
    return {
        "id": "resp_1", "object": "response", "created_at": 0, "model": "gpt-6-sol", "status": "completed",
        "output": [{"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [said]}],
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": {"output_tokens": 2, "total_tokens": 0, "output_tokens_details": {"reasoning_tokens": 0}, **counters},
    }  # fmt: skip


@pytest.fixture
def live(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, Loopback]]:
    """One live run against a server that answers with these replies in turn: (output, server)."""
    for name in ("CI", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "the user's own key")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root / 'rules'}")
    pytester.makeini("[pytest]\npythonpath = .\nfilterwarnings = ignore::DeprecationWarning\n")

    def run(call: str, replies: Sequence[Any], *flags: str, counted: bool = True, ok: int = 0) -> tuple[str, Loopback]:
        left = list(replies)

        def answer(path: str, body: bytes) -> tuple[int, str, list[bytes]]:
            reply = left.pop(0)
            status, found = reply if isinstance(reply, tuple) else (200, reply)
            return status, "application/json", [json.dumps(found).encode()]

        line = "llm_traffic.count_tokens = count" if counted else "pass"
        pytester.makepyfile(code_under_test=CODE, test_it=TEST.format(counted=line, call=call))
        with loopback(answer) as server:
            monkeypatch.setenv("SERVER", server.url)
            result = pytester.runpytest_inprocess("-p", "pytest_cachesafe.plugin", *flags)
        assert result.ret == ok, result.stdout.str() + result.stderr.str()
        return result.stdout.str(), server

    return run


# 61 characters 200 times, by 10: 1,220 tokens of system text (12,200 / 10); "What is due today?" is 1 (18 / 10). The
# second request holds "Nothing." (8 / 10 = 0) and "And what tomorrow?" (1) as well.
WROTE = {"input_tokens": 1, "cache_creation_input_tokens": 1220, "cache_read_input_tokens": 0}
READ = {"input_tokens": 2, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 1220}
MISSED = {"input_tokens": 2, "cache_creation_input_tokens": 1220, "cache_read_input_tokens": 0}


def lines(said: str) -> list[str]:
    return [line.partition("live, ")[2] for line in said.splitlines() if "live, " in line]


def test_anthropic_as_predicted(live: Callable[..., tuple[str, Loopback]]) -> None:
    said, server = live("claude", [anthropic_reply(WROTE), anthropic_reply(READ)], "--cachesafe-live")
    assert lines(said) == [
        "request 0 (claude-sonnet-4-6): as predicted: predicted write=1,220 read=0 uncached=1; the provider said "
        "write=1,220 read=0 uncached=1",
        "request 1 (claude-sonnet-4-6): as predicted: predicted write=0 read=1,220 uncached=2; the provider said "
        "write=0 read=1,220 uncached=2",
    ]
    assert [path for path, _ in server.seen] == ["/v1/messages"] * 2


def test_anthropic_that_did_not_read(live: Callable[..., tuple[str, Loopback]]) -> None:
    said, _ = live("claude", [anthropic_reply(WROTE), anthropic_reply(MISSED)], "--cachesafe-live")
    assert lines(said)[1] == (
        "request 1 (claude-sonnet-4-6): DIFFERENT: predicted write=0 read=1,220 uncached=2; the provider said "
        "write=1,220 read=0 uncached=2"
    )


def test_estimates_are_marked_and_differ_where_a_part_is_empty(live: Callable[..., tuple[str, Loopback]]) -> None:
    replies = [anthropic_reply(WROTE), anthropic_reply(MISSED)]
    said, _ = live("claude", replies, "--cachesafe-live", counted=False)
    first, second = lines(said)
    assert first.startswith("request 0 (claude-sonnet-4-6): as predicted: predicted about write=")
    assert "DIFFERENT: predicted about write=0 read=" in second


def test_openai_as_predicted_and_not(live: Callable[..., tuple[str, Loopback]]) -> None:
    first = {"input_tokens": 1221, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 1221}}
    # The new question's end is written: 1 token.
    later = {"input_tokens": 1222, "input_tokens_details": {"cached_tokens": 1221, "cache_write_tokens": 1}}
    said, server = live("gpt", [openai_reply(first), openai_reply(later)], "--cachesafe-live")
    assert lines(said) == [
        "request 0 (gpt-6-sol): as predicted: predicted write=1,221 read=0 uncached=0; the provider said write=1,221 "
        "read=0 uncached=0",
        "request 1 (gpt-6-sol): as predicted: predicted write=1 read=1,221 uncached=0; the provider said write=1 "
        "read=1,221 uncached=0",
    ]
    assert [path for path, _ in server.seen] == ["/v1/responses"] * 2
    none = {"input_tokens": 1222, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 1222}}
    said, _ = live("gpt", [openai_reply(first), openai_reply(none)], "--cachesafe-live")
    assert lines(said)[1].startswith("request 1 (gpt-6-sol): DIFFERENT: predicted write=1 read=1,221 uncached=0; ")


def test_a_refusal_of_the_provider_reaches_the_user(live: Callable[..., tuple[str, Loopback]]) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    said, server = live("claude", [(529, error)], "--cachesafe-live", ok=1)
    assert "OverloadedError" in said
    assert len(server.seen) == 1


def test_without_the_flag_nothing_is_sent_for_real(live: Callable[..., tuple[str, Loopback]]) -> None:
    said, server = live("claude", [])
    assert (lines(said), server.seen) == ([], [])
