"""Run time agrees with the linter about the version before: clock, window and order of the tools."""

from __future__ import annotations

from pytest_cachesafe import assert_prefix_stable

from before.desk import Desk
from chat import QUESTIONS, Chat


def test_clock_and_window() -> None:
    assert_prefix_stable(Chat(Desk), turns=len(QUESTIONS), under=["clock"])


def test_order_of_tools() -> None:
    assert_prefix_stable(Chat(Desk), turns=2, under=["hashseed"])
