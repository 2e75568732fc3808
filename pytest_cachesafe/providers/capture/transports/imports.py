"""Libraries that are imported while a capture runs are patched as soon as they are there; none is imported for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from inspect import iscoroutinefunction
from types import ModuleType
from typing import Any

from pytest_cachesafe.providers.capture.transports.patches import hub
from pytest_cachesafe.providers.late_imports import LateImports

__all__ = ["LIBRARIES", "Watcher", "install_imported"]


def _httpx(module: Any) -> None:
    from pytest_cachesafe.providers.capture.transports import httpx_like

    httpx_like.install(module)


def _aiohttp(module: Any) -> None:
    from pytest_cachesafe.providers.capture.transports import aiohttp

    aiohttp.install(module)


def _requests(module: Any) -> None:
    from pytest_cachesafe.providers.capture.transports import requests

    requests.install(module)


def _botocore(module: Any) -> None:
    from pytest_cachesafe.providers.capture.transports import botocore

    botocore.install(module)


# The module that holds the class, and what patches it.
LIBRARIES: Mapping[str, Callable[[Any], None]] = {
    "httpx2": _httpx,
    "httpx": _httpx,
    "aiohttp": _aiohttp,
    "requests.adapters": _requests,
    "botocore.httpsession": _botocore,
}


# Where vcrpy keeps the methods that it found when it was imported: a cassette that is used inside a capture sends
# through them what it has no record of.
_KEPT_BY_VCR = (
    ("_HttpxHttpTransport_handle_request", "httpx", "HTTPTransport", "handle_request"),
    ("_HttpxAsyncHttpTransport_handle_async_request", "httpx", "AsyncHTTPTransport", "handle_async_request"),
    ("_Httpx2HttpTransport_handle_request", "httpx2", "HTTPTransport", "handle_request"),
    ("_Httpx2AsyncHttpTransport_handle_async_request", "httpx2", "AsyncHTTPTransport", "handle_async_request"),
    ("_AiohttpClientSessionRequest", "aiohttp", "ClientSession", "_request"),
)


def _cassettes() -> None:
    """Have cassettes send through our replacements for as long as these stand."""
    kept = sys.modules.get("vcr.patch")
    for name, module, cls, method in _KEPT_BY_VCR:
        owner = getattr(sys.modules.get(module), cls, None)
        if kept is not None and owner is not None and hasattr(kept, name):
            ours = getattr(owner, method)
            hub.replace(kept, name, partial(_same, ours))


def _same(ours: Any, original: Any) -> Any:
    # A function of its own, as each replacement is taken out by itself.
    if iscoroutinefunction(original):

        async def send_async(*args: Any, **options: Any) -> Any:
            return await ours(*args, **options)

        return send_async

    def send(*args: Any, **options: Any) -> Any:
        return ours(*args, **options)

    return send


def install_imported() -> None:
    """Patch what is imported already."""
    for name, install in LIBRARIES.items():
        module = sys.modules.get(name)
        # A module that is only half loaded (an import in another thread) is patched by the watcher, if it is there.
        if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
            install(module)
    _cassettes()


class Watcher(LateImports):
    """Patches what is imported while a capture runs."""

    def __init__(self) -> None:
        super().__init__(LIBRARIES, _arrived)


def _arrived(name: str, module: ModuleType) -> None:
    # The import may have outlasted the capture.
    if hub.gate() is not None:
        LIBRARIES[name](module)
