"""Where requests may go while traffic is captured, and how loudly it is said when they may not."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import urllib.request
from typing import Any

import pytest
from loopback import loopback

from pytest_cachesafe import UsageError
from pytest_cachesafe.providers.capture.escape import CaptureStopped, is_ours, stop
from pytest_cachesafe.providers.capture.session import capture_traffic

_WHY = "tests the HTTP libraries: pip install 'pytest-cachesafe[providers]' httpx requests aiohttp"
STOPPED = pytest.fail.Exception


def fine(path: str, body: bytes) -> tuple[int, str, list[bytes]]:
    return 200, "text/plain", [b"fine"]


@pytest.mark.parametrize("library", ["httpx2", "httpx", "requests"])
def test_an_unknown_host_fails_at_once_with_host_and_path(library: str) -> None:
    module = pytest.importorskip(library, reason=_WHY)
    with pytest.raises(STOPPED) as caught, capture_traffic():
        module.get("https://shop.example/orders/7?token=secret")
    first = str(caught.value)
    assert first.startswith("GET shop.example/orders/7: an unknown host")
    assert "secret" not in first
    assert "passthrough=[…]" in first


def test_no_except_of_an_sdk_or_an_agent_swallows_it() -> None:
    """openai would take an Exception for a broken connection and try three times."""
    httpx2 = pytest.importorskip("httpx2", reason=_WHY)
    swallowed = []

    def run() -> None:
        with capture_traffic():
            try:
                httpx2.get("https://shop.example/")
            except Exception as error:
                swallowed.append(error)

    with pytest.raises(STOPPED):
        run()
    assert swallowed == []


def test_swallowed_all_the_same_it_fails_at_the_end() -> None:
    httpx2 = pytest.importorskip("httpx2", reason=_WHY)

    def run() -> None:
        with capture_traffic():
            for url in ("https://a.example/x", "https://b.example/y"):
                with contextlib.suppress(BaseException):
                    httpx2.post(url)

    with pytest.raises(STOPPED, match=r"POST a\.example/x: an unknown host.*\(and 1 more\)"):
        run()


def test_an_error_that_follows_does_not_hide_it() -> None:
    httpx2 = pytest.importorskip("httpx2", reason=_WHY)

    def run() -> None:
        with capture_traffic():
            with contextlib.suppress(BaseException):
                httpx2.get("https://a.example/x")
            raise ValueError("no answer")

    with pytest.raises(STOPPED, match=r"a\.example/x") as caught:
        run()
    assert isinstance(caught.value.__cause__, ValueError)


def test_interrupts_and_skips_go_through() -> None:
    httpx2 = pytest.importorskip("httpx2", reason=_WHY)

    def run(outcome: BaseException) -> None:
        with capture_traffic():
            with contextlib.suppress(BaseException):
                httpx2.get("https://a.example/x")
            raise outcome

    for outcome in (KeyboardInterrupt(), pytest.skip.Exception("no")):
        with pytest.raises(type(outcome)):
            run(outcome)


def test_in_a_thread_it_fails_the_test_at_the_end() -> None:
    httpx2 = pytest.importorskip("httpx2", reason=_WHY)

    def work() -> None:
        with contextlib.suppress(BaseException):
            httpx2.get("https://a.example/x")

    def run() -> None:
        with capture_traffic():
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

    with pytest.raises(STOPPED, match=r"a\.example/x"):
        run()


def test_async_too() -> None:
    httpx2 = pytest.importorskip("httpx2", reason=_WHY)
    aiohttp = pytest.importorskip("aiohttp", reason=_WHY)

    async def one() -> None:
        async with httpx2.AsyncClient() as client:
            await client.get("https://a.example/x")

    async def other() -> None:
        async with aiohttp.ClientSession() as session, session.get("https://b.example/y"):
            pass

    for call, words in ((one, r"GET a\.example/x"), (other, r"GET b\.example/y")):
        with pytest.raises(STOPPED, match=words), capture_traffic():
            asyncio.run(call())


def closing(method: str) -> None:
    with socket.socket() as opened:
        getattr(opened, method)(("93.184.216.34", 80))


def udp() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as opened:
        opened.sendto(b"x", ("93.184.216.34", 8125))


@pytest.mark.parametrize(
    "reach",
    [
        lambda: socket.create_connection(("shop.example", 443)),
        lambda: closing("connect"),
        lambda: closing("connect_ex"),
        lambda: udp(),
        lambda: socket.getaddrinfo("shop.example", 443),
        lambda: socket.gethostbyname("shop.example"),
        lambda: urllib.request.urlopen("http://shop.example/"),
        lambda: asyncio.run(asyncio.wait_for(asyncio.open_connection("shop.example", 443), 5)),
    ],
    ids=["create_connection", "connect", "connect_ex", "sendto", "getaddrinfo", "gethostbyname", "urllib", "asyncio"],
)
def test_sockets_that_no_library_of_ours_opened(reach: Any) -> None:
    with (
        pytest.raises(STOPPED, match=r"a socket to (shop\.example|93\.184\.216\.34): an unknown host"),
        capture_traffic(),
    ):
        reach()


def test_loopback_and_unix_sockets_stay_open(tmp_path: Any) -> None:
    with loopback(fine) as server, capture_traffic() as rec:
        with urllib.request.urlopen(f"{server.url}/health") as reply:
            assert reply.read() == b"fine"
        one, other = socket.socketpair()
        one.sendall(b"x")
        assert other.recv(1) == b"x"
        one.close()
        other.close()
    assert len(server.seen) == 1
    assert rec.exchanges == []


def test_other_requests_to_loopback_go_through() -> None:
    requests = pytest.importorskip("requests", reason=_WHY)
    httpx2 = pytest.importorskip("httpx2", reason=_WHY)
    with loopback(fine) as server, capture_traffic() as rec:
        assert requests.get(f"{server.url}/health").text == "fine"
        assert httpx2.post(f"{server.url}/survey/responses", json={"answers": [1, 2]}).text == "fine"
    # The body was read to see whose it is, and sent all the same.
    assert server.seen == [("/health", b""), ("/survey/responses", b'{"answers":[1,2]}')]
    assert rec.exchanges == []


def test_passthrough_is_let_through() -> None:
    httpx2 = pytest.importorskip("httpx2", reason=_WHY)
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    with loopback(fine) as server, capture_traffic(passthrough=[server.host]) as rec:
        assert httpx2.post(f"{server.url}/v1/chat/completions", json=body).text == "fine"
    assert len(server.seen) == 1
    assert rec.exchanges == []


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client mounts other transports for a proxy; they are of the same class."""
    httpx2 = pytest.importorskip("httpx2", reason=_WHY)
    with loopback(fine) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy.url)
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        with capture_traffic() as rec:
            httpx2.post("https://api.openai.com/v1/chat/completions", json=body).raise_for_status()
        with pytest.raises(STOPPED, match="an unknown host"), capture_traffic():
            httpx2.get("http://shop.example/")
    assert proxy.seen == []
    assert len(rec.exchanges) == 1


