"""The version with the clock in the system text; this fails, and should."""

from __future__ import annotations

from pytest_cachesafe import assert_prefix_stable

from city_guide import ClockInSystemText
from tour import Tour


def test_prompt_is_stable_while_the_clock_runs() -> None:
    assert_prefix_stable(Tour(ClockInSystemText), turns=4, under=["clock"])
