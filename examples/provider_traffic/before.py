"""Earlier versions of the help desk. Each passed every test of what it answers, and paid for its prompt again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from help_desk import MANUAL, HelpDesk


class ClockInSystem(HelpDesk):
    """The time stands in front of the manual, so that nothing behind it is ever read from the cache."""

    def system(self) -> list[dict[str, Any]]:
        """Another text with every request."""
        text = f"It is {datetime.now():%H:%M:%S.%f}.\n\n{MANUAL}"
        return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


class ShortHistory(HelpDesk):
    """Only the last four messages are sent: the beginning of the conversation is another one each time."""

    def ask(self, question: str) -> str:
        """Forgets before it asks."""
        del self.messages[:-4]
        return super().ask(question)


class MarkEverything(HelpDesk):
    """Marks each question; with the third one there are more than four markers, and the provider refuses."""

    def question(self, text: str) -> Any:
        """A block of its own, marked."""
        return [{"type": "text", "text": super().question(text), "cache_control": {"type": "ephemeral"}}]
