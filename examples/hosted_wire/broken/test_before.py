"""These fail, and should: `pytest broken` shows what a broken cache looks like in a test run."""

from __future__ import annotations

import pytest
from pytest_cachesafe import assert_prefix_stable

from before import ClockInSystem, LatestToolFirst, PrunedResults
from order_desk import Conversation
from scenario import play


@pytest.mark.parametrize("version", [LatestToolFirst, ClockInSystem, PrunedResults])
def test_requests_continue_each_other(version: type[Conversation]) -> None:
    assert_prefix_stable(list(play(version())))
