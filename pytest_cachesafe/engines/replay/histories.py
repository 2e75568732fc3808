"""Ways to keep a conversation's history: which messages a request sends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

__all__ = ["Histories", "Sizes"]

Message = dict[str, Any]
_CUT = "… [cut]"


class Sizes(NamedTuple):
    """Where the policies act."""

    # Characters that are left of a tool result.
    tool_chars: int
    # Requests after which a tool result is cut in place.
    cut_after: int
    # Tokens of a prompt above which older messages are summed up.
    limit_tokens: int
    # Characters of the summary.
    summary_chars: int
    # Messages that stay: behind a summary, and in the window.
    keep_messages: int


class Histories:
    """One conversation under each policy; a policy is asked for the messages of request 0, 1, 2, … in turn."""

    def __init__(
        self, messages: Sequence[Message], ends: Sequence[int], sizes: Sizes, tokens: Callable[[list[Message]], int]
    ) -> None:
        """
        Args:
            messages: the whole conversation.
            ends: per request, how many messages it has without a policy.
            sizes: see `Sizes`.
            tokens: counts the tokens of a request with these messages.
        """
        self._messages = list(messages)
        self._ends = list(ends)
        self._sizes = sizes
        self._tokens = tokens
        # Where the system messages end.
        self._front = next((i for i, m in enumerate(messages) if m.get("role") not in ("system", "developer")), 0)
        # The first message that no summary holds, and how many summaries there were.
        self._from = self._front
        self.summaries = 0
        # Tool results that were cut somewhere.
        self.cut = 0

    def append(self, request: int) -> list[Message]:
        """Everything, as it was sent before."""
        return self._messages[: self._ends[request]]

    def cut_first(self, request: int) -> list[Message]:
        """Long tool results are cut before they are sent for the first time."""
        return [self._cut(message) for message in self.append(request)]

    def cut_later(self, request: int) -> list[Message]:
        """Long tool results are sent whole, and cut in place some requests later."""
        old = request - self._sizes.cut_after
        end = self._ends[old] if old >= 0 else 0
        messages = self.append(request)
        return [*(self._cut(message) for message in messages[:end]), *messages[end:]]

    def summarise(self, request: int) -> list[Message]:
        """Above a limit, older messages are replaced by a summary (here: text of the same length)."""
        messages = self._summed(request)
        if self._tokens(messages) > self._sizes.limit_tokens:
            start = self._turn_before(self._ends[request], self._from + 1)
            if start is not None:
                self._from = start
                self.summaries += 1
                messages = self._summed(request)
        return messages

    def window(self, request: int) -> list[Message]:
        """The oldest turns are dropped."""
        end = self._ends[request]
        start = self._turn_before(end, self._front)
        return self.append(request) if start is None else [*self._messages[: self._front], *self._messages[start:end]]

    def _summed(self, request: int) -> list[Message]:
        kept = self._messages[self._from : self._ends[request]]
        if self.summaries:
            words = f"Summary {self.summaries} of what was said before: "
            kept[0] = _prefixed(kept[0], (words + "facts and decisions, " * self._sizes.summary_chars)[: self._summary])
        return [*self._messages[: self._front], *kept]

    @property
    def _summary(self) -> int:
        return self._sizes.summary_chars

    def _turn_before(self, end: int, first: int) -> int | None:
        """The user message from which on about `keep_messages` messages stay: a turn is not torn apart."""
        wanted = end - self._sizes.keep_messages
        if wanted <= first:
            return None
        users = [i for i in range(first, end) if self._messages[i].get("role") == "user"]
        return next((i for i in users if i >= wanted), users[-1] if users else None)

    def _cut(self, message: Message) -> Message:
        if message.get("role") not in ("tool", "function"):
            return message
        content, most = message.get("content"), self._sizes.tool_chars
        if isinstance(content, str) and len(content) > most:
            self.cut += 1
            return {**message, "content": content[:most] + _CUT}
        if isinstance(content, list):
            blocks = [
                {**b, "text": b["text"][:most] + _CUT}
                if isinstance(b, dict) and isinstance(b.get("text"), str) and len(b["text"]) > most
                else b
                for b in content
            ]
            if blocks != content:
                self.cut += 1
                return {**message, "content": blocks}
        return message


def _prefixed(message: Message, words: str) -> Message:
    """The message with words in front of its own: one more message might not be what its template allows."""
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": [{"type": "text", "text": words}, *content]}
    return {**message, "content": f"{words}\n\n{content or ''}"}
