"""What a transport asks of the capture it reports to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from pytest_cachesafe.providers.capture.raw import RawReply, RawRequest

__all__ = ["Gate", "Watch"]


class Watch(Protocol):
    """Listens to a real reply to a request that was let through to be compared with what was predicted."""

    def status(self, status: int, headers: Mapping[str, str]) -> None:
        """The reply began."""

    def chunk(self, data: bytes) -> None:
        """A piece of its body."""

    def end(self) -> None:
        """It is complete, or nobody reads on."""


class Gate(Protocol):
    """One running capture. Methods may be called from any thread."""

    def takes(self, method: str, url: str, headers: Iterable[tuple[str, str]], *, mocked: bool = False) -> bool:
        """Whether the request is to be answered (its body must then be read); False: it is let through.

        Args:
            method, url, headers: as the transport got them; mocked: somebody else's mock stands beneath the transport,
                so that an unknown host need not be a real one.

        Raises:
            CaptureStopped: the host is unknown and remote.
        """

    def answer(self, request: RawRequest) -> RawReply | Watch | None:
        """The reply; a watch if it is to be sent and listened to; None if it is none of ours after all."""

    def connects(self, host: str) -> None:
        """A socket is about to be connected, or a name looked up.

        Raises:
            CaptureStopped: the host is unknown and remote.
            OSError: a host without which SDKs get along.
        """

    def resolved(self, host: str, addresses: Iterable[str]) -> None:
        """A name was looked up: its addresses are as open as it is."""

    def answered_elsewhere(self, by: str, method: str, url: str) -> None:
        """A transport of the user's own answers a request; `by` names it."""
