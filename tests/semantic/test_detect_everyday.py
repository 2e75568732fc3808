"""Letters with a name below, ways there and back, currencies of two words, the time in words, units of one's own."""

from __future__ import annotations

import pytest

from pytest_cachesafe.semantic.detect import Detector
from pytest_cachesafe.semantic.tables import Tables

LATE = "My order is late."


@pytest.mark.parametrize(
    "end",
    [
        "Kind regards, Anna",
        "Kind regards Anna",
        "Best wishes, Anna Smith",
        "Yours sincerely, Anna",
        "Regards, Anna",
        "Best, Anna",
        "Best,\nAnna Smith.",
    ],
)
def test_the_name_below_a_letter_is_not_asked_about(end: str) -> None:
    detector = Detector()
    assert detector.compare(LATE, f"{LATE} {end}").different_answer == "none"
    assert detector.compare(f"{LATE} {end.replace('Anna', 'Tom')}", f"{LATE} {end}").different_answer == "none"
    assert detector.compare(f"{LATE} {end}", f"My order is early. {end}").different_answer == "certain"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Which plan is best, Pro?", "Which plan is best, Basic?"),
        ("Best, Tom", "Best, Anna"),
        ("Write a letter that ends with kind regards, Anna", "Write a letter that ends with kind regards, Tom"),
        (f"{LATE} Kind regards, Anna. Refund it", f"{LATE} Kind regards, Anna. Exchange it"),
    ],
)
def test_what_only_looks_like_the_end_of_a_letter(a: str, b: str) -> None:
    assert Detector().compare(a, b).different_answer != "none"


@pytest.mark.parametrize(
    "prompt",
    [
        "Compare shipping from {} to {}",
        "How do I share a file from {} to {}?",
        "Is the fare from {} to {} the same every day?",
        "Can we travel together from {} to {}?",
    ],
)
def test_a_way_is_not_the_way_back_also_where_something_is_compared(prompt: str) -> None:
    found = Detector().compare(prompt.format("Rome", "Paris"), prompt.format("Paris", "Rome"))
    assert (found.kind, found.different_answer) == ("direction", "certain")


@pytest.mark.parametrize(
    "prompt",
    [
        "What is the distance from {} to {}?",
        "How different is it from {} to {}?",
        "Compare {} to {}",
        "What is the difference between {} and {}?",
    ],
)
def test_what_is_the_same_both_ways(prompt: str) -> None:
    found = Detector().compare(prompt.format("Rome", "Paris"), prompt.format("Paris", "Rome"))
    assert found.different_answer == "none"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Convert 200 euros to Swiss francs", "Convert 200 Swiss francs to euros"),
        ("Are 200 Canadian dollars enough?", "Are 200 dollars enough?"),
        ("Are 20 Swiss francs enough?", "Are 30 Swiss francs enough?"),
    ],
)
def test_currencies_of_two_words(a: str, b: str) -> None:
    found = Detector().compare(a, b)
    assert (found.kind, found.different_answer) == ("money", "certain")


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("The shop opens at 9 am", "The shop opens at 9:00 in the morning", None),
        ("Is it open at 21:00?", "Is it open at 9:00 in the evening?", None),
        ("Are 200 CHF enough?", "Are 200 Swiss francs enough?", None),
        ("Are 30 US dollars enough?", "Are $30 enough?", None),
        ("Is it open at 9:00 in the morning?", "Is it open at 9:00 in the evening?", "time"),
        ("Where is the nearest branch?", "Where is the closest branch?", None),
        ("Is 1 km of rope enough?", "Is 1000 m of rope enough?", None),
        ("Is the pool 50 m long?", "Is the pool 25 m long?", "number"),
        ("How can I contact support?", "How do I get in touch with support?", None),
    ],
)
def test_the_same_value_in_other_words(a: str, b: str, kind: str | None) -> None:
    assert Detector().compare(a, b).kind == kind


def test_units_of_ones_own_have_a_plural() -> None:
    detector = Detector(Tables.default().with_user(units={"pallet": ("pallet", 1), "crate": ("pallet", 0.5)}))
    assert detector.compare("Is 1 pallet enough?", "Are 2 crates enough?").different_answer == "none"
    assert detector.compare("Is 1 pallet enough?", "Are 3 crates enough?").different_answer == "certain"
    # One that is said otherwise stays so.
    units = {"crates": ("crates", 1), "crate": ("pallet", 0.5), "pallet": ("pallet", 1)}
    other = Detector(Tables.default().with_user(units=units))
    assert other.compare("Is 1 pallet enough?", "Are 2 crates enough?").different_answer == "certain"
