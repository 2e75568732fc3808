"""Nested, repeated and overlapping captures leave every patched class as it was; late imports are patched as well."""

from __future__ import annotations

import importlib
import socket
import subprocess
import sys
from contextlib import ExitStack
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.providers.capture.session import capture_traffic
from pytest_cachesafe.providers.capture.transports.patches import Hub, hub

_WHY = "tests the HTTP libraries: pip install 'pytest-cachesafe[providers]' httpx requests aiohttp"
_POINTS = (
    ("httpx2", "HTTPTransport", "handle_request"),
    ("httpx2", "AsyncHTTPTransport", "handle_async_request"),
    ("httpx", "HTTPTransport", "handle_request"),
    ("httpx", "AsyncHTTPTransport", "handle_async_request"),
    ("aiohttp", "ClientSession", "_request"),
    ("requests.adapters", "HTTPAdapter", "send"),
    ("botocore.httpsession", "URLLib3Session", "send"),
)


def owners() -> list[tuple[Any, str]]:
    """Everything that a capture may touch, of what is installed."""
    found: list[tuple[Any, str]] = [(socket.socket, name) for name in ("connect", "connect_ex", "sendto")]
    found += [(socket, name) for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex")]
    for module, cls, name in _POINTS:
        try:
            found.append((getattr(importlib.import_module(module), cls), name))
        except ImportError:
            continue
    return found


def entries() -> list[tuple[Any, str, Any]]:
    """What stands in each owner's own dict: an inherited method must not become an own one."""
    return [(owner, name, vars(owner).get(name, "inherited")) for owner, name in owners()]


def test_an_inherited_method_is_inherited_again() -> None:
    class Above:
        def send(self) -> str:
            return "real"

    class Owner(Above):
        pass

    made, gate = Hub(), object()
    made.enter(gate, lambda: made.replace(Owner, "send", lambda was: lambda self: f"ours({was(self)})"))  # type: ignore[arg-type]
    assert Owner().send() == "ours(real)"
    assert Above().send() == "real"
    made.leave(gate)  # type: ignore[arg-type]
    assert Owner().send() == "real"
    assert "send" not in vars(Owner)


def wrapped(was: Any) -> Any:
    return lambda self: f"ours({was(self)})"


def test_what_an_inner_capture_was_first_to_patch_stays_patched_for_the_outer_one() -> None:
    """A library that is imported inside the inner capture."""

    class Owner:
        def send(self) -> str:
            return "real"

    made, outer, inner = Hub(), object(), object()
    made.enter(outer, lambda: None)  # type: ignore[arg-type]
    made.enter(inner, lambda: made.replace(Owner, "send", wrapped))  # type: ignore[arg-type]
    made.leave(inner)  # type: ignore[arg-type]
    assert Owner().send() == "ours(real)"
    made.leave(outer)  # type: ignore[arg-type]
    assert Owner().send() == "real"


def test_a_mock_between_two_captures_answers_again_after_the_inner_one() -> None:
    class Owner:
        def send(self) -> str:
            return "real"

    made, outer, inner = Hub(), object(), object()

    def install() -> None:
        made.replace(Owner, "send", wrapped)

    made.enter(outer, install)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Owner, "send", lambda self: "mock")
        made.enter(inner, install)  # type: ignore[arg-type]
        assert Owner().send() == "ours(mock)"
        made.leave(inner)  # type: ignore[arg-type]
        assert Owner().send() == "mock"
    assert Owner().send() == "ours(real)"
    made.leave(outer)  # type: ignore[arg-type]
    assert Owner().send() == "real"


def test_sockets_are_guarded_for_as_long_as_a_capture_runs() -> None:
    before = socket.socket.connect
    with capture_traffic():
        assert socket.socket.connect is not before
    assert socket.socket.connect is before


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.booleans())
def test_in_whatever_order_captures_begin_and_end_all_is_as_before(order: list[int], fails: bool) -> None:
    """Each number starts its capture when it comes up first, and ends it the next time; what is left ends at last."""
    before, path = entries(), list(sys.meta_path)
    running: dict[int, Any] = {}
    with ExitStack() as rest:
        for number in order:
            if number in running:
                running.pop(number).__exit__(None, None, None)
            else:
                made = capture_traffic()
                made.__enter__()
                running[number] = made
            assert (hub.gate() is None) == (not running)
        for made in running.values():
            rest.callback(made.__exit__, None, None, None)
    assert entries() == before
    assert sys.meta_path == path
    assert hub.gate() is None
    if fails:
        with pytest.raises(ZeroDivisionError), capture_traffic(), capture_traffic():
            _ = 1 / 0
        assert entries() == before


def test_the_innermost_capture_answers_and_the_outer_one_again_after_it() -> None:
    httpx2 = pytest.importorskip("httpx2", reason=_WHY)
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}

    def ask() -> str:
        reply = httpx2.post("https://api.openai.com/v1/chat/completions", json=body)
        return str(reply.json()["choices"][0]["message"]["content"])

    with capture_traffic("outer") as outer:
        assert ask() == "outer"
        with capture_traffic("inner") as inner:
            assert ask() == "inner"
        assert ask() == "outer"
    assert (len(outer.exchanges), len(inner.exchanges)) == (2, 1)


