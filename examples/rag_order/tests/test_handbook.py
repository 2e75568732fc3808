"""Another order of the search results makes no other prompt."""

from __future__ import annotations

from pytest_cachesafe import Toggle, assert_prefix_stable

from handbook import build_messages
from search_results import CHAT, FOUND


def test_order_of_the_passages_does_not_reach_the_prompt() -> None:
    report = assert_prefix_stable(
        # turn.order() hands the results over as they are, and in other orders while the toggle is tried.
        lambda turn: build_messages(CHAT[: 2 * turn.index + 1], turn.order(FOUND)),
        turns=3,
        toggles=[Toggle.order("passages")],
    )
    assert report.as_dict()["toggles"]["passages"]["kept"] == 1.0
