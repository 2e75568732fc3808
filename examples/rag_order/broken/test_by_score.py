"""Passages in the order of the search result; this fails, and should."""

from __future__ import annotations

from pytest_cachesafe import Toggle, assert_prefix_stable

from handbook import build_messages_by_score
from search_results import CHAT, FOUND


def test_order_of_the_passages_does_not_reach_the_prompt() -> None:
    assert_prefix_stable(
        lambda turn: build_messages_by_score(CHAT[: 2 * turn.index + 1], turn.order(FOUND)),
        turns=3,
        toggles=[Toggle.order("passages")],
    )


def test_the_next_turn_searches_again() -> None:
    """Two replicas rank a tie differently: the second turn's passages come in another order."""
    second = [FOUND[1], FOUND[0], *FOUND[2:]]
    assert_prefix_stable([build_messages_by_score(CHAT[:1], FOUND), build_messages_by_score(CHAT[:3], second)])