def test_a_cloud_that_is_not_there_is_no_failure() -> None:
    """SDKs ask for a machine's own credentials and go on without them."""
    with capture_traffic(), pytest.raises(ConnectionRefusedError):
        socket.create_connection(("169.254.169.254", 80), timeout=0.1)


def test_this_machines_own_names_are_looked_up() -> None:
    with capture_traffic():
        assert socket.gethostbyname("localhost").startswith("127.")
        assert socket.getaddrinfo(None, 80)
        with socket.socket(type=socket.SOCK_DGRAM) as opened:
            assert opened.sendto(b"x", ("127.0.0.1", 9)) == 1


def test_a_library_that_is_not_captured_is_said_to_be_the_reason() -> None:
    with pytest.raises(STOPPED, match=r"api\.openai\.com: a model request went past the libraries"), capture_traffic():
        urllib.request.urlopen("http://api.openai.com/v1/chat/completions", b"{}")


def test_hosts_are_names() -> None:
    with pytest.raises(UsageError, match=r"passthrough: 'https://x\.example/v1' is no host name"):
        capture_traffic(passthrough=["https://x.example/v1"]).__enter__()
    with pytest.raises(UsageError, match=r"hosts='x\.example': a list of host names is meant"):
        capture_traffic(hosts="x.example").__enter__()


def test_groups_that_hold_it_count_as_it() -> None:
    class Group(BaseException):
        exceptions = (ValueError(), stop("x"))

    assert is_ours(Group())
    # Tests may name it either way.
    assert isinstance(stop("x"), CaptureStopped)
    assert isinstance(stop("x"), STOPPED)
    assert is_ours(CaptureStopped("x"))
    assert not is_ours(ValueError())
    assert not is_ours(None)
