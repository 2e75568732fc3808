"""`--cachesafe-observe`: an unchanged suite with its own fakes, watched; one screen at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from own_modules import load_own_modules

pytest.importorskip("anthropic", reason="needs the anthropic SDK: pip install 'pytest-cachesafe[providers]'")
pytest.importorskip("openai", reason="needs the openai SDK: pip install 'pytest-cachesafe[providers]'")

load_own_modules()

# A suite as its owner wrote it: a mock transport of its own, sub-agents, a retry, one clock in a system prompt.
AGENT = """
import anthropic, httpx2, openai

MANUAL = "Answer from the manual. " * 300
FAIL = []

def now_text():
    return CLOCK.pop(0) if CLOCK else "10:00:00"

CLOCK = []

def clocked():
    return f"You are a support bot. Current time: {now_text()}. " + MANUAL

def respond(request):
    if FAIL:
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}
        return httpx2.Response(FAIL.pop(), json=error)
    if "anthropic" in str(request.url):
        return httpx2.Response(200, json={
            "id": "m", "type": "message", "role": "assistant", "model": "claude-opus-5", "stop_reason": "end_turn",
            "stop_sequence": None, "content": [{"type": "text", "text": "ok"}],
            "usage": {"input_tokens": 5, "output_tokens": 1}})
    return httpx2.Response(200, json={
        "id": "c", "object": "chat.completion", "created": 1, "model": "gpt-6-sol",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}})

http = httpx2.Client(transport=httpx2.MockTransport(respond))
claude = anthropic.Anthropic(api_key="x", http_client=http)
gpt = openai.OpenAI(api_key="x", http_client=http)

def support(turns, system=lambda: "You are a support bot. " + MANUAL, sub=False):
    history = []
    for turn in range(turns):
        history.append({"role": "user", "content": f"question {turn}"})
        mark = {"cache_control": {"type": "ephemeral"}}
        claude.messages.create(model="claude-opus-5", max_tokens=9, messages=history,
                               system=[{"type": "text", "text": system(), **mark}])
        history.append({"role": "assistant", "content": "ok"})
        if sub:
            claude.messages.create(model="claude-haiku-5-5", max_tokens=9, system="You write titles.",
                                   messages=[{"role": "user", "content": f"title for question {turn}"}])

def coder(turns):
    history = [{"role": "system", "content": "You write code. " + MANUAL}]
    for turn in range(turns):
        history.append({"role": "user", "content": f"task {turn}"})
        gpt.chat.completions.create(model="gpt-6-sol", messages=history)
        history.append({"role": "assistant", "content": "ok"})
"""
CLEAN = """
import agent, pytest

@pytest.mark.parametrize("number", range(6))
def test_support(number):
    agent.support(3, sub=True)

@pytest.mark.parametrize("number", range(4))
def test_coder(number):
    agent.coder(3)

def test_retry():
    agent.FAIL.append(529)
    agent.support(2)
"""
CLOCKED = """

@pytest.mark.parametrize("number", range(2))
def test_clock(number):
    agent.CLOCK[:] = ["10:41:01", "10:41:02", "10:41:03"]
    agent.support(3, agent.clocked)
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project of somebody who does not know us."""
    for name in ("CI", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root / 'rules'}")
    pytester.makeini("[pytest]\npythonpath = .\n")
    return pytester


def run(project: pytest.Pytester, tests: str, *flags: str, ok: int = 0, apart: bool = False) -> Any:
    """One run; `apart` in a process of its own, where the SDKs are imported behind our plugin."""
    project.makepyfile(agent=AGENT, test_it=tests)
    start = project.runpytest_subprocess if apart or "-n" in flags else project.runpytest_inprocess
    result = start("-p", "pytest_cachesafe.plugin", "--cachesafe-observe", *flags)
    assert result.ret == ok, result.stdout.str() + result.stderr.str()
    return result


def test_a_clean_suite_prints_one_quiet_line(project: pytest.Pytester) -> None:
    result = run(project, CLEAN)
    # 6 x (3 + 3 titles) + 4 x 3 + 3; the titles are requests of their own, one conversation each.
    said = [line for line in result.outlines if "cachesafe observe" in line]
    assert said == ["cachesafe observe: 51 requests in 29 conversations of 11 tests keep their prefix"]
    assert "cachesafe notes" not in result.stdout.str()


def test_the_broken_conversations_are_listed_with_the_line_that_did_it(project: pytest.Pytester) -> None:
    result = run(project, CLEAN + CLOCKED, apart=True)
    result.stdout.fnmatch_lines(
        [
            "*cachesafe observe*",
            "57 requests in 31 conversations of 13 tests (anthropic 45, openai 12*",
            "2 conversations lose their prefix:",
            "*a time of day changed at system*",
            "*test:   test_it.py::test_clock*(and 1 more)",
            "*built:  agent.py:12, now_text()*",
            "*sent:   agent.py:*",
            "*lost:   about *tokens in 2 requests; about *USD per 1,000 chats",
            "*fix:*",
            "next: *",
        ]
    )
    assert result.stdout.str().count("error: ") == 1
    assert result.parseoutcomes() == {"passed": 13}


def test_it_fails_only_if_asked(project: pytest.Pytester) -> None:
    run(project, "import agent, pytest\n" + CLOCKED, "--cachesafe-observe-fail", ok=1)


def test_workers_hand_over_what_they_saw(project: pytest.Pytester) -> None:
    result = run(project, CLEAN + CLOCKED, "-p", "xdist", "-n", "2")
    result.stdout.fnmatch_lines(
        ["57 requests in 31 conversations of 13 tests (anthropic 45, openai 12*", "2 conversations lose their prefix:"]
    )


def test_redaction_holds(project: pytest.Pytester) -> None:
    result = run(project, "import agent, pytest\n" + CLOCKED, "--cachesafe-redact=text")
    assert "10:41" not in result.stdout.str()
    assert "support bot. Current" not in result.stdout.str()


def test_a_suite_that_sends_nothing_is_told_so(project: pytest.Pytester) -> None:
    result = run(project, "def test_nothing():\n    pass\n")
    result.stdout.fnmatch_lines(["cachesafe observe: no LLM request of an SDK was seen*"])
