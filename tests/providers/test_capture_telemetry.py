"""Traces that libraries send beside model calls: answered, counted, not kept, and flushed before the capture ends."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import dedent

import pytest

from pytest_cachesafe.providers.capture.session import capture_traffic

_WHY = "tests the tracing of {}: pip install {}"


def run(code: str, **environment: str) -> str:
    """Run code in a fresh interpreter: tracing is set up once a process, and what escapes shows at its exit."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("LANGSMITH", "LANGCHAIN"))}
    done = subprocess.run(
        [sys.executable, "-c", dedent(code)],
        capture_output=True, text=True, timeout=180, check=False, env={**known, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # Refused or unanswered, both libraries would log an error here.
    assert done.stderr == ""
    return done.stdout


def test_langsmith_is_answered_and_flushed() -> None:
    pytest.importorskip("langchain_openai", reason=_WHY.format("LangSmith", "langchain-openai"))
    said = run(
        """
        import atexit, socket
        # Registered first, so that it runs last.
        atexit.register(lambda: print("late", tried))
        from pytest_cachesafe.providers.capture.session import capture_traffic

        tried = []
        real = socket.getaddrinfo
        def watched(host, *args, **options):
            tried.append(host)
            return real(host, *args, **options)
        socket.getaddrinfo = watched

        with capture_traffic(["traced"]) as rec:
            from langchain_openai import ChatOpenAI
            print(ChatOpenAI(model="gpt-4o").invoke("hi").content)
        print(rec.telemetry > 0, [e.path for e in rec.exchanges], rec.notes)
        """,
        LANGSMITH_TRACING="true",
        LANGSMITH_API_KEY="lsv2_not_a_key",
    )
    lines = said.splitlines()
    assert lines[0] == "traced"
    assert lines[1] == "True ['/v1/chat/completions'] []"
    # Nobody looked a host up, neither during the capture nor at exit.
    assert lines[2] == "late []"


def test_traces_of_the_agents_sdk_are_answered_and_flushed() -> None:
    pytest.importorskip("agents", reason=_WHY.format("the OpenAI Agents SDK", "openai-agents"))
    said = run(
        """
        import asyncio
        from pytest_cachesafe.providers.capture.session import capture_traffic
        with capture_traffic(["traced"]) as rec:
            from agents import Agent, Runner
            print(asyncio.run(Runner.run(Agent(name="a", instructions="Be brief."), "hi")).final_output)
        print(rec.telemetry, [e.path for e in rec.exchanges])
        """
    )
    count, _, rest = said.splitlines()[1].partition(" ")
    assert said.splitlines()[0] == "traced"
    assert int(count) >= 1
    # The traces go to the model's own host, and are no exchanges all the same.
    assert rest == "['/v1/responses']"


def test_tokens_for_vertex_are_handed_out() -> None:
    requests = pytest.importorskip("requests", reason=_WHY.format("google-auth", "requests"))
    with capture_traffic() as rec:
        reply = requests.post("https://oauth2.googleapis.com/token", data={"refresh_token": "secret"})
        assert reply.json()["access_token"]
        assert reply.json()["expires_in"] > 0
    assert rec.telemetry == 1
    assert rec.exchanges == []
    assert "secret" not in repr(vars(rec))


def test_langsmith_is_told_that_its_runs_were_accepted() -> None:
    requests = pytest.importorskip("requests", reason=_WHY.format("LangSmith", "requests"))
    with capture_traffic() as rec:
        assert requests.get("https://api.smith.langchain.com/info").status_code == 200
        assert requests.post("https://api.smith.langchain.com/runs/multipart", data=b"x").status_code == 202
        assert requests.post("https://collector.example/v1/traces", data=b"x").status_code == 200
    assert rec.telemetry == 3
