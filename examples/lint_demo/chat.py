"""A short chat with either desk, started anew in every world that a test builds it in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pytest_cachesafe.prompt import Turn

QUESTIONS = ("Where is order 4711?", "It is too small.", "Can I have the money instead?", "When will it be here?")
ANSWERS = ("It is on its way.", "I can send another size.", "Yes, once the parcel is back.")


class AnyDesk(Protocol):
    """What both versions can do."""

    def ask(self, question: str) -> dict[str, Any]: ...

    def answered(self, text: str) -> None: ...


class Chat:
    """A builder: called with `turn.index` 0, 1, 2 … it returns the body that is sent then."""

    def __init__(self, make: Callable[[], AnyDesk]) -> None:
        self.make = make
        self.desk = make()

    def __call__(self, turn: Turn) -> dict[str, Any]:
        if turn.index == 0:
            self.desk = self.make()
        else:
            self.desk.answered(ANSWERS[turn.index - 1])
        return self.desk.ask(QUESTIONS[turn.index])
