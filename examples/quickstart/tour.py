"""A short chat for the tests, started anew in every world that a test builds it in."""

from __future__ import annotations

from pytest_cachesafe.prompt import Turn

from city_guide import ClockInSystemText, Message

TOUR = [
    ("Where can I have breakfast?", "At the bakery in the station, it is open from six."),
    ("And a museum after that?", "The Munch museum opens at ten, a ten minute walk along the fjord."),
    ("Is there a sauna nearby?", "Yes, the floating saunas next to the opera, five minutes on foot."),
    ("How late do the trams run?", "Until half past midnight, line 12 stops at the station."),
]


class Tour:
    """A builder: called with `turn.index` 0, 1, 2 … it returns the messages that are sent then."""

    def __init__(self, guide: type[ClockInSystemText]) -> None:
        self.guide = guide
        self.chat = guide()

    def __call__(self, turn: Turn) -> list[Message]:
        if turn.index == 0:
            self.chat = self.guide()
        else:
            self.chat.answered(TOUR[turn.index - 1][1])
        return self.chat.ask(TOUR[turn.index][0])
