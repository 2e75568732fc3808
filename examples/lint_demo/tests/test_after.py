"""Run time agrees with the linter about the version in use."""

from __future__ import annotations

from pytest_cachesafe import assert_prefix_stable

from after.desk import Desk
from chat import QUESTIONS, Chat


def test_requests_continue_each_other() -> None:
    assert_prefix_stable(Chat(Desk), turns=len(QUESTIONS), under=["clock", "hashseed"])