def test_somebody_elses_patch_on_top_is_left_alone() -> None:
    class Owner:
        def send(self) -> str:
            return "real"

    original = Owner.send
    made, gate = Hub(), object()
    made.enter(gate, lambda: made.replace(Owner, "send", lambda was: lambda self: f"ours({was(self)})"))  # type: ignore[arg-type]
    ours = Owner.send

    def theirs(self: Any) -> str:
        return f"theirs({ours(self)})"

    Owner.send = theirs  # type: ignore[method-assign]
    made.leave(gate)  # type: ignore[arg-type]
    assert Owner.send is theirs
    assert Owner().send() == "theirs(ours(real))"
    Owner.send = original  # type: ignore[method-assign]


def test_a_point_is_patched_once_however_often_it_is_asked_for() -> None:
    class Owner:
        def send(self) -> str:
            return "real"

    made, gate = Hub(), object()

    def install() -> None:
        for _ in range(3):
            made.replace(Owner, "send", lambda was: lambda self: f"ours({was(self)})")

    made.enter(gate, install)  # type: ignore[arg-type]
    assert Owner().send() == "ours(real)"
    made.leave(gate)  # type: ignore[arg-type]
    assert Owner().send() == "real"


def run(code: str) -> str:
    """Run code in a fresh interpreter, where nothing is imported yet."""
    done = subprocess.run(
        [sys.executable, "-c", dedent(code)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_libraries_imported_during_a_capture_are_patched_and_none_is_imported_for_it() -> None:
    for module in ("httpx2", "aiohttp", "requests", "botocore"):
        pytest.importorskip(module, reason=_WHY)
    said = run(
        """
        import sys
        from pytest_cachesafe.providers.capture.session import capture_traffic
        heavy = ("httpx2", "httpx", "aiohttp", "requests", "botocore", "anthropic", "pytest", "transformers")
        with capture_traffic(["one", "two", "three", "four"]) as rec:
            print([name for name in heavy if name in sys.modules])
            import httpx2
            body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            reply = httpx2.post("https://api.openai.com/v1/chat/completions", json=body)
            print(reply.json()["choices"][0]["message"]["content"])
            import requests
            reply = requests.post("https://api.openai.com/v1/chat/completions", json=body)
            print(reply.json()["choices"][0]["message"]["content"])
            import asyncio, aiohttp
            async def ask():
                async with aiohttp.ClientSession() as session:
                    async with session.post("https://api.openai.com/v1/chat/completions", json=body) as reply:
                        return (await reply.json())["choices"][0]["message"]["content"]
            print(asyncio.run(ask()))
            from botocore.awsrequest import AWSRequest
            from botocore.httpsession import URLLib3Session
            asked = b'{"messages": [{"role": "user", "content": [{"text": "x"}]}]}'
            url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse"
            import json
            got = URLLib3Session().send(AWSRequest("POST", url, data=asked).prepare())
            print(json.loads(got.content)["output"]["message"]["content"][0]["text"])
        print([e.library for e in rec.exchanges])
        # As if nobody had stood between.
        print(type(httpx2.__spec__.loader).__name__, type(httpx2.__loader__).__name__)
        print(httpx2.HTTPTransport.handle_request.__module__)
        """
    )
    assert said.splitlines() == [
        "[]",
        "one",
        "two",
        "three",
        "four",
        "['httpx2', 'requests', 'aiohttp', 'botocore']",
        "SourceFileLoader SourceFileLoader",
        "httpx2._transports.default",
    ]


def test_a_client_made_before_the_capture_is_caught() -> None:
    """Module-level clients, clients of a framework's cache, of a session fixture."""
    anthropic = pytest.importorskip("anthropic", reason=_WHY)
    client = anthropic.Anthropic(api_key="made long ago")
    user = [{"role": "user", "content": "hi"}]
    for word in ("first", "second"):
        with capture_traffic(word) as rec:
            assert client.messages.create(model="m", max_tokens=9, messages=user).content[0].text == word
        assert len(rec.exchanges) == 1


def test_an_alias_is_one_library() -> None:
    pytest.importorskip("httpx2", reason=_WHY)
    said = run(
        """
        import httpx2
        httpx2.alias_httpx()
        import httpx
        assert httpx is httpx2
        before = httpx2.HTTPTransport.handle_request
        from pytest_cachesafe.providers.capture.session import capture_traffic
        with capture_traffic(["one"]) as rec:
            body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            reply = httpx.post("https://api.openai.com/v1/chat/completions", json=body)
            print(reply.json()["choices"][0]["message"]["content"])
        assert httpx2.HTTPTransport.handle_request is before
        print(len(rec.exchanges))
        """
    )
    assert said.split() == ["one", "1"]


def test_a_capture_alone_imports_no_sdk() -> None:
    said = run(
        """
        import sys
        import pytest_cachesafe.providers.capture.session
        from pytest_cachesafe.providers.capture.session import capture_traffic
        with capture_traffic():
            pass
        sdks = ("anthropic", "openai", "google.genai", "boto3", "httpx2", "httpx", "aiohttp", "requests")
        print([name for name in sdks if name in sys.modules])
        """
    )
    assert said.strip() == "[]"


def test_dummy_keys_fill_in_and_go_away(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    names = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AWS_ACCESS_KEY_ID")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", "the user's own")
    monkeypatch.setenv("OPENAI_API_KEY", "the user's own")
    before = dict(os.environ)
    with capture_traffic():
        assert os.environ["ANTHROPIC_API_KEY"]
        assert os.environ["OPENAI_API_KEY"] == "the user's own"
        # google-genai warns where both are set.
        assert "GEMINI_API_KEY" not in os.environ
        assert os.environ["AWS_EC2_METADATA_DISABLED"] == "true"
    assert dict(os.environ) == before
