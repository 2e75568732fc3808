"""Where clients hand their requests over, above every mock of a transport: each call is shown to the observer first.

Client level, not transport level: respx, pytest-httpx, VCR cassettes, mock transports and hand-made ones stand below,
and stay as they are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Protocol

from pytest_cachesafe.providers.late_imports import LateImports

__all__ = ["Observing", "Sees"]


class Sees(Protocol):
    """What is told of each request; must never raise."""

    def request(
        self, method: str, url: str, headers: Sequence[tuple[str, str]] | Sequence[tuple[bytes, bytes]], body: bytes,
        library: str,
    ) -> Any:  # fmt: skip
        """A request is about to be sent; what it returns is handed to `reply`. None: not of interest."""

    def reply(self, token: Any, status: int, body: bytes | None, content_type: str) -> None:
        """Its reply came; the body where it was read whole."""


def _sent(sees: Sees, library: str, request: Any) -> Any:
    """httpx and httpx2 requests; a body that is a stream is not read."""
    try:
        body = request.content
    except Exception:  # the library's own RequestNotRead
        return None
    return sees.request(request.method, str(request.url), request.headers.raw, body, library)


def _answered(sees: Sees, token: Any, response: Any) -> None:
    if token is None:
        return
    body = response.content if getattr(response, "is_stream_consumed", False) else None
    sees.reply(token, response.status_code, body, response.headers.get("content-type", ""))


def _httpx(module: Any, sees: Sees) -> list[tuple[Any, str, Any]]:
    library = module.__name__

    def sync(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def send(self: Any, request: Any, *args: Any, **options: Any) -> Any:
            token = _sent(sees, library, request)
            response = original(self, request, *args, **options)
            _answered(sees, token, response)
            return response

        return send

    def asynchronous(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        async def send(self: Any, request: Any, *args: Any, **options: Any) -> Any:
            token = _sent(sees, library, request)
            response = await original(self, request, *args, **options)
            _answered(sees, token, response)
            return response

        return send

    return [(module.Client, "send", sync), (module.AsyncClient, "send", asynchronous)]


def _requests(module: Any, sees: Sees) -> list[tuple[Any, str, Any]]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def send(self: Any, request: Any, **options: Any) -> Any:
            body = request.body
            body = body.encode() if isinstance(body, str) else body
            token = None
            if isinstance(body, bytes):
                token = sees.request(request.method, request.url, list(request.headers.items()), body, "requests")
            response = original(self, request, **options)
            if token is not None:
                read = response.content if response._content is not False else None
                sees.reply(token, response.status_code, read, response.headers.get("content-type", ""))
            return response

        return send

    return [(module.Session, "send", wrap)]


def _aiohttp(module: Any, sees: Sees) -> list[tuple[Any, str, Any]]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        async def request(self: Any, method: str, str_or_url: Any, **options: Any) -> Any:
            data = options.get("data")
            if options.get("json") is not None:
                data = json.dumps(options["json"]).encode()
            data = data.encode() if isinstance(data, str) else data
            token = None
            if isinstance(data, bytes):
                headers = options.get("headers") or {}
                base = getattr(self, "_base_url", None)
                url = str(base.join(type(base)(str(str_or_url)))) if base is not None else str(str_or_url)
                pairs = [(str(k), str(v)) for k, v in headers.items()] if isinstance(headers, Mapping) else []
                token = sees.request(method, url, pairs, data, "aiohttp")
            response = await original(self, method, str_or_url, **options)
            if token is not None:
                body = getattr(response, "_body", None)
                sees.reply(token, response.status, body, response.headers.get("content-type", ""))
            return response

        return request

    return [(module.ClientSession, "_request", wrap)]


def _botocore(module: Any, sees: Sees) -> list[tuple[Any, str, Any]]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def send(self: Any, request_dict: Mapping[str, Any], operation_model: Any) -> Any:
            body = request_dict.get("body")
            body = body.encode() if isinstance(body, str) else body
            token = None
            if isinstance(body, (bytes, bytearray)):
                headers = [(str(k), str(v)) for k, v in request_dict.get("headers", {}).items()]
                url = str(request_dict.get("url"))
                token = sees.request(str(request_dict.get("method")), url, headers, bytes(body), "botocore")
            response = original(self, request_dict, operation_model)
            if token is not None:
                http, parsed = response
                sees.reply(token, http.status_code, None, "")
                _parsed(sees, token, parsed)
            return response

        return send

    return [(module.Endpoint, "make_request", wrap)]


def _parsed(sees: Sees, token: Any, parsed: Any) -> None:
    if isinstance(parsed, Mapping) and isinstance(parsed.get("usage"), Mapping):
        kept = {key: parsed[key] for key in ("usage", "output") if key in parsed}
        sees.reply(token, 200, json.dumps(kept, default=str).encode(), "application/json")


_LIBRARIES: Mapping[str, Callable[[Any, Sees], list[tuple[Any, str, Any]]]] = {
    "httpx2": _httpx,
    "httpx": _httpx,
    "requests.sessions": _requests,
    "aiohttp": _aiohttp,
    "botocore.endpoint": _botocore,
}


class Observing(LateImports):
    """Puts the observer in front of every client that is imported, now or later; `stop` puts all back."""

    def __init__(self, sees: Sees) -> None:
        super().__init__(_LIBRARIES, self._install)
        self.sees = sees
        self._done: list[tuple[Any, str, Any, Any]] = []

    def start(self) -> None:
        """Begin to watch."""
        for name in _LIBRARIES:
            module = sys.modules.get(name)
            if module is not None:
                self._install(name, module)
        self.install()

    def stop(self) -> None:
        """Put everything back, newest first; where somebody patched on top, theirs is left alone."""
        self.remove()
        for owner, name, before, ours in reversed(self._done):
            if vars(owner).get(name) is ours:
                setattr(owner, name, before)
        self._done.clear()

    def _install(self, name: str, module: Any) -> None:
        for owner, attribute, wrap in _LIBRARIES[name](module, self.sees):
            # Two names of one module (an alias) share their classes.
            if any(one is owner and what == attribute for one, what, *_ in self._done):
                continue
            before = vars(owner)[attribute]
            ours = wrap(before)
            setattr(owner, attribute, ours)
            self._done.append((owner, attribute, before, ours))
