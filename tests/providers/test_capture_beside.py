"""Beside other packages that stand between tests and the network: each keeps what is its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from loopback import loopback

from pytest_cachesafe.providers.capture.session import capture_traffic

_WHY = "tests beside respx, pytest-httpx, vcrpy and pytest-socket: pip install respx pytest-httpx vcrpy pytest-socket"
STOPPED = pytest.fail.Exception
CHAT = "https://api.openai.com/v1/chat/completions"
BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture(autouse=True)
def _only_named_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs inside a test load the plugin that they are about; a dozen others cost most of their time."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def said(reply: Any) -> str:
    return str(reply.json()["choices"][0]["message"]["content"])


def test_respx_answers_its_own_hosts_and_we_ours() -> None:
    respx = pytest.importorskip("respx", reason=_WHY)
    httpx = pytest.importorskip("httpx", reason=_WHY)
    with respx.mock(assert_all_called=False) as router, capture_traffic(["one", "two"]) as rec:
        router.get("https://shop.example/orders").respond(200, text="theirs")
        router.post("https://shop.example/survey/responses").respond(200, text="theirs too")
        assert httpx.get("https://shop.example/orders").text == "theirs"
        assert httpx.post("https://shop.example/survey/responses", json={"answers": []}).text == "theirs too"
        assert said(httpx.post(CHAT, json=BODY)) == "one"
    with capture_traffic(["one", "two"]) as rec, respx.mock(assert_all_called=False) as router:
        router.get("https://shop.example/orders").respond(200, text="theirs")
        assert httpx.get("https://shop.example/orders").text == "theirs"
        assert said(httpx.post(CHAT, json=BODY)) == "one"
    assert len(rec.exchanges) == 1
    # After it, an unknown host is one again.
    with pytest.raises(STOPPED, match=r"GET shop\.example/orders"), capture_traffic():
        httpx.get("https://shop.example/orders")


@pytest.mark.filterwarnings("default")
def test_pytest_httpx_answers_what_it_was_told(pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_httpx", reason=_WHY)
    pytester.makepyfile(
        f"""
        import httpx, pytest
        from pytest_cachesafe.providers.capture.session import capture_traffic

        BODY = {BODY!r}

        def test_fixture_first(httpx_mock):
            httpx_mock.add_response(url="https://shop.example/orders", text="theirs")
            with capture_traffic(["ours"]) as rec:
                assert httpx.get("https://shop.example/orders").text == "theirs"
                reply = httpx.post({CHAT!r}, json=BODY)
                assert reply.json()["choices"][0]["message"]["content"] == "ours"
            assert len(rec.exchanges) == 1

        @pytest.fixture
        def captured():
            with capture_traffic(["ours"]) as rec:
                yield rec

        def test_capture_first(captured, httpx_mock):
            # The newest mock answers everything that it sees.
            httpx_mock.add_response(url={CHAT!r}, text="theirs")
            assert httpx.post({CHAT!r}, json=BODY).text == "theirs"
            assert captured.exchanges == []

        def test_afterwards_nothing_is_left():
            assert httpx.HTTPTransport.handle_request.__module__ == "httpx._transports.default"
        """
    )
    pytester.runpytest_subprocess("-p", "pytest_httpx", "-p", "no:cacheprovider").assert_outcomes(passed=3)


@pytest.mark.parametrize("library", ["httpx2", "requests"])
def test_a_cassette_inside_a_capture_records_our_replies(library: str, tmp_path: Path) -> None:
    vcr = pytest.importorskip("vcr", reason=_WHY)
    module = pytest.importorskip(library, reason=_WHY)
    cassette = str(tmp_path / "cassette.yaml")
    with capture_traffic(["ours"]) as rec, vcr.use_cassette(cassette):
        assert said(module.post(CHAT, json=BODY)) == "ours"
    assert len(rec.exchanges) == 1
    with vcr.use_cassette(cassette, record_mode="none"):
        if library == "httpx2":
            assert said(module.post(CHAT, json=BODY)) == "ours"


def test_a_capture_inside_a_cassette_wins_and_the_cassette_plays_the_rest(tmp_path: Path) -> None:
    vcr = pytest.importorskip("vcr", reason=_WHY)
    httpx2 = pytest.importorskip("httpx2", reason=_WHY)
    cassette = str(tmp_path / "cassette.yaml")
    with loopback(lambda path, body: (200, "text/plain", [b"real"])) as server:
        with vcr.use_cassette(cassette):
            assert httpx2.get(f"{server.url}/orders").text == "real"
        with vcr.use_cassette(cassette, record_mode="none"), capture_traffic(["ours"]) as rec:
            assert said(httpx2.post(CHAT, json=BODY)) == "ours"
            assert httpx2.get(f"{server.url}/orders").text == "real"
        assert len(server.seen) == 1
    assert len(rec.exchanges) == 1


def test_with_sockets_disabled_all_is_caught(pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_socket", reason=_WHY)
    pytest.importorskip("httpx2", reason=_WHY)
    pytester.makepyfile(
        f"""
        import asyncio, socket
        import httpx2, pytest
        from pytest_cachesafe.providers.capture.session import capture_traffic

        def said(reply):
            return reply.json()["choices"][0]["message"]["content"]

        def test_caught():
            before = socket.socket
            with capture_traffic(["ours"]):
                assert said(httpx2.post({CHAT!r}, json={BODY!r})) == "ours"
            assert socket.socket is before

        async def ask():
            async with httpx2.AsyncClient() as client:
                return said(await client.post({CHAT!r}, json={BODY!r}))

        def test_async():
            with capture_traffic(["ours"]):
                assert asyncio.run(ask()) == "ours"

        def test_their_guard_still_stands():
            with pytest.raises(Exception, match="socket"):
                socket.socket(socket.AF_INET)
        """
    )
    pytester.makeini("[pytest]\nfilterwarnings =\n    ignore::UserWarning\n")
    done = pytester.runpytest_subprocess(
        "-p", "pytest_socket", "--disable-socket", "--allow-unix-socket", "-p", "no:cacheprovider"
    )
    done.assert_outcomes(passed=3)


def test_under_xdist(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist", reason="tests under pytest-xdist: pip install pytest-xdist")
    pytest.importorskip("httpx2", reason=_WHY)
    pytester.makepyfile(
        f"""
        import httpx2, pytest
        from pytest_cachesafe.providers.capture.session import capture_traffic

        CLIENT = httpx2.Client()

        @pytest.mark.parametrize("number", range(8))
        def test_it(number):
            with capture_traffic([f"re {{number}}"]) as rec:
                user = [{{"role": "user", "content": str(number)}}]
                reply = CLIENT.post({CHAT!r}, json={{"model": "m", "messages": user}})
            assert reply.json()["choices"][0]["message"]["content"] == f"re {{number}}"
            assert [e.body["messages"] for e in rec.exchanges] == [user]
        """
    )
    pytester.runpytest_subprocess("-p", "xdist", "-n", "2", "-p", "no:cacheprovider").assert_outcomes(passed=8)
