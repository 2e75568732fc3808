"""Libraries that are imported while a capture runs are patched as soon as they are there; none is imported for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from inspect import iscoroutinefunction
from types import ModuleType
from typing import Any

from pytest_cachesafe.providers.capture.transports.patches import hub

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


class Watcher(MetaPathFinder):
    """First in `sys.meta_path` while a capture runs: one look into a dict for every other import."""

    def __init__(self) -> None:
        self._inside: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give, with a loader that patches afterwards."""
        if fullname not in LIBRARIES or fullname in self._inside:
            return None
        self._inside.add(fullname)
        try:
            spec = find_spec(fullname)
        finally:
            self._inside.discard(fullname)
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Patching(spec.loader, LIBRARIES[fullname])
        return spec

    def install(self) -> None:
        """Begin to watch."""
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Stop; somebody may have emptied the list meanwhile."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)


class _Patching(Loader):
    def __init__(self, loader: Any, install: Callable[[Any], None]) -> None:
        self._loader, self._install = loader, install

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        # The module is to look as if nobody had stood between; resources are found through its loader.
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        if hub.gate() is not None:
            self._install(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
