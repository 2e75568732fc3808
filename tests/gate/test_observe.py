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


# Plugins that try a test again, as they do it: all of it, the call, the function.
LOOPS = {
    "all": """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    for attempt in range(2):
        runtestprotocol(item, nextitem=nextitem)
    return True
""",
    "call": """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    if call.when == "call":
        item.ihook.pytest_runtest_call(item=item)
    return (yield)
""",
    "function": """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    item.runtest()
    return (yield)
""",
}
SESSION = """
import agent, pytest, uuid

@pytest.fixture
def system():
    return None

def test_session(system):
    text = system or f"Session {uuid.uuid4()}. " + agent.MANUAL
    agent.support(1, lambda: text)
"""


@pytest.mark.parametrize("way", LOOPS)
def test_attempts_of_a_test_are_not_compared(project: pytest.Pytester, way: str) -> None:
    project.makeconftest(LOOPS[way])
    said = run(project, SESSION).stdout.str()
    # Each attempt asked the same with an id of its own.
    assert "cachesafe observe: 2 requests in 2 conversations of 1 test were seen, none continues another" in said


RERUN = """
import agent, pytest, uuid

TRIES = []

@pytest.mark.flaky(reruns=2)
def test_session():
    TRIES.append(1)
    text = f"Session {uuid.uuid4()}. " + agent.MANUAL
    agent.support(3 if TURNS else 1, lambda: text)
    if TURNS and len(TRIES) < 2:
        agent.support(2, agent.clocked if BROKEN else lambda: text)
    assert len(TRIES) > 2
"""


def rerun(project: pytest.Pytester, *flags: str, turns: bool = True, broken: bool = False) -> str:
    pytest.importorskip("pytest_rerunfailures", reason="needs pytest-rerunfailures")
    head = f"TURNS = {turns}\nBROKEN = {broken}\nimport agent\nagent.CLOCK[:] = ['10:41:01', '10:41:02']\n"
    return str(run(project, head + RERUN, "-p", "pytest_rerunfailures", *flags).stdout.str())


def test_each_attempt_counts_its_requests_once(project: pytest.Pytester) -> None:
    said = rerun(project)
    # The first attempt asks five times, the others three times.
    assert "cachesafe observe: 11 requests in 3 conversations of 1 test keep their prefix" in said, said
    assert "3 requests in 3 conversations of 1 test were seen, none" in rerun(project, turns=False)


def test_what_one_attempt_loses_is_told_of_that_attempt(project: pytest.Pytester) -> None:
    said = rerun(project, broken=True)
    assert "1 conversation loses its prefix:" in said
    assert "(and " not in said


def test_a_conversation_that_breaks_in_each_attempt_is_one_each_time(project: pytest.Pytester) -> None:
    project.makeconftest(LOOPS["all"])
    said = run(project, "import agent, pytest\n" + CLOCKED).stdout.str()
    assert "12 requests in 4 conversations of 2 tests" in said
    assert "4 conversations lose their prefix:" in said
    assert "(and 1 more)" in said


def test_the_test_that_is_told_is_the_one_to_run_next(project: pytest.Pytester) -> None:
    longer = CLOCKED.replace("agent.support(3,", "agent.support(2 + number,")
    said = run(project, "import agent, pytest\n" + longer).stdout.str()
    assert "test:   test_it.py::test_clock[1] (and 1 more)" in said
    assert "run pytest --cachesafe-observe 'test_it.py::test_clock[1]';" in said


TWO = """
import agent, uuid

def pinned(changes=False):
    text = f"Session {uuid.uuid4()}. " + agent.MANUAL
    return lambda: f"Session {uuid.uuid4()}. " + agent.MANUAL if changes else text

def test_two():
    agent.support(3, pinned())
    agent.support(2, pinned(CHANGES))
    agent.support(1, pinned())
"""


def test_two_chats_that_open_alike_are_two(project: pytest.Pytester) -> None:
    said = run(project, "CHANGES = False\n" + TWO).stdout.str()
    assert "cachesafe observe: 6 requests in 3 conversations of 1 test keep their prefix" in said
    said = run(project, "CHANGES = True\n" + TWO).stdout.str()
    assert "1 conversation loses its prefix:" in said
    assert "an id, uuid or hash changed at system[0]" in said


HELPER = """
import agent, itertools
SECONDS = itertools.count(10)
MANUAL = "Read it. " * 900

def now_text():
    return f"10:41:{next(SECONDS)}"

def test_clock():
    agent.support(2, lambda: now_text() + MANUAL)
"""


def test_a_helper_of_the_test_file_that_opens_the_prompt_is_named(project: pytest.Pytester) -> None:
    run(project, HELPER).stdout.fnmatch_lines(["*built:  test_it.py:9, now_text()*"])
