"""Chunks as the file-like body that requests and botocore read (both expect urllib3's)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

__all__ = ["Chunks"]


class Chunks:
    """Hands chunks out as they are where a stream is iterated, in any sizes where it is read."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""
        self.closed = False

    def stream(self, amt: int | None = None, decode_content: bool | None = None) -> Iterator[bytes]:
        """One chunk at a time, never joined: the pieces of a stream arrive as they were sent."""
        if self._rest:
            rest, self._rest = self._rest, b""
            yield rest
        yield from self._chunks

    def read(self, amt: int | None = None, decode_content: bool | None = None) -> bytes:
        """At most `amt` bytes, everything without it; empty at the end."""
        if amt is None or amt < 0:
            out = self._rest + b"".join(self._chunks)
            self._rest = b""
            return out
        while len(self._rest) < amt:
            more = next(self._chunks, None)
            if more is None:
                break
            self._rest += more
        out, self._rest = self._rest[:amt], self._rest[amt:]
        return out

    def __iter__(self) -> Iterator[bytes]:
        return self.stream()

    def isclosed(self) -> bool:
        """As urllib3 asks."""
        return self.closed

    def close(self) -> None:
        """Nobody reads on."""
        self.closed = True
        close = getattr(self._chunks, "close", None)
        if close is not None:
            close()

    def release_conn(self) -> None:
        """There is no connection."""

    def set_socket_timeout(self, timeout: float | None) -> None:
        """There is no socket."""
