"""The last line: what no transport of ours has seen must not leave the machine. Loopback and Unix sockets stay open."""

from __future__ import annotations

import socket
from typing import Any

from pytest_cachesafe.providers.capture.transports.patches import hub

__all__ = ["install"]


def install() -> None:
    """Patch connecting and looking names up. Sockets that are not Python's (uvloop, gRPC, Rust) are not seen."""
    plain = _plain_class()
    hub.replace(plain, "connect", _connect)
    hub.replace(plain, "connect_ex", _connect)
    hub.replace(plain, "sendto", _sendto)
    hub.replace(socket, "getaddrinfo", _getaddrinfo)
    for name in ("gethostbyname", "gethostbyname_ex"):
        hub.replace(socket, name, _by_name)


def _plain_class() -> type[socket.socket]:
    """The class of the standard library, also while `socket.socket` is a guard of somebody else's."""
    mro = [cls for cls in socket.socket.__mro__ if cls.__module__ == "socket"]
    return mro[-1] if mro else socket.socket


def _connect(original: Any) -> Any:
    def connect(self: socket.socket, address: Any) -> Any:
        gate = hub.gate()
        internet = self.family in (socket.AF_INET, socket.AF_INET6)
        if gate is not None and internet and isinstance(address, tuple) and address:
            gate.connects(_name(address[0]))
        return original(self, address)

    return connect


def _sendto(original: Any) -> Any:
    def sendto(self: socket.socket, data: Any, *rest: Any) -> Any:
        gate = hub.gate()
        internet = self.family in (socket.AF_INET, socket.AF_INET6)
        if gate is not None and internet and rest and isinstance(rest[-1], tuple) and rest[-1]:
            gate.connects(_name(rest[-1][0]))
        return original(self, data, *rest)

    return sendto


def _by_name(original: Any) -> Any:
    def gethostbyname(hostname: Any) -> Any:
        gate = hub.gate()
        if gate is not None and hostname:
            gate.connects(_name(hostname))
        return original(hostname)

    return gethostbyname


def _getaddrinfo(original: Any) -> Any:
    def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
        gate = hub.gate()
        # No host at all means this machine.
        if gate is not None and host:
            gate.connects(_name(host))
        found = original(host, *args, **options)
        if gate is not None and host:
            gate.resolved(_name(host), {str(entry[4][0]) for entry in found})
        return found

    return getaddrinfo


def _name(host: Any) -> str:
    return host.decode("ascii", "replace") if isinstance(host, (bytes, bytearray)) else str(host)
