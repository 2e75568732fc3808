"""Values read from prompts: what is one value in two ways of writing, and what is not."""

from __future__ import annotations

from functools import cache

import pytest

from pytest_cachesafe.semantic.detect import Detector


@cache
def detector() -> Detector:
    return Detector()


def values(text: str) -> list[tuple[str, object]]:
    return [(v.kind, v.value) for v in detector().profile(text).values]


@pytest.mark.parametrize(
    "ways",
    [
        ("5000 rows", "5,000 rows", "5k rows", "five thousand rows"),
        ("250 rows", "two hundred and fifty rows"),
        ("120 seconds", "2 minutes", "two minutes", "2 mins", "2min"),
        ("for half an hour", "for 30 minutes"),
        ("1.5 kg", "1500 g", "1500 grams"),
        ("2 TB", "2000 GB", "2 terabytes"),
        ("one year", "12 months", "a year"),
        ("17-year-old", "17 years old", "seventeen years"),
        ("$1,500", "1500 dollars", "USD 1500", "$1.5k"),
        ("£20", "20 pounds", "20 quid", "gbp 20"),
        ("Rs. 500", "500 rupees", "₹500"),
        ("15%", "15 percent", "fifteen per cent"),
        ("9 pm", "9pm", "9 p.m.", "21:00", "nine in the evening", "9 o'clock in the evening"),
        ("noon", "12 pm", "12:00 pm"),
        ("quarter past seven pm", "7:15 pm"),
        ("each month", "per month", "monthly", "every month"),
        ("annually", "yearly", "per year", "annual"),
        ("Sundays", "sunday"),
        ("1st", "first"),
        ("4 July 2021", "July 4th 2021", "2021-07-04", "4th of july 2021"),
        ("v2.4.1", "2.4.1"),
        ("INV-2217", "inv2217"),
        ("jpg", "jpeg"),
    ],
)
def test_one_value_in_several_ways(ways: tuple[str, ...]) -> None:
    first, *others = [sorted(map(str, dict(map(reversed, values(way))))) for way in ways]  # type: ignore[arg-type]
    assert first
    assert all(other == first for other in others), others


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("version 3.1", "version 3.10"),
        ("6 am", "6 pm"),
        ("2 MB", "2 GB"),
        ("90 minutes", "1 hour"),
        ("$40", "€40"),
        ("-5 degrees", "5 degrees"),
        ("3 May", "5 May"),
        ("Q3", "Q4"),
        ("every day", "every week"),
        ("weekdays", "weekends"),
        ("last week", "next week"),
        ("3 + 4", "3 - 4"),
    ],
)
def test_values_apart(a: str, b: str) -> None:
    assert [v for _, v in values(a)] != [v for _, v in values(b)]


@pytest.mark.parametrize(
    "text", ["May I go now?", "the march to the sea", "the sun is out", "one of them", "a second look"]
)
def test_words_that_are_no_dates_and_no_numbers_here(text: str) -> None:
    assert [kind for kind, _ in values(text) if kind not in {"ordinal"}] == []


def test_a_clock_time_without_its_half_of_the_day_fits_both() -> None:
    compare = detector().compare
    assert compare("Call me at 9:15", "Call me at 9:15 pm").different_answer == "none"
    assert compare("Call me at 9:15", "Call me at 9:45 pm").kind == "time"
    assert compare("Call me at 9:15 am", "Call me at 9:15 pm").kind == "time"


def test_a_number_without_its_unit_fits_one_with_it() -> None:
    compare = detector().compare
    assert compare("Wait for 30 days", "Wait for 30").different_answer == "none"
    assert compare("Wait for 30 days", "Wait for 31").kind == "number"


def test_a_value_more_on_one_side_is_a_suspicion() -> None:
    verdict = detector().compare("Book a table", "Book a table on Monday")
    assert (verdict.different_answer, verdict.kind) == ("suspect", "weekday")
