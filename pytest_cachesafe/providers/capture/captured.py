"""A recording that fills itself while traffic is captured."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pytest_cachesafe.recording import Recording
from pytest_cachesafe.usage import UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.providers.cache.simulate import Prediction
    from pytest_cachesafe.providers.capture.answering import Session

__all__ = ["Captured"]


class Captured(Recording):
    """What was caught on the wire, and what there is to say about the catching.

    `exchanges` holds every request that was answered (or watched), in order of arrival, failures and retries included.
    """

    def __init__(self, *, template: Any = None, key: str | None = None) -> None:
        super().__init__(template=template, key=key)
        # What the simulated provider cache said of each exchange, same length; None for a body that is no request.
        self.predictions: list[Prediction | None] = []
        # What could not be read, or was not seen, in words.
        self.notes: list[str] = []
        # Requests of tracing libraries that were answered and dropped.
        self.telemetry = 0
        # The capture itself, with its script.
        self.session: Session | None = None

    @property
    def count_tokens(self) -> Callable[[str], int] | None:
        """The counter that replies and checks count with; None: estimates. Set it before the first request."""
        return None if self.session is None else self.session.count_tokens

    @count_tokens.setter
    def count_tokens(self, counter: Callable[[str], int] | None) -> None:
        if self.session is None:
            raise UsageError("count_tokens is set while traffic is captured")
        if self.exchanges:
            raise UsageError("count_tokens is set before the first request: counted replies were given already")
        self.session.count_tokens = counter

    @property
    def rules(self) -> Any:
        """The rules that replies were made with; None: those in force."""
        return None if self.session is None else self.session.rules

    def reply(self, *replies: Any) -> None:
        """Script what the model answers next, in the order of requests: `rec.reply("yes", ToolCall("search"))`.

        Raises:
            UsageError: something that is no answer, or the replies are a function or a mapping already.
        """
        if self.session is None:
            raise UsageError("reply() is called while traffic is captured")
        self.session.script.add(*replies)

    def note(self, text: str) -> None:
        """Keep a remark, once."""
        if text not in self.notes:
            self.notes.append(text)
