"""requests: `HTTPAdapter.send`, below sessions and their hooks."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from pytest_cachesafe.providers.capture.raw import RawReply, RawRequest
from pytest_cachesafe.providers.capture.transports.file_like import Chunks
from pytest_cachesafe.providers.capture.transports.patches import hub
from pytest_cachesafe.providers.capture.transports.turns import others_turn

__all__ = ["install"]


def install(module: Any) -> None:
    """Patch `requests.adapters`."""
    hub.replace(module.HTTPAdapter, "send", _send)


def _send(original: Any) -> Any:
    def send(self: Any, request: Any, *args: Any, **options: Any) -> Any:
        gate = hub.gate()
        if gate is None:
            return original(self, request, *args, **options)
        headers = [(str(k), _text(v)) for k, v in request.headers.items()]
        mocked = (getattr(original, "__module__", None) or "").partition(".")[0] != "requests"
        if not gate.takes(str(request.method), str(request.url), headers, mocked=mocked):
            return original(self, request, *args, **options)
        body = _body(request.body)
        if not isinstance(request.body, (str, bytes, type(None))):
            # An iterator is used up now.
            request.body = body
        reply = gate.answer(RawRequest(str(request.method), str(request.url), headers, body, "requests", mocked))
        if isinstance(reply, RawReply):
            others_turn()
            return _response(self, request, reply)
        response = original(self, request, *args, **options)
        if reply is not None:
            reply.status(response.status_code, dict(response.headers))
            # Read whole: the body is kept by the response, and comes in pieces all the same.
            reply.chunk(response.content)
            reply.end()
        return response

    return send


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _body(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray)):
        return bytes(body)
    if hasattr(body, "read"):
        read = body.read()
        return read.encode() if isinstance(read, str) else bytes(read)
    pieces: Iterable[Any] = body
    return b"".join(piece.encode() if isinstance(piece, str) else bytes(piece) for piece in pieces)


def _response(adapter: Any, request: Any, reply: RawReply) -> Any:
    # The library's own, loaded by what is patched here.
    library: Any = sys.modules["requests.models"]
    structures: Any = sys.modules["requests.structures"]
    response = library.Response()
    response.status_code = reply.status
    response.headers = structures.CaseInsensitiveDict(reply.headers)
    response.encoding = "utf-8"
    response.url = str(request.url)
    response.reason = ""
    response.request = request
    response.elapsed = timedelta(0)
    raw: Any = Chunks(reply.chunks)
    response.raw = raw
    response.connection = adapter
    return response
