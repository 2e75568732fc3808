"""aiohttp: `ClientSession._request`.

Since 3.12 the session calls middlewares around the moment a request is sent: ours is the innermost, so that headers,
cookies, payloads, redirects, tracing and the user's own middlewares are all real. Earlier sessions get a reply that is
made from their arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from inspect import Parameter, signature
from typing import Any

from pytest_cachesafe.providers.capture.raw import RawReply, RawRequest
from pytest_cachesafe.providers.capture.transports.patches import hub
from pytest_cachesafe.providers.capture.transports.turns import others_turn_async

__all__ = ["install"]


def install(module: Any) -> None:
    """Patch `aiohttp`."""
    hub.replace(module.ClientSession, "_request", _request)


def _request(original: Any) -> Any:
    mocked = (getattr(original, "__module__", None) or "").partition(".")[0] != "aiohttp"
    known = {} if mocked else signature(original).parameters

    async def request(self: Any, method: str, str_or_url: Any, **options: Any) -> Any:
        gate = hub.gate()
        if gate is None:
            return await original(self, method, str_or_url, **options)
        url = str(self._build_url(str_or_url) if hasattr(self, "_build_url") else str_or_url)
        headers = [(str(k), str(v)) for k, v in self._prepare_headers(options.get("headers")).items()]
        if not gate.takes(method.upper(), url, headers, mocked=mocked):
            return await original(self, method, str_or_url, **options)
        if "middlewares" not in known:
            return await _from_arguments(self, original, gate, method.upper(), url, str_or_url, options)
        given = options.get("middlewares")
        outer = tuple(getattr(self, "_middlewares", ()) or ()) if given is None else tuple(given)
        return await original(
            self, method, str_or_url, **{**options, "middlewares": (*outer, _innermost(gate, self, mocked))}
        )

    return request


def _innermost(gate: Any, session: Any, mocked: bool) -> Any:
    async def middleware(request: Any, handler: Any) -> Any:
        headers = [(str(k), str(v)) for k, v in request.headers.items()]
        body = await _payload(request.body)
        reply = gate.answer(RawRequest(request.method, str(request.url), headers, body, "aiohttp", mocked))
        if isinstance(reply, RawReply):
            await others_turn_async()
            return await _response(session, request.method, request.url, request.headers, reply)
        response = await handler(request)
        if reply is not None:
            await _listen(response, reply)
        return response

    return middleware


async def _listen(response: Any, watch: Any) -> None:
    """Read a real reply whole; the response keeps it for whoever reads next."""
    watch.status(response.status, dict(response.headers))
    data = await response.read()
    watch.chunk(data)
    watch.end()
    response.content = _reader(response, (data,))


async def _payload(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    if isinstance(body, str):
        return body.encode()
    if hasattr(body, "as_bytes"):
        data: bytes = await body.as_bytes()
        return data
    if hasattr(body, "__aiter__"):
        return b"".join([bytes(piece) async for piece in body])
    if isinstance(body, Iterable):
        return b"".join(bytes(piece) for piece in body)
    return b""


async def _from_arguments(
    session: Any, original: Any, gate: Any, method: str, url: str, asked: Any, options: dict[str, Any]
) -> Any:
    target: Any = sys.modules["yarl"].URL(url)
    if options.get("params"):
        target = target.update_query(options["params"])
    headers = session._prepare_headers(options.get("headers"))
    if options.get("json") is not None:
        body = session._json_serialize(options["json"]).encode()
    else:
        body = await _payload(options.get("data"))
    pairs = [(str(k), str(v)) for k, v in headers.items()]
    reply = gate.answer(RawRequest(method, str(target), pairs, body, "aiohttp", True))
    if not isinstance(reply, RawReply):
        response = await original(session, method, asked, **options)
        if reply is not None:
            await _listen(response, reply)
        return response
    await others_turn_async()
    response = await _response(session, method, target, headers, reply)
    check = options.get("raise_for_status")
    check = getattr(session, "_raise_for_status", None) if check is None else check
    if callable(check):
        await check(response)
    elif check:
        response.raise_for_status()
    return response


async def _response(session: Any, method: str, url: Any, headers: Any, reply: RawReply) -> Any:
    """A real response; its constructor differs between versions, so that it is asked what it wants."""
    import asyncio

    # The library's own, loaded by what is patched here.
    library: Any = sys.modules["aiohttp"]
    dicts: Any = sys.modules["multidict"]
    info = library.RequestInfo(url, method, dicts.CIMultiDictProxy(dicts.CIMultiDict(headers)), url)
    made = session._response_class
    offered: dict[str, Any] = {
        "writer": None, "continue100": None, "timer": library.helpers.TimerNoop(), "request_info": info, "traces": [],
        "loop": asyncio.get_running_loop(), "session": session, "stream_writer": _Idle(),
    }  # fmt: skip
    wanted = signature(made.__init__).parameters.values()
    response = made(method, url, **{p.name: offered[p.name] for p in wanted if p.name in offered and p.kind in _NAMED})
    response.status = reply.status
    response.reason = ""
    response.version = None
    pairs = dicts.CIMultiDict(reply.headers)
    response._headers = dicts.CIMultiDictProxy(pairs)
    response._raw_headers = tuple((k.encode(), v.encode()) for k, v in pairs.items())
    response._closed = False
    response.content = _reader(response, reply.chunks)
    return response


class _Idle:
    """Writer and protocol of a connection that there is not."""

    output_size = 0
    connected = True
    _reading_paused = False

    def pause_reading(self, *args: Any, **options: Any) -> None:
        """Nothing is read ahead."""

    def resume_reading(self, *args: Any, **options: Any) -> None:
        """Nothing was paused."""


_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def _reader(response: Any, chunks: Iterable[bytes]) -> Any:
    """A stream of the library's own, which takes the next chunk only when somebody waits for it."""
    import asyncio

    source = iter(chunks)
    base: Any = sys.modules["aiohttp.streams"].StreamReader

    class Reader(base):  # type: ignore[misc]
        async def _wait(self, func_name: str) -> None:
            self._pull()

        def _pull(self) -> None:
            chunk = next(source, None)
            if chunk is None:
                self.feed_eof()
            elif chunk:
                self.feed_data(chunk)

    loop = asyncio.get_running_loop()
    protocol: Any = _Idle()
    reader = Reader(protocol, limit=2**30, loop=loop)
    reader.on_eof(response._response_eof)
    return reader
