"""Every way of every SDK is caught; where one got past, the test that stands beside it would fail."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest
import sdk_calls
from loopback import loopback
from sdk_calls import WAYS

from pytest_cachesafe.providers.capture.reply import Failure
from pytest_cachesafe.providers.capture.session import capture_traffic
from pytest_cachesafe.providers.capture.transports import imports

# google-genai derives a class from aiohttp's, which says that it should not.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

_INSTALL = "pip install 'pytest-cachesafe[providers]' aiohttp"
_LINES = Path(sdk_calls.__file__).read_text(encoding="utf-8").splitlines()
_CALLING = ("async with (", "create(", "stream", "generate_content", "converse(", "invoke", "chunk in")
_REMOTE = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "google.genai": "https://generativelanguage.googleapis.com",
    "boto3": "https://bedrock-runtime.us-east-1.amazonaws.com",
}


@pytest.fixture(params=list(WAYS))
def way(request: pytest.FixtureRequest) -> Any:
    found = WAYS[request.param]
    pytest.importorskip(found.sdk, reason=f"tests the real SDKs: {_INSTALL}")
    pytest.importorskip(found.library, reason=f"tests the SDKs' transports: {_INSTALL}")
    return found


def test_a_call_is_caught_and_answered(way: Any) -> None:
    """The server stands where the provider would: it must see nothing, and the recording everything."""
    with loopback() as provider, capture_traffic(["scripted, not sent"]) as rec:
        assert way.call(provider.url) == "scripted, not sent"
    assert provider.seen == []
    (exchange,) = rec.exchanges
    assert (exchange.api, exchange.library, exchange.stream) == (way.api, way.library, way.stream)
    assert exchange.status == 200
    assert exchange.predicted
    assert exchange.began_at is not None
    assert exchange.host == provider.host
    assert exchange.model is not None
    # The calls stand in a file that is no library's: the line that waits for the reply sent the request.
    assert exchange.line is not None
    name, _, row = exchange.line.rpartition(":")
    assert name.endswith("sdk_calls.py")
    assert any(word in _LINES[int(row) - 1] for word in _CALLING), _LINES[int(row) - 1]
    (chat,) = rec.requests
    assert chat.exchange is exchange
    assert chat.messages[-1]["role"] == "user"
    assert chat.generated is not None
    assert chat.generated.text == "scripted, not sent"


@pytest.fixture
def unpatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture that knows no HTTP library, as one that a new version has moved its classes away from."""
    monkeypatch.setattr(imports, "LIBRARIES", {})


def test_past_the_patches_the_call_would_reach_the_provider(way: Any, unpatched: None) -> None:
    """The companion: without the patches the server does see the request, so the test above can fail."""
    with loopback() as provider, capture_traffic() as rec:
        with pytest.raises(Exception, match=r"(?s).*"):
            way.call(provider.url)
        assert len(provider.seen) == 1
    assert rec.exchanges == []
    assert any("no request was caught" in note for note in rec.notes)


def test_past_the_patches_nothing_leaves_the_machine(way: Any, unpatched: None) -> None:
    """The last line: a socket to a remote host fails the test, through every SDK's own error handling."""
    host = _REMOTE[way.sdk]
    with pytest.raises(pytest.fail.Exception, match="a model request went past the libraries"), capture_traffic():
        way.call(host)


def test_google_genai_without_aiohttp_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    client = pytest.importorskip("google.genai._api_client", reason=f"tests the real SDKs: {_INSTALL}")
    monkeypatch.setattr(client, "has_aiohttp", False)
    with loopback() as provider, capture_traffic(["one", "two"]) as rec:
        assert WAYS["genai-async"].call(provider.url) == "one"
        assert WAYS["genai-async-stream"].call(provider.url) == "two"
    assert provider.seen == []
    assert [exchange.library for exchange in rec.exchanges] == ["httpx2", "httpx2"]


@pytest.mark.parametrize("name", [name for name in WAYS if WAYS[name].library == "aiohttp"])
def test_sessions_without_middlewares_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """aiohttp before 3.12: the reply is made from the session's arguments."""
    pytest.importorskip(WAYS[name].sdk, reason=f"tests the real SDKs: {_INSTALL}")
    library = pytest.importorskip("aiohttp", reason=f"tests the SDKs' transports: {_INSTALL}")
    from pytest_cachesafe.providers.capture.transports import aiohttp as ours

    def without(function: Any) -> Any:
        found = inspect.signature(function)
        return found.replace(parameters=[p for p in found.parameters.values() if p.name != "middlewares"])

    monkeypatch.setattr(ours, "signature", without)
    with loopback() as provider, capture_traffic(["scripted, not sent"]) as rec:
        assert WAYS[name].call(provider.url) == "scripted, not sent"
    assert provider.seen == []
    assert [exchange.library for exchange in rec.exchanges] == ["aiohttp"]

    async def ask(**options: Any) -> Any:
        async with library.ClientSession(**options) as session:
            body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            async with session.post("https://api.openai.com/v1/chat/completions", json=body) as reply:
                return reply.status

    with capture_traffic([Failure(503), Failure(503)]):
        assert asyncio.run(ask()) == 503
        with pytest.raises(library.ClientResponseError):
            asyncio.run(ask(raise_for_status=True))
