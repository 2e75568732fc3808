"""A recording that fills itself while traffic is captured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_cachesafe.recording import Recording

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

    def note(self, text: str) -> None:
        """Keep a remark, once."""
        if text not in self.notes:
            self.notes.append(text)
