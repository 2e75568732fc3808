"""A chat that tells the model what time it is, in two versions."""

from __future__ import annotations

from datetime import datetime

Message = dict[str, str]

SYSTEM = (
    "You are a city guide for Oslo. Suggest places that are open, within walking distance of the central station, and "
    "say how to get there by tram or on foot. Keep each answer under three sentences."
)


class ClockInSystemText:
    """As it was: the time stands at the very front, so every minute makes a new prompt of the whole chat."""

    def __init__(self) -> None:
        self.said: list[Message] = []

    def ask(self, question: str) -> list[Message]:
        """The messages to send for the next question."""
        self.said.append({"role": "user", "content": question})
        system = f"{SYSTEM}\nThe local time is {datetime.now():%H:%M}."  # cachesafe: ignore[CSF101] shown to fail
        return [{"role": "system", "content": system}, *self.said]

    def answered(self, text: str) -> None:
        """The model answered."""
        self.said.append({"role": "assistant", "content": text})


class ClockInQuestion(ClockInSystemText):
    """As it is: each question carries its own time, and keeps it when it is sent again."""

    def ask(self, question: str) -> list[Message]:
        """The messages to send for the next question."""
        self.said.append({"role": "user", "content": f"({datetime.now():%H:%M}) {question}"})
        return [{"role": "system", "content": SYSTEM}, *self.said]
