"""The order desk as it is: every request begins with all of the one before it."""

from __future__ import annotations

from pytest_cachesafe import Toggle, assert_prefix_stable

from order_desk import TOOLS, Conversation
from scenario import play


def test_six_requests_with_a_moving_cache_marker() -> None:
    report = assert_prefix_stable(list(play(Conversation())))
    assert report.verdict == "stable"
    assert report.requests == 6


def test_order_of_the_tool_registry_does_not_matter() -> None:
    assert_prefix_stable(
        lambda turn: list(play(Conversation(turn.order(TOOLS)))),
        turns=1,
        toggles=[Toggle.order("tools")],
    )


def test_live_requests(cachesafe) -> None:
    """The same from the other side: note what is sent, where it is sent, and judge it at the end."""
    with cachesafe.record() as sent:
        for body in play(Conversation()):
            sent.request(body)
    sent.assert_stable()
