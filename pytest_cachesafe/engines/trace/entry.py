"""One request of a log, and the error for a line that is none."""

from __future__ import annotations

from typing import Any

from pytest_cachesafe.usage import UsageError

__all__ = ["BadEntry", "Entry", "TooLarge"]


class BadEntry(UsageError):
    """One line of a log cannot be used; the others can. `str()` says why, without the line's number."""


class TooLarge(BadEntry):
    """A request that the whole cache could not hold."""


class Entry:
    """A request as the log has it."""

    __slots__ = (
        "conversation",
        "left_out",
        "line",
        "lora",
        "output_ids",
        "real_tokens",
        "replica",
        "salt",
        "tag",
        "tenant",
        "timestamp",
        "token_ids",
    )

    def __init__(self, line: int, token_ids: list[int], fields: dict[str, Any] | None = None) -> None:
        # Counted from 1 in files, from 0 in Python iterables.
        self.line = line
        self.token_ids = token_ids
        # What the model sampled for it; empty where the log does not say.
        self.output_ids: list[int] = []
        self.salt: str | None = None
        self.lora: str | tuple[str, str] | None = None
        self.tag: str | None = None
        self.tenant: str | None = None
        self.conversation: str | None = None
        self.replica: str | None = None
        # In seconds.
        self.timestamp: float | None = None
        # What the request says and its template does not print: "tools", "message", "tool call", "tool result".
        self.left_out: tuple[str, ...] = ()
        # Set where the ids are those of whole 512-token blocks: the length of the prompt in tokens.
        self.real_tokens: int | None = None
        if fields:
            for name, value in fields.items():
                setattr(self, name, value)
