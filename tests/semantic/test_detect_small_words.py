"""Small words that decide: the letter A as a name, unless, until, why not, with after replace, few and a few."""

from __future__ import annotations

import pytest

from tests.support.semantic_pairs import detector


def tier(a: str, b: str) -> str:
    verdict = detector().compare(a, b).different_answer
    assert detector().compare(b, a).different_answer == verdict
    assert detector().compare(a.lower(), b.upper()).different_answer == verdict
    return verdict


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Is tariff A faster than tariff B?", "Is tariff B faster than tariff A?"),
        ("How do I walk from A to B?", "How do I walk from B to A?"),
        ("Is A better than B?", "Is B better than A?"),
        ("Does option A need option C?", "Does option C need option A?"),
        ("A calls B", "B calls A"),
        ("Who sold a car to Ines?", "Who did Ines sell a car to?"),
        ("Why not store it in a cookie?", "Why store it in a cookie?"),
        ("Is the fee due unless I leave?", "Is the fee due if I leave?"),
        ("Is the lamp on until I call?", "Is the lamp on after I call?"),
        ("How do I replace glass with wood?", "How do I replace wood with glass?"),
        ("Were few guests late?", "Were a few guests late?"),
        ("Is there no limit on exports?", "Is there a limit on exports?"),
        ("Open on weekends?", "Open on Saturdays?"),
        ("Does it read 3M tokens?", "Does it read 2 million tokens?"),
    ],
)
def test_apart(a: str, b: str) -> None:
    assert tier(a, b) != "none"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("How far is it from A to B?", "How far is it from B to A?"),
        ("Who owns the shop in Oslo?", "Who in Oslo owns the shop?"),
        ("Is B a good tariff?", "Is B the good tariff?"),
        ("How do I write a to-do list?", "How do I write the to-do list?"),
        ("How do I write a for loop?", "How do I write the for loop?"),
        ("Is the fee due unless I leave?", "Is the fee due if I don't leave?"),
        ("How do I mix glass with wood?", "How do I mix wood with glass?"),
        ("Were some guests late?", "Were a few guests late?"),
        ("Is there no limit on exports?", "Are exports unlimited?"),
        ("Open on weekends?", "Open on Saturdays and Sundays?"),
        ("Does it read 3M tokens?", "Does it read three million tokens?"),
        ("Is the desk open 24/7?", "Is the desk open around the clock?"),
        ("Who is the owner of the repo?", "Who owns the repo?"),
    ],
)
def test_the_same(a: str, b: str) -> None:
    assert tier(a, b) == "none"
