"""The agent as it was for a week."""

from __future__ import annotations

from build_doctor import Agent


class CutsOldResults(Agent):
    """Before each question it cut the tool results of earlier ones, to save tokens."""

    def ask(self, text: str) -> None:
        for message in self.messages:
            if message["role"] == "tool" and len(message["content"]) > 800:
                message["content"] = message["content"][:200] + " [cut]"
        super().ask(text)
