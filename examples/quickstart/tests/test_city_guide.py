"""The prompt keeps its front while the minutes go by."""

from __future__ import annotations

from pytest_cachesafe import assert_prefix_stable

from city_guide import ClockInQuestion
from tour import Tour


def test_prompt_is_stable_while_the_clock_runs() -> None:
    # under=["clock"] builds the requests once more, 61 seconds apart.
    assert_prefix_stable(Tour(ClockInQuestion), turns=4, under=["clock"])
