"""httpx2, and httpx where something still uses it: the same two methods, in the same classes."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from pytest_cachesafe.providers.capture.raw import RawReply, RawRequest
from pytest_cachesafe.providers.capture.transports.gate import Gate, Watch
from pytest_cachesafe.providers.capture.transports.patches import hub
from pytest_cachesafe.providers.capture.transports.turns import others_turn, others_turn_async

__all__ = ["install"]


def install(module: Any) -> None:
    """Patch one of the two libraries; classes shared by both (an alias) are patched once."""
    made = _Types(module)
    hub.replace(module.HTTPTransport, "handle_request", lambda original: _sync(made, original))
    hub.replace(module.AsyncHTTPTransport, "handle_async_request", lambda original: _async(made, original))
    name = f"{module.__name__}.MockTransport"
    hub.replace(module.MockTransport, "handle_request", lambda original: _seen(name, original))
    hub.replace(module.MockTransport, "handle_async_request", lambda original: _seen(name, original))


class _Types:
    """The library's own classes: its client refuses those of the other one."""

    def __init__(self, module: Any) -> None:
        self.library: str = module.__name__
        self.response = module.Response

        class Stream(module.SyncByteStream):  # type: ignore[misc]
            def __init__(self, chunks: Iterable[bytes], below: Any = None) -> None:
                self.chunks, self.below = chunks, below

            def __iter__(self) -> Iterator[bytes]:
                yield from self.chunks

            def close(self) -> None:
                _close(self.chunks)
                if self.below is not None:
                    self.below.close()

        class AsyncStream(module.AsyncByteStream):  # type: ignore[misc]
            def __init__(self, chunks: Iterable[bytes]) -> None:
                self.chunks = chunks

            async def __aiter__(self) -> AsyncIterator[bytes]:
                for chunk in self.chunks:
                    yield chunk

            async def aclose(self) -> None:
                _close(self.chunks)

        class Watched(module.AsyncByteStream):  # type: ignore[misc]
            def __init__(self, below: Any, watch: Watch) -> None:
                self.below, self.watch = below, watch

            async def __aiter__(self) -> AsyncIterator[bytes]:
                async for chunk in self.below:
                    self.watch.chunk(chunk)
                    yield chunk
                self.watch.end()

            async def aclose(self) -> None:
                self.watch.end()
                await self.below.aclose()

        self.stream, self.async_stream, self.watched = Stream, AsyncStream, Watched

    def reply(self, raw: RawReply, stream: Any) -> Any:
        """The library's response."""
        return self.response(raw.status, headers=raw.headers, stream=stream, extensions={"http_version": b"HTTP/1.1"})


def _close(chunks: Iterable[bytes]) -> None:
    close = getattr(chunks, "close", None)
    if close is not None:
        close()


def _mocked(original: Any, library: str) -> bool:
    """Whether another mock answers beneath: a method that is not the library's, or a respx router that is started."""
    if (getattr(original, "__module__", None) or library).partition(".")[0] != library:
        return True
    mocks: Any = sys.modules.get("respx.mocks")
    return mocks is not None and any(mocker.routers for mocker in mocks.Mocker.registry.values())


def _taken(gate: Gate, request: Any, original: Any, library: str) -> RawRequest | None:
    """The request without its body if it is to be answered."""
    raw = RawRequest(request.method, str(request.url), request.headers.multi_items(), b"", library)
    raw.mocked = _mocked(original, library)
    return raw if gate.takes(raw.method, raw.url, raw.headers, mocked=raw.mocked) else None


def _sync(made: _Types, original: Any) -> Any:
    def handle_request(self: Any, request: Any) -> Any:
        gate = hub.gate()
        raw = None if gate is None else _taken(gate, request, original, made.library)
        if gate is None or raw is None:
            return original(self, request)
        raw.body = request.read()
        reply = gate.answer(raw)
        if reply is None:
            return original(self, request)
        if isinstance(reply, RawReply):
            others_turn()
            return made.reply(reply, made.stream(reply.chunks))
        response = original(self, request)
        reply.status(response.status_code, dict(response.headers))
        response.stream = made.stream(_tee(response.stream, reply), response.stream)
        return response

    return handle_request


def _async(made: _Types, original: Any) -> Any:
    async def handle_async_request(self: Any, request: Any) -> Any:
        gate = hub.gate()
        raw = None if gate is None else _taken(gate, request, original, made.library)
        if gate is None or raw is None:
            return await original(self, request)
        raw.body = await request.aread()
        reply = gate.answer(raw)
        if reply is None:
            return await original(self, request)
        if isinstance(reply, RawReply):
            await others_turn_async()
            return made.reply(reply, made.async_stream(reply.chunks))
        response = await original(self, request)
        reply.status(response.status_code, dict(response.headers))
        response.stream = made.watched(response.stream, reply)
        return response

    return handle_async_request


def _seen(name: str, original: Any) -> Any:
    """A user's own mock answers; that it did explains why nothing got here."""

    def handle(self: Any, request: Any) -> Any:
        gate = hub.gate()
        if gate is not None:
            gate.answered_elsewhere(name, request.method, str(request.url))
        # A coroutine in the one case, a response in the other.
        return original(self, request)

    return handle


def _tee(below: Iterable[bytes], watch: Watch) -> Iterator[bytes]:
    try:
        for chunk in below:
            watch.chunk(chunk)
            yield chunk
    finally:
        watch.end()
