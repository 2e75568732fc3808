"""These fail, and should: `pytest broken` shows what a lost provider cache looks like in a test run."""

from __future__ import annotations

import anthropic
import pytest

from before import ClockInSystem, MarkEverything, ShortHistory
from help_desk import HelpDesk


@pytest.mark.parametrize("version", [ClockInSystem, ShortHistory])
def test_a_conversation_is_cache_safe(version: type[HelpDesk], llm_traffic) -> None:
    llm_traffic.reply("It was shipped on Monday.", "Its number is 77120.", "Tomorrow.", "You are welcome.")
    desk = version()
    for question in ("Where is order A-1001?", "And the parcel?", "When will it be here?", "Thanks!"):
        desk.ask(question)
    llm_traffic.assert_cache_safe()


def test_markers_are_taken(llm_traffic) -> None:
    desk = MarkEverything()
    desk.ask("Where is order A-1001?")
    desk.ask("And the parcel?")
    # The code never tells; the capture answers as the provider does.
    with pytest.raises(anthropic.BadRequestError, match="at most 4"):
        desk.ask("When will it be here?")
    llm_traffic.assert_cache_safe()
