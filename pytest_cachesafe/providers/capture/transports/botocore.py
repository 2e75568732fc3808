"""botocore: `URLLib3Session.send`. Event hooks and stubs would not reach clients that exist already."""

from __future__ import annotations

import sys
from typing import Any

from pytest_cachesafe.providers.capture.raw import RawReply, RawRequest
from pytest_cachesafe.providers.capture.transports.file_like import Chunks
from pytest_cachesafe.providers.capture.transports.patches import hub
from pytest_cachesafe.providers.capture.transports.turns import others_turn

__all__ = ["install"]


def install(module: Any) -> None:
    """Patch `botocore.httpsession`."""
    hub.replace(module.URLLib3Session, "send", _send)


def _send(original: Any) -> Any:
    def send(self: Any, request: Any) -> Any:
        gate = hub.gate()
        if gate is None:
            return original(self, request)
        # Values are bytes by now.
        headers = [(_text(k), _text(v)) for k, v in request.headers.items()]
        mocked = (getattr(original, "__module__", None) or "").partition(".")[0] != "botocore"
        if not gate.takes(request.method, request.url, headers, mocked=mocked):
            return original(self, request)
        reply = gate.answer(RawRequest(request.method, request.url, headers, _body(request.body), "botocore", mocked))
        if isinstance(reply, RawReply):
            others_turn()
            return _response(request, reply)
        response = original(self, request)
        if reply is not None:
            reply.status(response.status_code, {str(k): str(v) for k, v in response.headers.items()})
            if request.stream_output:
                # The frames are read by botocore as they come; reading them here would take them away.
                response.raw = _Watched(response.raw, reply)
            else:
                reply.chunk(response.content)
                reply.end()
        return response

    return send


class _Watched:
    """A stream whose chunks are listened to."""

    def __init__(self, below: Any, watch: Any) -> None:
        self._below, self._watch = below, watch

    def stream(self, *args: Any, **options: Any) -> Any:
        for chunk in self._below.stream(*args, **options):
            self._watch.chunk(chunk)
            yield chunk
        self._watch.end()

    def read(self, *args: Any, **options: Any) -> Any:
        data = self._below.read(*args, **options)
        if data:
            self._watch.chunk(data)
        if not data or (not args and options.get("amt") is None) or (args and args[0] is None):
            # Everything was asked for, or nothing is left.
            self._watch.end()
        return data

    def close(self) -> None:
        self._watch.end()
        self._below.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _body(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray)):
        return bytes(body)
    at = body.tell()
    data = body.read()
    body.seek(at)
    return bytes(data)


def _response(request: Any, reply: RawReply) -> Any:
    # The library's own, loaded by what is patched here.
    library: Any = sys.modules["botocore.awsrequest"]
    response = library.AWSResponse(request.url, reply.status, reply.headers, Chunks(reply.chunks))
    if not request.stream_output:
        # As the real one does: the body is read before it is handed out.
        response.content  # noqa: B018
    return response
