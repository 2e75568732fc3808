"""A reply that comes from the provider itself: passed on as it is, and put together beside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_cachesafe.providers.capture.bodies import decoded
from pytest_cachesafe.providers.exchange import Exchange

if TYPE_CHECKING:
    from pytest_cachesafe.providers.capture.answering import Session

__all__ = ["Live"]


class Live:
    """Listens to the provider's own reply, to be compared with what was predicted."""

    def __init__(self, session: Session, exchange: Exchange) -> None:
        self._session, self._exchange = session, exchange
        self._kind = ""
        self._encoding = ""
        self._chunks: list[bytes] = []
        self._done = False

    def status(self, status: int, headers: Mapping[str, str]) -> None:
        """The reply began."""
        lower = {name.lower(): value for name, value in headers.items()}
        self._exchange.status = status
        self._kind, self._encoding = lower.get("content-type", ""), lower.get("content-encoding", "")

    def chunk(self, data: bytes) -> None:
        """A piece of the body."""
        if self._exchange.began_at is None:
            self._session.began(self._exchange)
        self._chunks.append(data)

    def end(self) -> None:
        """The reply is complete: put it together and note the provider's counters."""
        if self._done:
            return
        self._done = True
        from pytest_cachesafe.providers.capture.assemble import assembled, usage_of

        data = decoded(b"".join(self._chunks), self._encoding)
        if data is None:
            self._session.recording.note(f"a reply in content-encoding {self._encoding!r} is not read")
            return
        reply = assembled(data, self._kind, self._exchange.api)
        self._exchange.reply = reply
        self._exchange.usage = usage_of(reply, self._exchange.api) if reply is not None else None
